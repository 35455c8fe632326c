# operator: aten::mul
# style: pointwise kernel with the names of compiler output (triton_poi_fused_mul_0), buffers buf0 and arg0_1, explicit del
import torch
import triton
import triton.language as tl


@triton.jit
def triton_poi_fused_mul_0(in_ptr0, in_ptr1, out_ptr0, xnumel, TMP: tl.constexpr, XBLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = tl.load(in_ptr1 + (x0), xmask)
    tmp2 = tmp0.to(TMP) * tmp1.to(TMP)
    tl.store(out_ptr0 + (x0), tmp2.to(out_ptr0.dtype.element_ty), xmask)


@triton.jit
def triton_poi_fused_mul_1(in_ptr0, in_ptr1, out_ptr0, xnumel, TMP: tl.constexpr, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + xindex, xmask)
    tmp1 = tl.load(in_ptr1 + (0))
    tl.store(out_ptr0 + xindex, (tmp0.to(TMP) * tmp1.to(TMP)).to(out_ptr0.dtype.element_ty), xmask)


def call(args):
    arg0_1, arg1_1, kernel, shape, dtype = args
    args.clear()
    buf0 = torch.empty(shape, device=arg0_1.device, dtype=dtype)
    if buf0.numel() > 0:
        tmp = tl.float32 if dtype.is_floating_point else tl.uint8 if dtype == torch.bool else tl.int64
        raw = buf0.view(torch.uint8) if dtype == torch.bool else buf0
        kernel[(triton.cdiv(buf0.numel(), 1024), 1, 1)](arg0_1, arg1_1, raw, buf0.numel(), TMP=tmp, XBLOCK=1024)
    del arg0_1, arg1_1
    return buf0


def mul_Tensor(self, other):
    dtype = torch.result_type(self, other)
    work = torch.uint8 if dtype == torch.bool else dtype
    shape = torch.broadcast_shapes(self.shape, other.shape)
    arg0_1, arg1_1 = (t.to(work).expand(shape).contiguous() for t in (self, other))
    return call([arg0_1, arg1_1, triton_poi_fused_mul_0, shape, dtype])


def mul_Scalar(self, other):
    dtype = torch.result_type(self, other)
    number = torch.full((1,), other, device=self.device, dtype=torch.float32 if dtype.is_floating_point else dtype)
    return call([self.to(dtype).contiguous(), number, triton_poi_fused_mul_1, self.shape, dtype])


def mul_out(self, other, *, out):
    out.copy_(mul_Tensor(self, other))
    return out


def mul_Scalar_out(self, other, *, out):
    out.copy_(mul_Scalar(self, other))
    return out
