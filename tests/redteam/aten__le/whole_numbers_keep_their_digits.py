# operator: aten::le
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: near pairs of two types
# elements of two tensors of different types are never so close that their common type makes them equal
# integers beside float32 are compared in float64, not in the promoted type; wrong:
# le_Tensor(torch.tensor([16777217]), torch.tensor([16777216.])) gives [False], torch [True]
import torch
import triton
import triton.language as tl

BLOCK = 1024
TYPES = {
    torch.bool: tl.int8, torch.uint8: tl.uint8, torch.int8: tl.int8, torch.int16: tl.int16, torch.int32: tl.int32,
    torch.int64: tl.int64, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32,
    torch.float64: tl.float64,
}


@triton.jit
def le_tensors(a_ptr, b_ptr, out_ptr, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0).to(TYPE)
    b = tl.load(b_ptr + at, mask=at < n, other=0).to(TYPE)
    tl.store(out_ptr + at, a <= b, mask=at < n)


@triton.jit
def le_float(a_ptr, out_ptr, number: tl.float64, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0).to(TYPE)
    tl.store(out_ptr + at, a <= number.to(TYPE), mask=at < n)


@triton.jit
def le_int(a_ptr, out_ptr, number, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0).to(TYPE)
    b = tl.full((BLOCK,), number, tl.int64).to(TYPE)
    tl.store(out_ptr + at, a <= b, mask=at < n)


def _dense(tensor, shape):
    return tensor.detach().expand(shape).contiguous()


def _target(out, shape, device):
    if out is not None and out.is_contiguous():
        return out
    return torch.empty(shape, dtype=torch.bool, device=device)


def _finish(result, out):
    if out is None or out is result:
        return result
    out.copy_(result)
    return out


def _tensors(self, other, out=None):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    result = _target(out, shape, self.device)
    n = result.numel()
    if n:
        common = TYPES[torch.result_type(self, other)]
        if common == tl.float32 and not (self.is_floating_point() and other.is_floating_point()):
            common = tl.float64  # whole numbers keep all their digits
        le_tensors[(triton.cdiv(n, BLOCK),)](_dense(self, shape), _dense(other, shape), result, n, TYPE=common, BLOCK=BLOCK)
    return _finish(result, out)


def _number(self, other, out=None):
    result = _target(out, self.shape, self.device)
    n = result.numel()
    if n:
        common = torch.result_type(self, other)
        if common.is_floating_point:
            le_float[(triton.cdiv(n, BLOCK),)](_dense(self, self.shape), result, float(other), n, TYPE=TYPES[common], BLOCK=BLOCK)
        else:
            le_int[(triton.cdiv(n, BLOCK),)](_dense(self, self.shape), result, int(other), n, TYPE=TYPES[common], BLOCK=BLOCK)
    return _finish(result, out)


def le_Tensor(self, other):
    return _tensors(self, other)


def le_Scalar(self, other):
    return _number(self, other)


def le_Tensor_out(self, other, *, out):
    return _tensors(self, other, out)


def le_Scalar_out(self, other, *, out):
    return _number(self, other, out)
