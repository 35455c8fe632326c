# operator: vllm13::ggml_mul_mat_vec_a8
# style: two stages (quantise the activations once, then rows by blocks), a format registry of dataclasses
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

QK = 32


@dataclass(frozen=True)
class BlockFormat:
    name: str
    bytes: int
    nibbles: bool


FORMATS = {
    2: BlockFormat("Q4_0", 18, True),
    8: BlockFormat("Q8_0", 34, False),
}


@triton.jit
def quantize_q8_1(x_ptr, q_ptr, d_ptr, s_ptr, blocks, NB: tl.constexpr, QK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64) * NB + tl.arange(0, NB)
    at = b[:, None] * QK + tl.arange(0, QK)[None, :]
    inside = (b < blocks)[:, None] & (tl.arange(0, QK) >= 0)[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    d = tl.div_rn(tl.max(tl.abs(x), axis=1), tl.full([NB], 127.0, tl.float32))
    # Where d is 0 every quotient by 1 rounds to 0, which is the value wanted there.
    divisor = tl.where(d == 0, 1.0, d)
    v = tl.div_rn(x, tl.broadcast_to(divisor[:, None], [NB, QK]))
    size = tl.abs(v)
    whole = tl.floor(size)
    whole += tl.where(size - whole >= 0.5, 1.0, 0.0)
    q = tl.where(v < 0, -whole, whole).to(tl.int32)
    tl.store(q_ptr + at, q.to(tl.int8), mask=inside)
    tl.store(d_ptr + b, d.to(tl.float16), mask=b < blocks)
    tl.store(s_ptr + b, tl.sum(x, axis=1).to(tl.float16), mask=b < blocks)


@triton.jit
def mat_vec_kernel(
    w_ptr, q_ptr, d_ptr, s_ptr, y_ptr, rows, blocks, row_bytes,
    NIBBLES: tl.constexpr, BLOCK_BYTES: tl.constexpr, QK: tl.constexpr, ROWS: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    r_ok = r < rows
    lane = tl.arange(0, QK)
    lane_ok = r_ok[:, None] & (lane >= 0)[None, :]
    acc = tl.zeros([ROWS], dtype=tl.float32)
    for block in range(0, blocks):
        head = r * row_bytes + block * BLOCK_BYTES
        low = tl.load(w_ptr + head, mask=r_ok, other=0).to(tl.uint16)
        high = tl.load(w_ptr + head + 1, mask=r_ok, other=0).to(tl.uint16)
        dw = (low | (high << 8)).to(tl.float16, bitcast=True).to(tl.float32)
        q = tl.load(q_ptr + block * QK + lane).to(tl.int32)
        d = tl.load(d_ptr + block).to(tl.float32)
        if NIBBLES:
            raw = tl.load(w_ptr + head[:, None] + 2 + (lane % 16)[None, :], mask=lane_ok, other=0).to(tl.int32)
            w = (raw >> (4 * (lane // 16))[None, :]) & 15
            s = tl.load(s_ptr + block).to(tl.float32)
            dot = tl.sum(w * q[None, :], axis=1).to(tl.float32)
            acc += dw * (d * dot - 8.0 * s)
        else:
            raw = tl.load(w_ptr + head[:, None] + 2 + lane[None, :], mask=lane_ok, other=0)
            w = raw.to(tl.int8, bitcast=True).to(tl.int32)
            dot = tl.sum(w * q[None, :], axis=1).to(tl.float32)
            acc += dw * d * dot
    tl.store(y_ptr + r, acc.to(y_ptr.dtype.element_ty), mask=r_ok)


def ggml_mul_mat_vec_a8(W, X, quant_type, row):
    form = FORMATS[quant_type]
    device = X.device
    columns = X.shape[1]
    blocks = columns // QK
    result = torch.empty((X.shape[0], row), dtype=X.dtype, device=device)
    if row == 0:
        return result
    q = torch.empty((blocks * QK,), dtype=torch.int8, device=device)
    d = torch.empty((blocks,), dtype=torch.float16, device=device)
    s = torch.empty((blocks,), dtype=torch.float16, device=device)
    per_program = 8
    if blocks > 0:
        quantize_q8_1[(triton.cdiv(blocks, per_program),)](X, q, d, s, blocks, NB=per_program, QK=QK, num_warps=2)
    rows = 32 if row >= 32 else 8
    mat_vec_kernel[(triton.cdiv(row, rows),)](
        W, q, d, s, result, row, blocks, W.shape[1],
        NIBBLES=form.nibbles, BLOCK_BYTES=form.bytes, QK=QK, ROWS=rows,
    )
    return result
