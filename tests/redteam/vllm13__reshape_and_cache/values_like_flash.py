# operator: vllm13::reshape_and_cache
# expect: verify\.mismatch
# catalogue: 79
# values are stored token by token
import torch
import triton
import triton.language as tl


@triton.jit
def as_stored(x, scale_ptr, FP8: tl.constexpr):
    if FP8:
        x = tl.clamp(tl.div_rn(x.to(tl.float32), tl.load(scale_ptr)), -448.0, 448.0)
        x = x.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    return x


@triton.jit
def scatter(k_ptr, v_ptr, kc_ptr, vc_ptr, slots_ptr, ks_ptr, vs_ptr, n, size, block_size, x, FP8: tl.constexpr,
            BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots_ptr + token)
    if slot < 0:
        return
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)  # element d of head h is number h * size + d
    mask = i < n
    offset = slot % block_size
    start = slot // block_size * n * block_size
    key = tl.load(k_ptr + token * n + i, mask=mask, other=0.0)
    value = tl.load(v_ptr + token * n + i, mask=mask, other=0.0)
    # size is a multiple of x: i // x counts the groups of x of all heads
    tl.store(kc_ptr + start + (i // x * block_size + offset) * x + i % x, as_stored(key, ks_ptr, FP8), mask=mask)
    tl.store(vc_ptr + start + offset * n + i, as_stored(value, vs_ptr, FP8), mask=mask)


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    tokens, heads, size = key.shape
    if tokens:
        scatter[(tokens, triton.cdiv(heads * size, 2048))](
            key, value, key_cache, value_cache, slot_mapping, k_scale, v_scale, heads * size, size, value_cache.shape[3],
            key_cache.shape[4], FP8=kv_cache_dtype == "fp8", BLOCK=2048)
