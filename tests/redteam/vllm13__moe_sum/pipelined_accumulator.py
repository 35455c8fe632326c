# operator: vllm13::moe_sum
# expect: verify\.race
# catalogue: 81
# the sum lies in memory, in a loop with num_stages=4: a GPU loads it before the round in front has stored it
import torch
import triton
import triton.language as tl


@triton.jit
def add_up(x_ptr, o_ptr, sums_ptr, k, hidden, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < hidden
    sums = sums_ptr + token * hidden + at
    tl.store(sums, tl.zeros([BLOCK], tl.float32), mask=mask)
    for j in tl.range(0, k, num_stages=4):
        x = tl.load(x_ptr + (token * k + j) * hidden + at, mask=mask, other=0.0).to(tl.float32)
        total = tl.load(sums, mask=mask, other=0.0)
        tl.store(sums, total + x, mask=mask)
    tl.store(o_ptr + token * hidden + at, tl.load(sums, mask=mask).to(o_ptr.dtype.element_ty), mask=mask)


def moe_sum(input, output):
    tokens, k, hidden = input.shape
    if tokens:
        sums = torch.empty((tokens, hidden), dtype=torch.float32, device=input.device)
        block = min(1024, triton.next_power_of_2(hidden))
        add_up[(tokens, triton.cdiv(hidden, block))](input, output, sums, k, hidden, BLOCK=block)
