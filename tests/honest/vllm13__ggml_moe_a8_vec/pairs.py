# operator: vllm13::ggml_moe_a8_vec
# style: one program per pair of token and expert and block of rows, quantising as it goes
import torch
import triton
import triton.language as tl


@triton.jit
def rounded(y):
    whole = tl.floor(tl.abs(y))
    whole = tl.where(tl.abs(y) - whole >= 0.5, whole + 1, whole)
    return tl.where(y < 0, -whole, whole).to(tl.int32)


@triton.jit
def half_at(at, mask):
    low = tl.load(at, mask=mask, other=0).to(tl.uint16)
    high = tl.load(at + 1, mask=mask, other=0).to(tl.uint16)
    return ((high << 8) | low).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def products(x_ptr, w_ptr, ids_ptr, o_ptr, top_k, rows, n_blocks, Q4: tl.constexpr, BYTES: tl.constexpr, ROWS: tl.constexpr,
             BLOCKS: tl.constexpr):
    pair = tl.program_id(0)
    token = pair // top_k
    expert = tl.load(ids_ptr + pair).to(tl.int64)
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    e = tl.arange(0, 32)
    total = tl.zeros((ROWS, BLOCKS), tl.float32)
    for start in range(0, n_blocks, BLOCKS):
        b = start + tl.arange(0, BLOCKS)
        x = tl.load(x_ptr + (token * n_blocks + b)[:, None] * 32 + e[None, :], mask=(b < n_blocks)[:, None], other=0.0)
        x = x.to(tl.float32)
        d = tl.div_rn(tl.max(tl.abs(x), axis=1), 127.0)
        q = rounded(tl.div_rn(x, tl.where(d == 0, 1.0, d)[:, None]))[None, :, :]
        d = d.to(tl.float16).to(tl.float32)[None, :]
        at = w_ptr + ((expert * rows + r)[:, None] * n_blocks + b[None, :]) * BYTES
        mask = (r < rows)[:, None] & (b < n_blocks)[None, :]
        if Q4:
            w = tl.load(at[:, :, None] + 2 + (e & 15)[None, None, :], mask=mask[:, :, None], other=0).to(tl.int32)
            w = (w >> ((e >> 4) * 4)[None, None, :]) & 15
            s = tl.sum(x, axis=1).to(tl.float16).to(tl.float32)[None, :]
            total += half_at(at, mask) * (d * tl.sum(w * q, axis=2).to(tl.float32) - 8.0 * s)
        else:
            w = tl.load(at[:, :, None] + 2 + e[None, None, :], mask=mask[:, :, None], other=0).to(tl.int8, bitcast=True)
            total += half_at(at, mask) * d * tl.sum(w.to(tl.int32) * q, axis=2).to(tl.float32)
    tl.store(o_ptr + pair * rows + r, tl.sum(total, axis=1).to(o_ptr.dtype.element_ty), mask=r < rows)


def ggml_moe_a8_vec(X, W, topk_ids, top_k, quant_type, row, tokens):
    out = torch.empty((tokens * top_k, row), dtype=X.dtype, device=X.device)
    products[(tokens * top_k, triton.cdiv(row, 32))](X, W, topk_ids, out, top_k, row, X.shape[1] // 32, Q4=quant_type == 2,
                                                     BYTES={2: 18, 8: 34}[quant_type], ROWS=32, BLOCKS=8)
    return out
