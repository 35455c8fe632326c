# operator: vllm13::concat_and_cache_mla
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# only slot -1 is left out: other negative slots are written to, in front of the cache
import torch
import triton
import triton.language as tl


@triton.jit
def put(c_ptr, pe_ptr, cache_ptr, slots_ptr, scale_ptr, rank, rope, FP8: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots_ptr + token)
    if slot != -1:
        at = tl.arange(0, BLOCK)
        c = tl.load(c_ptr + token * rank + at, mask=at < rank, other=0.0)
        pe = tl.load(pe_ptr + token * rope + at - rank, mask=(at >= rank) & (at < rank + rope), other=0.0)
        x = tl.where(at < rank, c, pe)
        if FP8:
            y = tl.clamp(tl.div_rn(x.to(tl.float32), tl.load(scale_ptr)), -448.0, 448.0)
            x = y.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
        tl.store(cache_ptr + slot * (rank + rope) + at, x, mask=at < rank + rope)


def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale):
    tokens, rank, rope = slot_mapping.shape[0], kv_c.shape[1], k_pe.shape[1]
    if tokens > 0:
        put[(tokens,)](kv_c, k_pe, kv_cache, slot_mapping, scale, rank, rope, FP8=kv_cache.dtype == torch.uint8,
                       BLOCK=triton.next_power_of_2(rank + rope))
