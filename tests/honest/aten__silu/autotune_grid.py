# operator: aten::silu
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE": 256}, num_warps=2),
        triton.Config({"BLOCK_SIZE": 1024}, num_warps=4),
        triton.Config({"BLOCK_SIZE": 4096}, num_warps=8),
    ],
    key=["n_elements"],
)
@triton.jit
def _silu_fwd_kernel(
    x_ptr,
    out_ptr,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
):
    """Elementwise SiLU over a flat buffer."""
    pid = tl.program_id(axis=0)
    block_start = pid.to(tl.int64) * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    x_f32 = x.to(tl.float32)
    # x / (1 + exp(-x)): -inf / inf is NaN, as -inf * 0 is
    out = x_f32 / (1.0 + tl.exp(-x_f32))
    tl.store(out_ptr + offsets, out.to(x.dtype), mask=mask)


def silu(self: torch.Tensor) -> torch.Tensor:
    x = self.contiguous()
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    n_elements = x.numel()
    if n_elements == 0:
        return out
    grid = lambda META: (triton.cdiv(n_elements, META["BLOCK_SIZE"]),)
    _silu_fwd_kernel[grid](x, out, n_elements)
    return out


def silu_out(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    out.copy_(silu(self))
    return out
