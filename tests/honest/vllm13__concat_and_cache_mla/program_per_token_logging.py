# operator: vllm13::concat_and_cache_mla
# style: vLLM style, one program per token, two copies, constexpr fp8 flag, logging
import logging

import torch
import triton
import triton.language as tl

logger = logging.getLogger(__name__)


@triton.jit
def _convert(x, scale_ptr, FP8: tl.constexpr):
    if FP8:
        scale = tl.load(scale_ptr)
        y = tl.div_rn(x.to(tl.float32), tl.full(x.shape, 1.0, tl.float32) * scale)
        y = tl.minimum(tl.maximum(y, -448.0), 448.0)
        return y.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    else:
        return x


@triton.jit
def concat_and_cache_mla_kernel(
    kv_c_ptr, k_pe_ptr, cache_ptr, slot_ptr, scale_ptr,
    rank, rope,
    FP8: tl.constexpr, BLOCK_RANK: tl.constexpr, BLOCK_ROPE: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_ptr + token)
    if slot >= 0:
        row = cache_ptr + slot * (rank + rope)
        r = tl.arange(0, BLOCK_RANK)
        x = tl.load(kv_c_ptr + token * rank + r, mask=r < rank, other=0.0)
        tl.store(row + r, _convert(x, scale_ptr, FP8), mask=r < rank)
        r = tl.arange(0, BLOCK_ROPE)
        x = tl.load(k_pe_ptr + token * rope + r, mask=r < rope, other=0.0)
        tl.store(row + rank + r, _convert(x, scale_ptr, FP8), mask=r < rope)


def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale):
    tokens = slot_mapping.numel()
    if tokens == 0:
        logger.debug("concat_and_cache_mla: no tokens")
        return None
    fp8 = kv_cache_dtype.startswith("fp8")
    rank, rope = kv_c.shape[1], k_pe.shape[1]
    concat_and_cache_mla_kernel[(tokens,)](
        kv_c, k_pe, kv_cache, slot_mapping, scale, rank, rope,
        FP8=fp8, BLOCK_RANK=triton.next_power_of_2(rank), BLOCK_ROPE=triton.next_power_of_2(rope),
    )
    return None
