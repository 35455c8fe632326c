# operator: vllm13::ggml_dequantize
# style: output through a host-made tensor descriptor, table of formats
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# quant_type: bytes of a block of 32 weights
BLOCK_BYTES = {2: 18, 6: 22, 8: 34}


@triton.jit
def load_scale(block):
    low = tl.load(block).to(tl.uint16)
    high = tl.load(block + 1).to(tl.uint16)
    return (low | (high << 8)).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def dequantize_kernel(w_ptr, out_desc, row_bytes, n, TYPE: tl.constexpr, BYTES: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0)
    begin = tl.program_id(1) * COLS
    # Columns behind the row repeat its last one; the descriptor does not store them.
    c = tl.minimum(begin + tl.arange(0, COLS), n - 1)
    block = w_ptr + row.to(tl.int64) * row_bytes + (c // 32) * BYTES
    i = c % 32
    d = load_scale(block)
    if TYPE == 8:
        q = tl.load(block + 2 + i).to(tl.int8, bitcast=True).to(tl.int32)
    else:
        packed = tl.load(block + BYTES - 16 + i % 16).to(tl.int32)
        q = (packed >> (i // 16 * 4)) & 15
        if TYPE == 6:
            fifth = (tl.load(block + 2 + i // 8).to(tl.int32) >> (i % 8)) & 1
            q = q + 16 * fifth - 16
        else:
            q = q - 8
    y = d * q.to(tl.float32)
    out_desc.store([row, begin], y.to(out_desc.dtype)[None, :])


def ggml_dequantize(W, quant_type, m, n, dtype):
    if dtype is None:
        dtype = torch.float16
    out = torch.empty((m, n), dtype=dtype, device=W.device)
    if m == 0 or n == 0:
        return out
    COLS = 256
    desc = TensorDescriptor.from_tensor(out, [1, COLS])
    size = BLOCK_BYTES[quant_type]
    dequantize_kernel[(m, triton.cdiv(n, COLS))](W, desc, n // 32 * size, n, TYPE=quant_type, BYTES=size, COLS=COLS)
    return out
