# operator: aten::reflection_pad1d_backward
# style: gather form (each input position sums its up to three sources), 2-D tiles, views brought to three dimensions
import torch
import triton
import triton.language as tl


@triton.jit
def _fetch(grad_ptr, row_at, row_ok, o, wanted, padded, o_stride):
    ok = wanted & (o >= 0) & (o < padded)
    return tl.load(
        grad_ptr + row_at[:, None] + (o * o_stride)[None, :],
        mask=row_ok[:, None] & ok[None, :],
        other=0.0,
    ).to(tl.float32)


@triton.jit
def reflect_gather_kernel(
    grad_ptr, result_ptr,
    rows, channels, width, padded, left, w_tiles,
    n_stride, c_stride, o_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    row = pid // w_tiles * ROWS + tl.arange(0, ROWS)
    w = pid % w_tiles * COLS + tl.arange(0, COLS)
    row_ok = row < rows
    row_at = row // channels * n_stride + row % channels * c_stride

    total = _fetch(grad_ptr, row_at, row_ok, w + left, w < width, padded, o_stride)
    total += _fetch(grad_ptr, row_at, row_ok, left - w, (w >= 1) & (w < width), padded, o_stride)
    total += _fetch(grad_ptr, row_at, row_ok, 2 * (width - 1) - w + left, w < width - 1, padded, o_stride)

    tl.store(
        result_ptr + (row * width)[:, None] + w[None, :],
        total.to(result_ptr.dtype.element_ty),
        mask=row_ok[:, None] & (w < width)[None, :],
    )


def _backward(grad_output, padding, result):
    if result.numel() == 0:
        return result
    grad = grad_output if grad_output.dim() == 3 else grad_output.unsqueeze(0)
    left, _right = padding
    images, channels, padded = grad.shape
    width = result.shape[-1]
    rows = images * channels
    cols = min(512, triton.next_power_of_2(width))
    block_rows = min(1024 // cols, triton.next_power_of_2(rows))
    w_tiles = triton.cdiv(width, cols)
    reflect_gather_kernel[(w_tiles * triton.cdiv(rows, block_rows),)](
        grad, result,
        rows, channels, width, padded, left, w_tiles,
        grad.stride(0), grad.stride(1), grad.stride(2),
        ROWS=block_rows, COLS=cols,
    )
    return result


def reflection_pad1d_backward(grad_output, self, padding):
    result = torch.empty(self.shape, dtype=grad_output.dtype, device=grad_output.device)
    return _backward(grad_output, padding, result)


def reflection_pad1d_backward_grad_input(grad_output, self, padding, *, grad_input):
    return _backward(grad_output, padding, grad_input)
