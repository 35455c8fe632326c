# operator: aten::rsqrt
# style: names that begin with torch, forbidden words in strings and f-strings, assert instead of exceptions
import torch
import triton
import triton.language as tl

torch_rsqrt_block = 1024
subprocess_note = "no subprocess, ctypes, os.system or open('/dev/shm/x') is used"


@triton.jit
def torch_rsqrt_kernel(input_ptr, output_ptr, numel, BLOCK: tl.constexpr):
    """Same result as torch.rsqrt; exec(), compile() and __import__ are words of this docstring only."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(input_ptr + index, mask=index < numel, other=1.0).to(tl.float32)
    tl.store(output_ptr + index, (1.0 / tl.sqrt_rn(value)).to(output_ptr.dtype.element_ty), mask=index < numel)


def torch_rsqrt(x: torch.Tensor) -> torch.Tensor:
    assert isinstance(x, torch.Tensor), f"torch.rsqrt({x!r}) needs a tensor; {subprocess_note}"
    dtype = x.dtype if x.dtype.is_floating_point else torch.float32
    source = x.to(dtype).contiguous()
    result = torch.empty(source.shape, dtype=dtype, device=x.device)
    if result.numel():
        torch_rsqrt_kernel[(triton.cdiv(result.numel(), torch_rsqrt_block),)](source, result, result.numel(),
                                                                             BLOCK=torch_rsqrt_block)
    return result


def rsqrt(self):
    return torch_rsqrt(self)


def rsqrt_out(self, *, out):
    out.copy_(torch_rsqrt(self))
    return out
