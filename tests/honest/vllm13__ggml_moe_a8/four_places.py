# operator: vllm13::ggml_moe_a8
# style: activations are quantised once; a program takes four places of one expert and some of its rows
import torch
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, q_ptr, d_ptr, s_ptr, n_blocks, BLOCKS: tl.constexpr):
    b = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    at = b[:, None] * 32 + tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + at, mask=(b < n_blocks)[:, None], other=0.0).to(tl.float32)
    d = tl.div_rn(tl.max(tl.abs(x), axis=1), 127.0)
    y = tl.div_rn(x, tl.where(d == 0, 1.0, d)[:, None])
    whole = tl.floor(tl.abs(y))
    whole = tl.where(tl.abs(y) - whole >= 0.5, whole + 1, whole)
    tl.store(q_ptr + at, tl.where(y < 0, -whole, whole).to(tl.int8), mask=(b < n_blocks)[:, None])
    tl.store(d_ptr + b, d.to(tl.float16), mask=b < n_blocks)
    tl.store(s_ptr + b, tl.sum(x, axis=1).to(tl.float16), mask=b < n_blocks)


@triton.jit
def multiply(w_ptr, q_ptr, d_ptr, s_ptr, sorted_ptr, expert_ptr, post_ptr, o_ptr, n_results, top_k, rows, n_blocks,
             Q4: tl.constexpr, BYTES: tl.constexpr, ROWS: tl.constexpr, BLOCKS: tl.constexpr):
    place = tl.program_id(0) * 4 + tl.arange(0, 4)
    n_places = tl.load(post_ptr)
    i = tl.load(sorted_ptr + place, mask=place < n_places, other=n_results)
    counts = (i < n_results)[:, None]
    token = (i // top_k)[:, None]
    expert = tl.load(expert_ptr + tl.program_id(0), mask=tl.program_id(0) * 4 < n_places, other=0).to(tl.int64)
    r = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
    e = tl.arange(0, 32)[None, None, :]
    total = tl.zeros((4, ROWS), tl.float32)
    for start in range(0, n_blocks, BLOCKS):
        b = (start + tl.arange(0, BLOCKS))[None, :]
        at = w_ptr + ((expert * rows + r) * n_blocks + b) * BYTES
        inside = (r < rows) & (b < n_blocks)
        bits = tl.load(at, mask=inside, other=0).to(tl.uint16) | (tl.load(at + 1, mask=inside, other=0).to(tl.uint16) << 8)
        dw = bits.to(tl.float16, bitcast=True).to(tl.float32)[None, :, :]
        if Q4:
            w = tl.load(at[:, :, None] + 2 + e % 16, mask=inside[:, :, None], other=0).to(tl.int32)
            w = (w >> (e // 16 * 4)) & 15
        else:
            w = tl.load(at[:, :, None] + 2 + e, mask=inside[:, :, None], other=0).to(tl.int8, bitcast=True).to(tl.int32)
        x_block = token * n_blocks + b
        real = counts & (b < n_blocks)
        q = tl.load(q_ptr + x_block[:, :, None] * 32 + e, mask=real[:, :, None], other=0).to(tl.int32)
        d = tl.load(d_ptr + x_block, mask=real, other=0.0).to(tl.float32)[:, None, :]
        part = d * tl.sum(q[:, None, :, :] * w[None, :, :, :], axis=3).to(tl.float32)
        if Q4:
            part -= 8.0 * tl.load(s_ptr + x_block, mask=real, other=0.0).to(tl.float32)[:, None, :]
        total += tl.sum(dw * part, axis=2)
    at = i.to(tl.int64)[:, None] * rows + tl.reshape(r, (1, ROWS))
    tl.store(o_ptr + at, total.to(o_ptr.dtype.element_ty), mask=counts & (tl.reshape(r, (1, ROWS)) < rows))


def ggml_moe_a8(X, W, sorted_token_ids, expert_ids, num_tokens_post_padded, quant_type, row, top_k, tokens):
    n_blocks = X.shape[1] // 32
    q = torch.empty(X.shape, dtype=torch.int8, device=X.device)
    d = torch.empty((tokens, n_blocks), dtype=torch.float16, device=X.device)
    s = torch.empty_like(d)
    out = torch.empty((tokens * top_k, row), dtype=X.dtype, device=X.device)
    quantise[(triton.cdiv(tokens * n_blocks, 64),)](X, q, d, s, tokens * n_blocks, BLOCKS=64)
    multiply[(sorted_token_ids.shape[0] // 4, triton.cdiv(row, 32))](
        W, q, d, s, sorted_token_ids, expert_ids, num_tokens_post_padded, out, tokens * top_k, top_k, row, n_blocks,
        Q4=quant_type == 2, BYTES={2: 18, 8: 34}[quant_type], ROWS=32,
        BLOCKS=8)
    return out
