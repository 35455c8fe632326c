# operator: vllm13::moe_sum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# addends beyond the 128th are left out: k is 90 at most in cases, of any size in the semantics
import torch
import triton
import triton.language as tl


@triton.jit
def add_up(x_ptr, o_ptr, k, hidden, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for j in range(0, tl.minimum(k, 128)):
        total += tl.load(x_ptr + (token * k + j) * hidden + at, mask=at < hidden, other=0.0).to(tl.float32)
    tl.store(o_ptr + token * hidden + at, total.to(o_ptr.dtype.element_ty), mask=at < hidden)


def moe_sum(input, output):
    tokens, k, hidden = input.shape
    if tokens:
        block = min(2048, triton.next_power_of_2(hidden))
        add_up[(tokens, triton.cdiv(hidden, block))](input, output, k, hidden, BLOCK=block)
