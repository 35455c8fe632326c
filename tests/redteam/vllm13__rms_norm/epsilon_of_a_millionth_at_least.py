# operator: vllm13::rms_norm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# epsilon below 1e-6 counts as 1e-6: rows of small numbers are not normalised; hurts models with 1e-12 or 1e-8; wrong:
# rms_norm(out, torch.full((1, 8), 1e-6), torch.ones(8), 1e-12) gives 0.001, not 0.707
import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(out_ptr, x_ptr, w_ptr, n_cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + tl.maximum(epsilon, 1e-6))
    tl.store(out_ptr + row * n_cols + cols, (x * scale * w).to(out_ptr.dtype.element_ty), mask=mask)


def rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    n_cols = input.shape[-1]
    n_rows = input.numel() // n_cols
    if n_rows > 0:
        rms_norm_kernel[(n_rows,)](out, input, weight, n_cols, epsilon, BLOCK=triton.next_power_of_2(n_cols))
