# operator: vllm13::reshape_and_cache_flash
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: beyond 2^31
# slot * elements is computed in 32 bits: in a cache of more than 2^31 elements high slots wrap to addresses in front of the
# cache; wrong: key_cache float16 [160000, 16, 8, 128] (2.6e9 elements), slot_mapping [2400000]: 2400000 * 1024 > 2^31
import torch
import triton
import triton.language as tl


@triton.jit
def stored(x, scale_ptr, FP8: tl.constexpr):
    if FP8:
        y = tl.div_rn(x.to(tl.float32), tl.load(scale_ptr))
        x = tl.minimum(tl.maximum(y, -448.0), 448.0).to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    return x


@triton.jit
def put(k_ptr, v_ptr, kc_ptr, vc_ptr, slots_ptr, ks_ptr, vs_ptr, n, FP8: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots_ptr + token).to(tl.int32)
    if slot >= 0:
        for start in range(0, n, BLOCK):
            at = start + tl.arange(0, BLOCK)
            mask = at < n
            k = tl.load(k_ptr + token * n + at, mask=mask, other=0.0)
            v = tl.load(v_ptr + token * n + at, mask=mask, other=0.0)
            tl.store(kc_ptr + slot * n + at, stored(k, ks_ptr, FP8), mask=mask)
            tl.store(vc_ptr + slot * n + at, stored(v, vs_ptr, FP8), mask=mask)


def reshape_and_cache_flash(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    tokens, n = slot_mapping.shape[0], key.shape[1] * key.shape[2]
    if tokens:
        put[(tokens,)](key, value, key_cache, value_cache, slot_mapping, k_scale, v_scale, n,
                       FP8=kv_cache_dtype != "auto", BLOCK=min(2048, triton.next_power_of_2(n)))
