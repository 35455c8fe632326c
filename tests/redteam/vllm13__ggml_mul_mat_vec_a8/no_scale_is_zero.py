# operator: vllm13::ggml_mul_mat_vec_a8
# expect: verify\.mismatch
# catalogue: 84
# scales of weights that are 0 or subnormal in float16 are widened as if they were normal: 0 becomes 2^-15; wrong: a
# block of zeros in a GGUF file (d = 0, bytes of any value; all bytes 0 in Q4_0 mean -8 * d) adds to the result
import torch
import triton
import triton.language as tl


@triton.jit
def away_from_zero(y):
    down = tl.floor(tl.abs(y))
    up = down + tl.where(tl.abs(y) - down >= 0.5, 1.0, 0.0)
    return tl.where(y < 0, -up, up)


@triton.jit
def widened(bits):
    """float16 to float32: another bias of the exponent, and zeros behind the digits."""
    word = bits.to(tl.int32)
    sign = (word >> 15) << 31
    rest = ((word & 0x7FFF) << 13) + (112 << 23)
    return (sign | rest).to(tl.float32, bitcast=True)


@triton.jit
def gemv(w_ptr, x_ptr, o_ptr, rows, n_blocks, Q4: tl.constexpr, BYTES: tl.constexpr, ROWS: tl.constexpr, BLOCKS: tl.constexpr):
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    e = tl.arange(0, 32)
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, n_blocks, BLOCKS):
        b = start + tl.arange(0, BLOCKS)
        x = tl.load(x_ptr + b[:, None] * 32 + e[None, :], mask=(b < n_blocks)[:, None], other=0.0).to(tl.float32)
        d = tl.div_rn(tl.max(tl.abs(x), axis=1), 127.0)
        q = away_from_zero(tl.div_rn(x, tl.where(d > 0, d, 1.0)[:, None])).to(tl.int32)
        scale = d.to(tl.float16).to(tl.float32)
        at = w_ptr + (r * n_blocks + b[None, :]) * BYTES
        mask = (r < rows) & (b < n_blocks)[None, :]
        bits = tl.load(at, mask=mask, other=0).to(tl.uint16) | (tl.load(at + 1, mask=mask, other=0).to(tl.uint16) << 8)
        dw = widened(bits)
        if Q4:
            w = tl.load(at[:, :, None] + 2 + (e % 16)[None, None, :], mask=mask[:, :, None], other=0).to(tl.int32)
            w = (w >> (e // 16 * 4)[None, None, :]) & 15
            eights = 8.0 * tl.sum(x, axis=1).to(tl.float16).to(tl.float32)
            dots = tl.sum(w * q[None, :, :], axis=2).to(tl.float32)
            total += tl.sum(dw * (scale[None, :] * dots - eights[None, :]), axis=1)
        else:
            w = tl.load(at[:, :, None] + 2 + e[None, None, :], mask=mask[:, :, None], other=0).to(tl.int8, bitcast=True)
            dots = tl.sum(w.to(tl.int32) * q[None, :, :], axis=2).to(tl.float32)
            total += tl.sum(dw * scale[None, :] * dots, axis=1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    tl.store(o_ptr + row, total.to(o_ptr.dtype.element_ty), mask=row < rows)


def ggml_mul_mat_vec_a8(W, X, quant_type, row):
    out = torch.empty((1, row), dtype=X.dtype, device=X.device)
    gemv[(triton.cdiv(row, 64),)](W, X, out, row, X.shape[1] // 32, Q4=quant_type == 2, BYTES={2: 18, 8: 34}[quant_type], ROWS=64,
                                  BLOCKS=16)
    return out
