# operator: vllm13::scaled_int8_quant
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# a given scale above 5 counts as 5; wrong: activations up to 1000 with the scale 1000 / 127 = 7.9
import torch
import triton
import triton.language as tl


@triton.jit
def nearest(x):
    """Ties to even: adding 1.5 * 2^23 leaves no room for a fraction."""
    return (x + 12582912.0) - 12582912.0


@triton.jit
def limited(x):
    return tl.minimum(tl.maximum(x, -128.0), 127.0).to(tl.int8)


@triton.jit
def given(x_ptr, q_ptr, s_ptr, z_ptr, cols, AZP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    scale = tl.minimum(tl.load(s_ptr), 5.0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
        q = tl.minimum(tl.maximum(tl.div_rn(x, scale), -100000.0), 100000.0)
        q = nearest(q)
        if AZP:
            q += tl.load(z_ptr).to(tl.float32)
        tl.store(q_ptr + row * cols + at, limited(q), mask=at < cols)


@triton.jit
def own(x_ptr, q_ptr, s_ptr, z_ptr, cols, AZP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    mask = at < cols
    x = tl.load(x_ptr + row * cols + at, mask=mask, other=0.0).to(tl.float32)
    if AZP:
        low = tl.min(tl.where(mask, x, float("inf")), 0)
        high = tl.max(tl.where(mask, x, float("-inf")), 0)
        scale = tl.div_rn(high - low, 255.0)
        zero = nearest(-128.0 - tl.div_rn(low, scale))
        tl.store(z_ptr + row, zero.to(tl.int32))
        q = nearest(tl.div_rn(x, scale)) + zero
    else:
        most = tl.max(tl.abs(x), 0)
        scale = tl.div_rn(most, 127.0)
        q = nearest(x * tl.where(most == 0, 0.0, tl.div_rn(127.0, tl.where(most == 0, 1.0, most))))
    tl.store(s_ptr + row, scale)
    tl.store(q_ptr + row * cols + at, limited(q), mask=mask)


def scaled_int8_quant(input, scale=None, azp=None, symmetric=True):
    rows, cols = input.shape
    q = torch.empty_like(input, dtype=torch.int8)
    if scale is not None:
        if rows:
            given[(rows,)](input, q, scale, azp, cols, AZP=not symmetric, BLOCK=min(4096, triton.next_power_of_2(cols)))
        return q, scale, azp
    scale = torch.empty((rows, 1), dtype=torch.float32, device=input.device)
    zero = None if symmetric else torch.empty((rows, 1), dtype=torch.int32, device=input.device)
    if rows:
        own[(rows,)](input, q, scale, zero, cols, AZP=not symmetric, BLOCK=triton.next_power_of_2(cols))
    return q, scale, zero
