# operator: vllm13::marlin_int4_fp8_preprocess
# style: eight fields by shifts, one flat grid
import torch
import triton
import triton.language as tl


@triton.jit
def recode(w_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = tl.load(w_ptr + at, mask=at < n, other=0)
    out = tl.zeros([BLOCK], tl.int32)
    for i in tl.static_range(8):
        field = (w >> (4 * i)) & 15
        out |= tl.where(field >= 8, field - 8, 15 - field) << (4 * i)
    tl.store(o_ptr + at, out, mask=at < n)


def marlin_int4_fp8_preprocess(qweight, qzeros_or_none=None, inplace=False):
    out = qweight if inplace else torch.empty_like(qweight)
    n = qweight.numel()
    if n:
        recode[(triton.cdiv(n, 1024),)](qweight, out, n, BLOCK=1024)
    return out
