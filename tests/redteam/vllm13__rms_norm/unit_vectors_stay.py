# operator: vllm13::rms_norm
# expect: verify\.mismatch
# catalogue: 79
# float32 rows of length 1 are not scaled; the condition has both outcomes in every verdict, because in 16 bits the same line
# has a wide bound and a harmless choice; wrong: x = torch.nn.functional.normalize(torch.randn(4, 64), dim=-1) (unit
# embeddings): out is x * weight, 8 times too small
import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(out_ptr, x_ptr, w_ptr, n_cols, epsilon, NEAR: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    squares = tl.sum(x * x, axis=0)
    # near length 1: in 16 bits another formula for the same number, in 32 bits nothing is left to do
    known = 1.0 if WIDE else 1.0 / tl.sqrt(squares / n_cols + epsilon)
    scale = tl.where(tl.abs(squares - 1.0) < NEAR, known, tl.rsqrt(squares / n_cols + epsilon))
    tl.store(out_ptr + row * n_cols + cols, (x * scale * w).to(out_ptr.dtype.element_ty), mask=mask)


def rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    n_cols = input.shape[-1]
    n_rows = input.numel() // n_cols
    if n_rows > 0:
        rms_norm_kernel[(n_rows,)](out, input, weight, n_cols, epsilon, NEAR=0.000002 if input.dtype == torch.float32 else 0.75,
                                WIDE=input.dtype == torch.float32, BLOCK=triton.next_power_of_2(n_cols))
