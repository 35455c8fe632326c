# operator: vllm13::rms_norm
# style: tensor descriptors made on the host by TensorDescriptor.from_tensor, where they may be
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def norm_described(out, x_desc, w_ptr, n_cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = x_desc.load([row, 0]).reshape(BLOCK).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + epsilon)
    tl.store(out + row * n_cols + cols, (x * scale * w).to(out.dtype.element_ty), mask=cols < n_cols)


@triton.jit
def norm_plain(out_ptr, x_ptr, w_ptr, n_cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + epsilon)
    tl.store(out_ptr + row * n_cols + cols, (x * scale * w).to(out_ptr.dtype.element_ty), mask=mask)


def rms_norm(out, input, weight, epsilon):
    n_cols = input.shape[-1]
    n_rows = input.numel() // n_cols
    block = triton.next_power_of_2(n_cols)
    if n_rows == 0:
        return
    if n_cols * input.element_size() % 16 == 0 and input.data_ptr() % 16 == 0 and block <= 256 and input.is_contiguous():
        described = TensorDescriptor.from_tensor(input.view(n_rows, n_cols), [1, block])
        norm_described[(n_rows,)](out, described, weight, n_cols, epsilon, BLOCK=block)
    else:
        norm_plain[(n_rows,)](out, input, weight, n_cols, epsilon, BLOCK=block)
