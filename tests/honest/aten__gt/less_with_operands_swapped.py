# operator: aten::gt
# style: tl.where to bytes, operands swapped, overloads made by a factory function (closure)
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
        wide = torch.float64 if dtype.is_floating_point else dtype  # torch.full refuses what float16 cannot hold
        other = torch.full((), other, dtype=wide, device=self.device)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    result = torch.empty(shape, dtype=torch.uint8, device=self.device)
    if result.numel() > 0:
        work = dtype if dtype != torch.bool else torch.uint8
        steps = [int(t.numel() > 1) for t in (other, self)]
        small, large = (t.to(work).expand(shape).contiguous() if step else t.to(work) for t, step in zip((other, self), steps))
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
