# operator: vllm13::cutlass_pack_scale_fp8
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def pack_scale(s_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    f = tl.arange(0, 8)
    v = tl.load(s_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    prod = v[:, None] * (f - 8).to(tl.float32)[None, :]
    prod = tl.minimum(tl.maximum(prod, -448.0), 448.0)
    tl.store(o_ptr + i[:, None] * 8 + f[None, :], prod.to(o_ptr.dtype.element_ty), mask=(i < n)[:, None])


def cutlass_pack_scale_fp8(scales):
    assert scales.dtype == torch.float8_e4m3fn, scales.dtype
    n = scales.numel()
    packed = torch.empty(n * 8, dtype=scales.dtype, device=scales.device)
    if n:
        pack_scale[(triton.cdiv(n, 128),)](scales, packed, n, BLOCK=128)
    return packed
