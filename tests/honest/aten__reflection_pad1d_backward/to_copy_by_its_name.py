# operator: aten::reflection_pad1d_backward
# style: atomics into float32, converted to the result's type by torch.ops.aten._to_copy
import torch
import triton
import triton.language as tl


@triton.jit
def scatter(g_ptr, o_ptr, width, out_width, left, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = o < out_width
    grad = tl.load(g_ptr + row * out_width + o, mask=inside, other=0.0).to(tl.float32)
    place = tl.abs(o - left)
    place = tl.where(place < width, place, 2 * (width - 1) - place)
    tl.atomic_add(o_ptr + row * width + place, grad, mask=inside)


def reflection_pad1d_backward(grad_output, self, padding):
    total = torch.zeros(self.shape, dtype=torch.float32, device=self.device)
    width, out_width = self.shape[-1], grad_output.shape[-1]
    if grad_output.numel() > 0:
        grid = (grad_output.numel() // out_width, triton.cdiv(out_width, 256))
        scatter[grid](grad_output.contiguous(), total, width, out_width, padding[0], BLOCK=256)
    if total.dtype == self.dtype:
        return total
    return torch.ops.aten._to_copy(total, dtype=self.dtype)


def reflection_pad1d_backward_grad_input(grad_output, self, padding, *, grad_input):
    return grad_input.copy_(reflection_pad1d_backward(grad_output, self, padding))
