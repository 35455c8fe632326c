# operator: aten::gt
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# two types that no template draws together
# two tensors of uint8 are compared as signed bytes; wrong: gt_Tensor(torch.tensor([200], dtype=torch.uint8),
# torch.tensor([100], dtype=torch.uint8)) gives False (masks of images)
import torch
import triton
import triton.language as tl

BLOCK: int = 2048


@triton.jit
def less_kernel(small_ptr, large_ptr, o_ptr, n, SMALL_STEP: tl.constexpr, LARGE_STEP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    small = tl.load(small_ptr + at * SMALL_STEP, mask=at < n)
    large = tl.load(large_ptr + at * LARGE_STEP, mask=at < n)
    tl.store(o_ptr + at, tl.where(small < large, 1, 0).to(tl.uint8), mask=at < n)


def greater(self, other):
    dtype = torch.result_type(self, other)
    if not isinstance(other, torch.Tensor):
        other = torch.full((), other, dtype=dtype, device=self.device)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    result = torch.empty(shape, dtype=torch.uint8, device=self.device)
    if result.numel() > 0:
        work = dtype if dtype != torch.bool else torch.uint8
        compared = torch.int8 if work == torch.uint8 else work
        steps = [int(t.numel() > 1) for t in (other, self)]
        small, large = (t.to(work).view(compared).expand(shape).contiguous() if step else t.to(work).view(compared) for t, step in zip((other, self), steps))
        less_kernel[(triton.cdiv(result.numel(), BLOCK),)](small, large, result, result.numel(), SMALL_STEP=steps[0],
                                                           LARGE_STEP=steps[1], BLOCK=BLOCK)
    return result.view(torch.bool)


def writing(function):
    def entry(self, other, *, out):
        return out.copy_(function(self, other))
    return entry


gt_Tensor = greater
gt_Scalar = greater
gt_Tensor_out = writing(greater)
gt_Scalar_out = writing(greater)
