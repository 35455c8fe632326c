# SPDX-License-Identifier: MIT
"""The operator of bad_days.py, kernels for it, and processes that use up the GPU."""

SPEC = """
operator: aten::neg
source: aten
category: Math
summary: Element-wise -self.
semantics: result = -self, element by element.
triton: required
dtypes: [float32]
interfaces:
  - entry: neg
    schema: "neg(Tensor self) -> Tensor"
    reference: {aten: neg}
    bytes: bytes(self) + bytes(result)
    flops: numel(result)
    params:
      - {name: self, tensor: $a}
    cases: [few]
"""
CASES = """
name: few
cases:
  - {id: tail, a: [1000]}
  - {id: matrix, a: [65, 33]}
  - {id: bench, mode: benchmark, a: [4096, 4096]}
"""

HEAD = """
import torch
import triton
import triton.language as tl


@triton.jit
def neg_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y_ptr + at, -tl.load(x_ptr + at, mask=mask), mask=mask)


def good(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    neg_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y

"""
HONEST = HEAD + """
def neg(self):
    return good(self)
"""
# The host does not return; kernels of a call that is only recorded do not run in the runner.
ENDLESS_CALL = HEAD + """
def neg(self):
    y = good(self)
    while True:
        pass
"""
# Bad kernels by their fault: the source after HEAD.
BAD = {
    "a wild pointer": """
@triton.jit
def bad_kernel(x_ptr):
    tl.store(x_ptr + (1 << 44), 1.0)


def neg(self):
    y = good(self)
    bad_kernel[(1,)](y)
    return y
""",
    "a pointer that is not aligned": """
@triton.jit
def bad_kernel(x_ptr):
    address = x_ptr.to(tl.int64) + 2
    tl.store(address.to(tl.pointer_type(tl.float32)), 1.0)


def neg(self):
    y = good(self)
    bad_kernel[(1,)](y)
    return y
""",
    "an endless kernel": """
@triton.jit
def bad_kernel(x_ptr):
    done = 0
    while done < 1:
        done += (tl.atomic_add(x_ptr, 0.0) * 0).to(tl.int32)


def neg(self):
    y = good(self)
    bad_kernel[(1,)](y)
    return y
""",
    "an endless kernel on another stream": """
@triton.jit
def bad_kernel(x_ptr):
    done = 0
    while done < 1:
        done += (tl.atomic_add(x_ptr, 0.0) * 0).to(tl.int32)


def neg(self):
    y = good(self)
    with torch.cuda.stream(torch.cuda.Stream()):
        bad_kernel[(1,)](torch.empty(1, device=self.device))
    return y
""",
    "an assertion on the device": """
@triton.jit(debug=True)
def bad_kernel(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 1e30, "never")


def neg(self):
    y = good(self)
    bad_kernel[(1,)](y)
    return y
""",
    "a trap": """
@triton.jit
def bad_kernel(x_ptr):
    x = tl.load(x_ptr)
    x = tl.inline_asm_elementwise("trap; mov.b32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=False, pack=1)
    tl.store(x_ptr, x)


def neg(self):
    y = good(self)
    bad_kernel[(1,)](y)
    return y
""",
    "more shared memory than there is": """
@triton.jit
def bad_kernel(x_ptr, N: tl.constexpr):
    m, k = tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((128, 128), tl.float32)
    for i in range(0, N, 64):
        a = tl.load(x_ptr + m[:, None] * N + (i + k)[None, :])
        b = tl.load(x_ptr + (i + k)[:, None] * 128 + m[None, :])
        total += tl.dot(a, b)
    tl.store(x_ptr + m[:, None] * 128 + m[None, :], total.to(tl.float16))


def neg(self):
    y = good(self)
    bad_kernel[(1,)](torch.zeros(128 * 2048, dtype=torch.float16, device=self.device), 2048, num_stages=16)
    return y
""",
    "a tensor of 8 TiB": """
def neg(self):
    y = good(self)
    torch.empty(1 << 43, dtype=torch.uint8, device=self.device)
    return y
""",
    "memory until there is none": """
KEPT = []


def neg(self):
    for _ in range(4096):
        KEPT.append(torch.empty(1 << 30, dtype=torch.uint8, device=self.device))
    return good(self)
""",
    "a reset of the device": """
def neg(self):
    y = good(self)
    torch.cuda.cudart().cudaDeviceReset()
    return y
""",
    "the end of its own process": """
def neg(self):
    y = good(self)
    torch.multiprocessing.process.os.kill(torch.multiprocessing.process.os.getpid(), 9)
    return y
""",
}
ON_CPU = ("an endless kernel", "a tensor of 8 TiB", "the end of its own process")

HOLD_ALL = """
import sys, torch
held, size = [], 1 << 32
while size >= 1 << 20:
    try:
        held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        size //= 2
print("ready", flush=True)
sys.stdin.read()
"""
KEEP_BUSY = """
import select, sys, torch
a = torch.randn(8192, 8192, device="cuda")
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for _ in range(4):
        a @ a
    torch.cuda.synchronize()
"""
