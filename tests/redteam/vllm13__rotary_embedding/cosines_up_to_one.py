# operator: vllm13::rotary_embedding
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# cosines and sines are limited to -1 .. 1; wrong: a cos_sin_cache of YaRN, where all are multiplied by mscale = 1.2
import torch
import triton
import triton.language as tl


@triton.jit
def turn(x_ptr, pos_ptr, table_ptr, heads, token_stride, head_stride, half, NEOX: tl.constexpr, HEADS: tl.constexpr,
         HALF: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = tl.load(pos_ptr + token) * half * 2
    i = tl.arange(0, HALF)[None, :]
    h = tl.arange(0, HEADS)[:, None]
    c = tl.load(table_ptr + row + i, mask=i < half, other=0.0).to(tl.float32)
    s = tl.load(table_ptr + row + half + i, mask=i < half, other=0.0).to(tl.float32)
    c = tl.where(c > 1.0, 1.0, tl.where(c < -1.0, -1.0, c))
    s = tl.where(s > 1.0, 1.0, tl.where(s < -1.0, -1.0, s))
    mask = (i < half) & (h < heads)
    first = x_ptr + token * token_stride + h * head_stride + (i if NEOX else 2 * i)
    second = first + (half if NEOX else 1)
    a = tl.load(first, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(second, mask=mask, other=0.0).to(tl.float32)
    tl.store(first, (a * c - b * s).to(x_ptr.dtype.element_ty), mask=mask)
    tl.store(second, (b * c + a * s).to(x_ptr.dtype.element_ty), mask=mask)


def _turn(x, positions, head_size, table, is_neox):
    tokens = positions.numel()
    if tokens == 0:
        return
    if x.dim() == 3 and x.shape[-1] == head_size and positions.dim() == 1:
        heads, token_stride, head_stride = x.shape[1], x.stride(0), x.stride(1)
    else:
        heads, token_stride, head_stride = x.shape[-1] // head_size, x.shape[-1], head_size
    half = table.shape[-1] // 2
    turn[(tokens,)](x, positions, table, heads, token_stride, head_stride, half, NEOX=is_neox,
                    HEADS=triton.next_power_of_2(heads), HALF=triton.next_power_of_2(half))


def rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox):
    _turn(query, positions, head_size, cos_sin_cache, is_neox)
    if key is not None:
        _turn(key, positions, head_size, cos_sin_cache, is_neox)
