# operator: vllm13::reshape_and_cache
# style: one program per (token, chunk of a token), keys and values together; fp8 e4m3 rounding spelled out in integers
import triton
import triton.language as tl


@triton.jit
def _e4m3_bits(v):
    """The float8_e4m3fn pattern nearest to a float32 of at most 448 in size, ties to even."""
    bits = v.to(tl.int32, bitcast=True)
    sign = (bits >> 24) & 0x80
    size = bits & 0x7FFFFFFF
    # From 2^-6 on: round to 3 bits of mantissa, move the exponent from bias 127 to bias 7.
    odd = (size >> 20) & 1
    normal = ((size + 0x7FFFF + odd) >> 20) - (120 << 3)
    # Below: adding 2^14 leaves multiples of 2^-9 in the lowest bits, rounded by the addition itself.
    shifted = size.to(tl.float32, bitcast=True) + 16384.0
    subnormal = shifted.to(tl.int32, bitcast=True) - (141 << 23)
    return (tl.where(size < (121 << 23), subnormal, normal) | sign).to(tl.uint8)


@triton.jit
def _quantize(x, scale, BLOCK: tl.constexpr):
    quotient = tl.div_rn(x.to(tl.float32), tl.broadcast_to(scale, [BLOCK]))
    return _e4m3_bits(tl.minimum(tl.maximum(quotient, -448.0), 448.0))


@triton.jit
def store_tokens(
    key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slot_ptr, k_scale_ptr, v_scale_ptr,
    numbers, block_size, chunks, x_size,
    FP8: tl.constexpr, BLOCK: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    token = pid // chunks
    i = pid % chunks * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(slot_ptr + token)
    mask = (i < numbers) & (slot >= 0)

    block = slot // block_size
    offset = slot % block_size
    # i // x_size counts the groups of 16 bytes over all heads, i all elements of a token.
    key_at = block * numbers * block_size + (i // x_size * block_size + offset) * x_size + i % x_size
    value_at = (block * numbers + i) * block_size + offset

    k = tl.load(key_ptr + token * numbers + i, mask=mask)
    v = tl.load(value_ptr + token * numbers + i, mask=mask)
    if FP8:
        k = _quantize(k, tl.load(k_scale_ptr), BLOCK)
        v = _quantize(v, tl.load(v_scale_ptr), BLOCK)
    tl.store(key_cache_ptr + key_at, k, mask=mask)
    tl.store(value_cache_ptr + value_at, v, mask=mask)


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    tokens, heads, head_size = key.shape
    numbers = heads * head_size
    if tokens == 0 or numbers == 0:
        return None
    block_size, x_size = key_cache.shape[3], key_cache.shape[4]
    block = min(1024, triton.next_power_of_2(numbers))
    chunks = triton.cdiv(numbers, block)
    store_tokens[(tokens * chunks,)](
        key, value, key_cache, value_cache, slot_mapping, k_scale, v_scale,
        numbers, block_size, chunks, x_size,
        FP8=kv_cache_dtype != "auto", BLOCK=block,
    )
    return None
