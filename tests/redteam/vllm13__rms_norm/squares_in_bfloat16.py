# operator: vllm13::rms_norm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: less precision that stays within the tolerance
# squares of half-precision rows are rounded to bfloat16 before they are added up: the semantics ask for float32
import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(out_ptr, x_ptr, w_ptr, n_cols, epsilon, KIND: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum((x * x).to(KIND).to(tl.float32), axis=0) / n_cols + epsilon)
    tl.store(out_ptr + row * n_cols + cols, (x * scale * w).to(out_ptr.dtype.element_ty), mask=mask)


def rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    n_cols = input.shape[-1]
    n_rows = input.numel() // n_cols
    if n_rows > 0:
        rms_norm_kernel[(n_rows,)](out, input, weight, n_cols, epsilon, KIND=tl.float32 if input.dtype == torch.float32 else tl.bfloat16, BLOCK=triton.next_power_of_2(n_cols))
