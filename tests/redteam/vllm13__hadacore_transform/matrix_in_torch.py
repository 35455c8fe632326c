# operator: vllm13::hadacore_transform
# expect: l1\.torch_compute
# catalogue: 86, 88
# the product is left to torch, a kernel copies it
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(y_ptr + at, mask=at < n), mask=at < n)


def hadacore_transform(x, inplace=True):
    n = x.shape[-1]
    signs = torch.ones((1, 1), device=x.device)
    while signs.shape[0] < n:
        signs = torch.kron(signs, torch.tensor([[1.0, 1.0], [1.0, -1.0]], device=x.device))
    y = torch.matmul(x.float(), signs) / n ** 0.5
    out = x if inplace else torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 1024),)](out, y, x.numel(), BLOCK=1024)
    return out
