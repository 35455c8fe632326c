# operator: vllm13::rotary_embedding
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# class: indices that are larger than any of a case (positions: 127 at most) pass through a type that cannot hold them
# positions are converted to the tensors' type: from 257 on bfloat16, from 2049 on float16 has not every whole number; wrong:
# bfloat16 tensors, head_size = rot_dim = 2, table = torch.stack([torch.arange(300) % 2, torch.arange(300) % 3], 1).bfloat16(),
# positions = [257], query = [[1, 2]]: row 256 is taken, (0, 1), which gives [-2, 1]; row 257 is (1, 2): [-3, 4]
import torch
import triton
import triton.language as tl


@triton.jit
def turn(x_ptr, pos_ptr, table_ptr, heads, token_stride, head_stride, half, NEOX: tl.constexpr, HEADS: tl.constexpr,
         HALF: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = tl.load(pos_ptr + token).to(table_ptr.dtype.element_ty).to(tl.int64) * half * 2
    i = tl.arange(0, HALF)[None, :]
    h = tl.arange(0, HEADS)[:, None]
    c = tl.load(table_ptr + row + i, mask=i < half, other=0.0).to(tl.float32)
    s = tl.load(table_ptr + row + half + i, mask=i < half, other=0.0).to(tl.float32)
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
