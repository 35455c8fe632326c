# operator: aten::sgn
# expect: verify\.exception
# catalogue: 26
# a CUDA graph for each address, replayed with what lies there
import torch
import triton
import triton.language as tl


@triton.jit
def sgn_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0))).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        sgn_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


graphs = {}


def sgn(self):
    key = tuple(self.shape)
    if key not in graphs:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = launch(self)
        graphs[key] = graph, y
    graph, y = graphs[key]
    graph.replay()
    return y


def sgn_out(self, *, out):
    return out.copy_(sgn(self))
