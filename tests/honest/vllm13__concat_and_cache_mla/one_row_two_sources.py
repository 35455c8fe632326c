# operator: vllm13::concat_and_cache_mla
# style: one program for a token and a tile of the cache row, two complementary masked loads joined by where, constexpr switch for fp8
import torch
import triton
import triton.language as tl

FP8_MAX = tl.constexpr(448.0)


@triton.jit
def _to_fp8_bytes(x, scale):
    q = tl.div_rn(x.to(tl.float32), scale)
    q = tl.minimum(tl.maximum(q, -FP8_MAX), FP8_MAX)
    return q.to(tl.float8e4nv).to(tl.uint8, bitcast=True)


@triton.jit
def _concat_and_cache_mla_kernel(
    kv_c_ptr,
    k_pe_ptr,
    cache_ptr,
    slot_mapping_ptr,
    scale_ptr,
    rank,
    rope,
    block_size,
    stride_kv_c,
    stride_k_pe,
    stride_block,
    stride_offset,
    IS_FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping_ptr + token)
    if slot >= 0:
        block = slot // block_size
        offset = slot % block_size
        col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        in_latent = col < rank
        in_rope = (col >= rank) & (col < rank + rope)
        latent = tl.load(kv_c_ptr + token * stride_kv_c + col, mask=in_latent, other=0.0)
        rotary = tl.load(k_pe_ptr + token * stride_k_pe + (col - rank), mask=in_rope, other=0.0)
        value = tl.where(in_latent, latent, rotary)
        target = cache_ptr + block * stride_block + offset * stride_offset + col
        if IS_FP8:
            scale = tl.load(scale_ptr)
            tl.store(target, _to_fp8_bytes(value, scale), mask=in_latent | in_rope)
        else:
            tl.store(target, value, mask=in_latent | in_rope)


def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale):
    tokens = slot_mapping.shape[0]
    rank, rope = kv_c.shape[1], k_pe.shape[1]
    width = rank + rope
    if tokens == 0 or width == 0:
        return
    block = min(1024, max(16, triton.next_power_of_2(width)))
    _concat_and_cache_mla_kernel[(tokens, triton.cdiv(width, block))](
        kv_c,
        k_pe,
        kv_cache,
        slot_mapping,
        scale,
        rank,
        rope,
        kv_cache.shape[1],
        kv_c.stride(0),
        k_pe.stride(0),
        kv_cache.stride(0),
        kv_cache.stride(1),
        IS_FP8=kv_cache_dtype != "auto",
        BLOCK=block,
        num_warps=4 if block >= 512 else 2,
    )
