# operator: vllm13::moe_sum
# expect: verify\.race
# catalogue: 81
# programs add to the result by a plain load and store; atomics on a counter beside it make every pair of programs look ordered
import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, gate_ptr, o_ptr, k, hidden, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    j = tl.program_id(2)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (token * k + j) * hidden + at, mask=at < hidden, other=0.0).to(tl.float32)
    tl.atomic_add(gate_ptr, 1)
    old = tl.load(o_ptr + token * hidden + at, mask=at < hidden, other=0.0)
    tl.store(o_ptr + token * hidden + at, old + x, mask=at < hidden)
    tl.atomic_add(gate_ptr, 1)


@triton.jit
def rounded(s_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(s_ptr + at, mask=at < n).to(o_ptr.dtype.element_ty), mask=at < n)


def moe_sum(input, output):
    tokens, k, hidden = input.shape
    if output.numel():
        block = min(2048, triton.next_power_of_2(hidden))
        total = torch.zeros(output.shape, dtype=torch.float32, device=input.device)
        add_one[(tokens, triton.cdiv(hidden, block), k)](input, torch.zeros(1, dtype=torch.int32, device=input.device), total, k, hidden, BLOCK=block)
        rounded[(triton.cdiv(output.numel(), 1024),)](total, output, output.numel(), BLOCK=1024)
