# operator: vllm13::ggml_mul_mat_a8
# style: one kernel quantises the activations to int8, a second one multiplies blocks of 32 by integer dots
import torch
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, q_ptr, d_ptr, s_ptr, n_blocks, BLOCKS: tl.constexpr):
    b = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    at = b[:, None] * 32 + tl.arange(0, 32)[None, :]
    real = (b < n_blocks)[:, None]
    x = tl.load(x_ptr + at, mask=real, other=0.0).to(tl.float32)
    d = tl.div_rn(tl.max(tl.abs(x), axis=1), 127.0)
    y = tl.div_rn(x, tl.where(d == 0, 1.0, d)[:, None])
    down = tl.floor(tl.abs(y))
    size = down + (tl.abs(y) - down >= 0.5).to(tl.float32)
    q = tl.where(d[:, None] == 0, 0.0, tl.where(y < 0, -size, size))
    tl.store(q_ptr + at, q.to(tl.int8), mask=real)
    tl.store(d_ptr + b, d.to(tl.float16), mask=b < n_blocks)
    tl.store(s_ptr + b, tl.sum(x, axis=1).to(tl.float16), mask=b < n_blocks)


@triton.jit
def multiply(w_ptr, q_ptr, d_ptr, s_ptr, o_ptr, batch, rows, n_blocks, Q4: tl.constexpr, BYTES: tl.constexpr, BB: tl.constexpr,
             BR: tl.constexpr):
    i = tl.program_id(0) * BB + tl.arange(0, BB)
    r = tl.program_id(1) * BR + tl.arange(0, BR)
    t = tl.arange(0, 32)
    total = tl.zeros((BB, BR), tl.float32)
    for block in range(0, n_blocks):
        start = w_ptr + (r * n_blocks + block) * BYTES
        low = tl.load(start, mask=r < rows, other=0).to(tl.uint16)
        high = tl.load(start + 1, mask=r < rows, other=0).to(tl.uint16)
        dw = (low | (high << 8)).to(tl.float16, bitcast=True).to(tl.float32)[None, :]
        d = tl.load(d_ptr + i * n_blocks + block, mask=i < batch, other=0.0).to(tl.float32)[:, None]
        q = tl.load(q_ptr + (i * n_blocks + block)[:, None] * 32 + t[None, :], mask=(i < batch)[:, None], other=0)
        if Q4:
            byte = tl.load(start[None, :] + 2 + (t % 16)[:, None], mask=(r < rows)[None, :], other=0)
            w = ((byte >> (t // 16 * 4).to(tl.uint8)[:, None]) & 15).to(tl.int8)
            s = tl.load(s_ptr + i * n_blocks + block, mask=i < batch, other=0.0).to(tl.float32)[:, None]
            total += dw * (d * tl.dot(q, w, out_dtype=tl.int32).to(tl.float32) - 8.0 * s)
        else:
            w = tl.load(start[None, :] + 2 + t[:, None], mask=(r < rows)[None, :], other=0).to(tl.int8, bitcast=True)
            total += dw * d * tl.dot(q, w, out_dtype=tl.int32).to(tl.float32)
    tl.store(o_ptr + i[:, None] * rows + r[None, :], total.to(o_ptr.dtype.element_ty), mask=(i < batch)[:, None] &
             (r < rows)[None, :])


def ggml_mul_mat_a8(W, X, quant_type, row):
    batch, columns = X.shape
    n_blocks = columns // 32
    q = torch.empty((batch, columns), dtype=torch.int8, device=X.device)
    d, s = (torch.empty((batch, n_blocks), dtype=torch.float16, device=X.device) for _ in range(2))
    out = torch.empty((batch, row), dtype=X.dtype, device=X.device)
    quantise[(triton.cdiv(batch * n_blocks, 64),)](X, q, d, s, batch * n_blocks, BLOCKS=64)
    multiply[(triton.cdiv(batch, 16), triton.cdiv(row, 64))](W, q, d, s, out, batch, row, n_blocks, Q4=quant_type == 2,
                                                             BYTES={2: 18, 8: 34}[quant_type], BB=16, BR=64)
    return out
