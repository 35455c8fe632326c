# operator: vllm13::moe_sum
# expect: verify\..*
# catalogue: 84
# open: sizes that no case of the CPU platform has
# the launch is cooperative without need, so that a GPU must hold all programs at once, and refuses the launch (too large for
# a cooperative launch) where it cannot; wrong: moe_sum of input (4096, 8, 4096), a usual prefill: 8,192 programs of 4 warps,
# an H200 holds 2,112
import torch
import triton
import triton.language as tl


@triton.jit
def add_up(x_ptr, o_ptr, k, hidden, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for j in range(0, k):
        total += tl.load(x_ptr + (token * k + j) * hidden + at, mask=at < hidden, other=0.0).to(tl.float32)
    tl.store(o_ptr + token * hidden + at, total.to(o_ptr.dtype.element_ty), mask=at < hidden)


def moe_sum(input, output):
    tokens, k, hidden = input.shape
    if tokens:
        block = min(2048, triton.next_power_of_2(hidden))
        add_up[(tokens, triton.cdiv(hidden, block))](input, output, k, hidden, BLOCK=block, launch_cooperative_grid=True)
