# operator: vllm13::reshape_and_cache
# style: blocks of one token, an early return for negative slots
import torch
import triton
import triton.language as tl


@triton.jit
def _encode(x, scale, FP8: tl.constexpr):
    if FP8:
        s = tl.zeros(x.shape, tl.float32) + scale
        q = tl.div_rn(x.to(tl.float32), s)
        q = tl.minimum(tl.maximum(q, -448.0), 448.0)
        return q.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    else:
        return x


@triton.jit
def _reshape_and_cache_kernel(
    key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slot_ptr,
    k_scale_ptr, v_scale_ptr,
    n,  # heads * head_size
    head_size, block_size, blocks_per_token,
    X: tl.constexpr,
    FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    token = (pid // blocks_per_token).to(tl.int64)
    at = (pid % blocks_per_token) * BLOCK + tl.arange(0, BLOCK)

    slot = tl.load(slot_ptr + token)
    if slot < 0:
        return  # padding
    mask = at < n
    block = slot // block_size
    offset = slot % block_size

    h = at // head_size
    d = at % head_size

    k = tl.load(key_ptr + token * n + at, mask=mask)
    v = tl.load(value_ptr + token * n + at, mask=mask)
    if FP8:
        k_scale = tl.load(k_scale_ptr)
        v_scale = tl.load(v_scale_ptr)
    else:
        k_scale = 1.0
        v_scale = 1.0

    base = block * n * block_size
    # [block, h, d // X, offset, d % X]; X divides head_size
    k_at = base + ((h * head_size + d - d % X) * block_size + offset * X + d % X)
    # [block, h, d, offset]
    v_at = base + (at.to(tl.int64) * block_size + offset)
    tl.store(key_cache_ptr + k_at, _encode(k, k_scale, FP8), mask=mask)
    tl.store(value_cache_ptr + v_at, _encode(v, v_scale, FP8), mask=mask)


def _bits(t):
    # 16 and 32 bit patterns move as integers, whatever they stand for.
    return t.detach().view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[t.element_size()])


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    tokens, heads, head_size = key.shape
    n = heads * head_size
    if tokens == 0 or n == 0:
        return None
    fp8 = kv_cache_dtype != "auto"
    if not fp8:
        key, value, key_cache, value_cache = _bits(key), _bits(value), _bits(key_cache), _bits(value_cache)
    block_size, x = key_cache.shape[3], key_cache.shape[4]
    BLOCK = min(1024, triton.next_power_of_2(n))
    blocks = triton.cdiv(n, BLOCK)
    _reshape_and_cache_kernel[(tokens * blocks,)](
        key, value, key_cache, value_cache, slot_mapping, k_scale, v_scale,
        n, head_size, block_size, blocks,
        X=x, FP8=fp8, BLOCK=BLOCK, num_warps=4,
    )
    return None
