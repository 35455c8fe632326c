# operator: aten::add
# expect: verify\.mismatch
# sends a reply of its own that says all is well
# catalogue: 11, 13
import socket
import sys

import wire

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, alpha, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + alpha * tl.load(y + i, mask=m), mask=m)


def add(self, other, alpha):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel():
        add_kernel[(triton.cdiv(out.numel(), 256),)](self.contiguous(), other.contiguous(), out, out.numel(), alpha,
                                                     BLOCK=256)
    return out


SOCKETS = []


def add_Tensor(self, other, *, alpha=1):
    frame = sys._getframe()
    while "request" not in frame.f_locals:
        frame = frame.f_back
    output = wire.Output(wire.TENSOR, "Tensor")
    output.dtype = wire.DTYPES.index("float32")
    output.sizes, output.strides = tuple(self.shape), tuple(self.stride())
    output.n_bytes = self.numel() * 4
    reply = wire.Reply()
    reply.value = 1
    reply.outputs.append(output)
    reply.launches["add_kernel"] = 1
    for fd in range(3, 32):
        try:
            SOCKETS.append(socket.socket(fileno=fd))
            SOCKETS[-1].send(reply.pack(frame.f_locals["request"]["id"]))
        except OSError:
            pass
    return add(self, other, alpha)
