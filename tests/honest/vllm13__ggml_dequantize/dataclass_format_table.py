# operator: vllm13::ggml_dequantize
# style: frozen dataclass table of the formats, two-dimensional tiles of blocks and bytes, one constexpr switch and helper jit functions
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Format:
    name: str
    block_bytes: int
    extra_bits: bool
    signed_bytes: bool


FORMATS = {
    2: Format("Q4_0", 18, extra_bits=False, signed_bytes=False),
    6: Format("Q5_0", 22, extra_bits=True, signed_bytes=False),
    8: Format("Q8_0", 34, extra_bits=False, signed_bytes=True),
}

BLOCK_ELEMENTS = tl.constexpr(32)


@triton.jit
def _load_scale(block_ptr, mask):
    low = tl.load(block_ptr, mask=mask, other=0).to(tl.uint16)
    high = tl.load(block_ptr + 1, mask=mask, other=0).to(tl.uint16)
    return (low | (high << 8)).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def _nibbles_kernel(w_ptr, out_ptr, blocks, BYTES: tl.constexpr, FIVE: tl.constexpr, TILE: tl.constexpr):
    block = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    alive = block < blocks
    start = w_ptr + block * BYTES
    d = _load_scale(start, alive)[:, None]

    j = tl.arange(0, 16)
    mask = alive[:, None]
    codes_at: tl.constexpr = 6 if FIVE else 2
    packed = tl.load(start[:, None] + codes_at + j[None, :], mask=mask, other=0).to(tl.int32)
    low = packed & 15
    high = packed >> 4
    if FIVE:
        # bit i % 8 of byte i // 8, for value j and for value j + 16
        bits_low = tl.load(start[:, None] + 2 + (j // 8)[None, :], mask=mask, other=0).to(tl.int32)
        bits_high = tl.load(start[:, None] + 4 + (j // 8)[None, :], mask=mask, other=0).to(tl.int32)
        shift = (j % 8)[None, :]
        low = low + 16 * ((bits_low >> shift) & 1) - 16
        high = high + 16 * ((bits_high >> shift) & 1) - 16
    else:
        low = low - 8
        high = high - 8

    out = out_ptr + block[:, None] * BLOCK_ELEMENTS + j[None, :]
    tl.store(out, (d * low.to(tl.float32)).to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(out + 16, (d * high.to(tl.float32)).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _bytes_kernel(w_ptr, out_ptr, blocks, BYTES: tl.constexpr, TILE: tl.constexpr):
    block = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    alive = block < blocks
    start = w_ptr + block * BYTES
    d = _load_scale(start, alive)[:, None]
    j = tl.arange(0, BLOCK_ELEMENTS)
    code = tl.load(start[:, None] + 2 + j[None, :], mask=alive[:, None], other=0)
    q = code.to(tl.int8, bitcast=True).to(tl.float32)
    out = out_ptr + block[:, None] * BLOCK_ELEMENTS + j[None, :]
    tl.store(out, (d * q).to(out_ptr.dtype.element_ty), mask=alive[:, None])


def ggml_dequantize(W, quant_type, m, n, dtype):
    fmt = FORMATS[quant_type]
    out = torch.empty((m, n), dtype=torch.float16 if dtype is None else dtype, device=W.device)
    blocks = m * (n // 32)
    if blocks == 0:
        return out
    tile = 32
    grid = (triton.cdiv(blocks, tile),)
    if fmt.signed_bytes:
        _bytes_kernel[grid](W, out, blocks, BYTES=fmt.block_bytes, TILE=tile)
    else:
        _nibbles_kernel[grid](W, out, blocks, BYTES=fmt.block_bytes, FIVE=fmt.extra_bits, TILE=tile)
    return out
