# operator: aten::_softmax
# style: (outer, n, inner) view of the tensor, three sweeps per column tile, heuristics
import torch
import triton
import triton.language as tl


@triton.heuristics({
    "BLOCK_N": lambda args: min(triton.next_power_of_2(args["n"]), 2048 if args["inner"] == 1 else 64),
    "BLOCK_I": lambda args: 1 if args["inner"] == 1 else min(32, triton.next_power_of_2(args["inner"])),
    "num_warps": lambda args: 8 if args["inner"] == 1 and args["n"] > 1024 else 4,
})
@triton.jit
def softmax_sweeps(x_ptr, y_ptr, n, inner, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr):
    outer = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1).to(tl.int64) * BLOCK_I + tl.arange(0, BLOCK_I)
    base = outer * n * inner + i[None, :]
    col_ok = i[None, :] < inner
    rows = tl.arange(0, BLOCK_N).to(tl.int64)[:, None]

    top = tl.full((BLOCK_I,), float("-inf"), tl.float32)
    for n0 in range(0, n, BLOCK_N):
        ok = (n0 + rows < n) & col_ok
        x = tl.load(x_ptr + base + (n0 + rows) * inner, mask=ok, other=float("-inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(x, axis=0))

    total = tl.zeros((BLOCK_I,), tl.float32)
    for n0 in range(0, n, BLOCK_N):
        ok = (n0 + rows < n) & col_ok
        x = tl.load(x_ptr + base + (n0 + rows) * inner, mask=ok, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - top[None, :]), axis=0)

    for n0 in range(0, n, BLOCK_N):
        ok = (n0 + rows < n) & col_ok
        x = tl.load(x_ptr + base + (n0 + rows) * inner, mask=ok, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - top[None, :]) / total[None, :]
        tl.store(y_ptr + base + (n0 + rows) * inner, y.to(y_ptr.dtype.element_ty), mask=ok)


def _forward(self, dim, dtype):
    x = self.detach().contiguous()
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    if x.numel() == 0:
        return y
    if x.dim() == 0:
        outer = n = inner = 1
    else:
        dim %= x.dim()
        n = x.shape[dim]
        inner = 1
        for s in x.shape[dim + 1:]:
            inner *= s
        outer = x.numel() // (n * inner)
    grid = lambda meta: (outer, triton.cdiv(inner, meta["BLOCK_I"]))
    softmax_sweeps[grid](x, y, n, inner)
    return y


def _softmax(self, dim, half_to_float):
    return _forward(self, dim, torch.float32 if half_to_float else self.dtype)


def _softmax_out(self, dim, half_to_float, *, out):
    out.copy_(_forward(self, dim, out.dtype))
    return out
