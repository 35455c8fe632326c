# operator: vllm13::rotary_embedding
# style: heads by pairs tile in place, one launch for each of query and key, layouts normalised on the host
import triton
import triton.language as tl


@triton.jit
def rotate_kernel(pos_ptr, x_ptr, cache_ptr, heads, length, batch_step, token_step, head_step, cache_step, half,
                  NEOX: tl.constexpr, HEADS: tl.constexpr, HALF: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, HALF)
    position = tl.load(pos_ptr + t)
    row = cache_ptr + position * cache_step
    c = tl.load(row + i, mask=i < half, other=0.0).to(tl.float32)[None, :]
    s = tl.load(row + half + i, mask=i < half, other=0.0).to(tl.float32)[None, :]
    base = x_ptr + t // length * batch_step + t % length * token_step + h.to(tl.int64)[:, None] * head_step
    if NEOX:
        first = base + i[None, :]
        second = first + half
    else:
        first = base + 2 * i[None, :]
        second = first + 1
    mask = (h < heads)[:, None] & (i < half)[None, :]
    a = tl.load(first, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(second, mask=mask, other=0.0).to(tl.float32)
    ty = x_ptr.dtype.element_ty
    tl.store(first, (a * c - b * s).to(ty), mask=mask)
    tl.store(second, (b * c + a * s).to(ty), mask=mask)


def _layout(x, tokens, head_size):
    """Number of heads, tokens of a batch member, and steps of batch members, tokens and heads."""
    if x.dim() == 2:
        return x.shape[1] // head_size, tokens, 0, x.stride(0), head_size
    if x.shape[0] == tokens and x.shape[2] == head_size:
        return x.shape[1], tokens, 0, x.stride(0), x.stride(1)
    return x.shape[2] // head_size, x.shape[1], x.stride(0), x.stride(1), head_size


def _rotate(positions, x, head_size, cache, is_neox):
    tokens = positions.numel()
    half = cache.shape[1] // 2
    if tokens == 0 or x.numel() == 0 or half == 0:
        return
    heads, length, batch_step, token_step, head_step = _layout(x, tokens, head_size)
    block_half = triton.next_power_of_2(half)
    block_heads = max(1, min(triton.next_power_of_2(heads), 1024 // block_half))
    rotate_kernel[(tokens, triton.cdiv(heads, block_heads))](
        positions, x, cache, heads, length, batch_step, token_step, head_step, cache.stride(0), half,
        NEOX=bool(is_neox), HEADS=block_heads, HALF=block_half)


def rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox):
    _rotate(positions, query, head_size, cos_sin_cache, is_neox)
    if key is not None:
        _rotate(positions, key, head_size, cos_sin_cache, is_neox)
