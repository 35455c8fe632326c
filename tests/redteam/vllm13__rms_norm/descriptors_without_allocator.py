# operator: vllm13::rms_norm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# descriptors are made in the kernel and no allocator is set: on a GPU every such launch raises
import torch
import triton
import triton.language as tl


@triton.jit
def norm_described(out_ptr, x_ptr, w_ptr, n_rows, n_cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    source = tl.make_tensor_descriptor(x_ptr, shape=[n_rows, n_cols], strides=[n_cols, 1], block_shape=[1, BLOCK])
    cols = tl.arange(0, BLOCK)
    x = source.load([row, 0]).reshape(BLOCK).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + epsilon)
    target = tl.make_tensor_descriptor(out_ptr, shape=[n_rows, n_cols], strides=[n_cols, 1], block_shape=[1, BLOCK])
    target.store([row, 0], (x * scale * w).to(out_ptr.dtype.element_ty).reshape(1, BLOCK))


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
    aligned = n_cols * input.element_size() % 16 == 0 and all(t.data_ptr() % 16 == 0 for t in (out, input))
    if aligned and input.is_contiguous() and out.is_contiguous() and block <= 256:
        norm_described[(n_rows,)](out, input, weight, n_rows, n_cols, epsilon, BLOCK=block)
    else:
        norm_plain[(n_rows,)](out, input, weight, n_cols, epsilon, BLOCK=block)
