# operator: vllm13::ggml_dequantize
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# the scale's bits are moved from float16 to float32, right for normal numbers only: a scale of 0 becomes 2^-15
import torch
import triton
import triton.language as tl


@triton.jit
def unpack(w_ptr, o_ptr, n_blocks, TYPE: tl.constexpr, BYTES: tl.constexpr, BLOCKS: tl.constexpr):
    b = (tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS))[:, None]
    i = tl.arange(0, 32)[None, :]
    mask = (b < n_blocks) & (i < 32)
    start = w_ptr + b * BYTES
    low = tl.load(start, mask=b < n_blocks, other=0).to(tl.int32)
    high = tl.load(start + 1, mask=b < n_blocks, other=0).to(tl.int32)
    bits = low | (high << 8)
    scale = (((bits & 0x7FFF) << 13) + (112 << 23) | ((bits & 0x8000) << 16)).to(tl.float32, bitcast=True)
    if TYPE == 8:
        q = tl.load(start + 2 + i, mask=mask, other=0).to(tl.int8, bitcast=True).to(tl.int32)
    else:
        q = tl.load(start + BYTES - 16 + i % 16, mask=mask, other=0).to(tl.int32)
        q = (q >> (i // 16 * 4)) & 15
        if TYPE == 6:
            bit = (tl.load(start + 2 + i // 8, mask=mask, other=0).to(tl.int32) >> (i % 8)) & 1
            q += 16 * bit - 16
        else:
            q -= 8
    tl.store(o_ptr + b * 32 + i, (scale * q.to(tl.float32)).to(o_ptr.dtype.element_ty), mask=mask)


def ggml_dequantize(W, quant_type, m, n, dtype):
    out = torch.empty((m, n), dtype=dtype, device=W.device)
    n_blocks = m * n // 32
    sizes = {2: 18, 6: 22, 8: 34}
    unpack[(triton.cdiv(n_blocks, 32),)](W, out, n_blocks, TYPE=quant_type, BYTES=sizes[quant_type], BLOCKS=32)
    return out
