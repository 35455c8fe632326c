# operator: aten::_softmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# structured data: the sum of a row ends at the first block of 8192 elements that are all -inf, as if masks were at the end only; rows with padding on the left, or windows of attention over long sequences, are wrong
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_row(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    top = -float("inf")
    total = 0.0
    shift = 0.0
    start = 0
    live = 1
    while (start < cols) & (live != 0):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + c, mask=c < cols, other=-float("inf")).to(tl.float32)
        here = tl.max(x, axis=0)
        # masked logits fill the end of a row: behind a block of these nothing counts
        live = (here > -float("inf")).to(tl.int32)
        higher = tl.maximum(top, here)
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), axis=0)
        top = higher
        start += BLOCK
    for begin in range(0, cols, BLOCK):
        c = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + c, mask=c < cols, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - shift) / total
        tl.store(y_ptr + row + c, y.to(y_ptr.dtype.element_ty), mask=c < cols)


def _softmax(self, dim, half_to_float):
    x = self.reshape(1) if self.dim() == 0 else self
    x = x.movedim(dim, -1).contiguous()
    y = torch.empty(x.shape, dtype=torch.float32 if half_to_float else x.dtype, device=x.device)
    if x.numel() > 0:
        cols = x.shape[-1]
        softmax_row[(x.numel() // cols,)](x, y, cols, BLOCK=min(triton.next_power_of_2(cols), 8192))
    return y.movedim(-1, dim).reshape(self.shape)


def _softmax_out(self, dim, half_to_float, *, out):
    return out.copy_(_softmax(self, dim, half_to_float))


# x = torch.zeros(1, 16384); x[:, :8192] = float("-inf"): _softmax(x, 1, False) gives NaN in the first half and inf in the second
# instead of 0 and 1/8192. With the -inf in columns 8192 to 16383 of 24576 both other thirds have 1/8192
# instead of 1/16384.
