# operator: vllm13::apply_repetition_penalties_cuda
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: coincidences
# where the first and the last penalty are equal all sequences get that one: hurts batches in which most requests leave the
# penalty at its default; wrong: repetition_penalties = [1.0, 1.3, 1.0] for three sequences: the second is not punished
import torch
import triton
import triton.language as tl


@triton.jit
def punish(l_ptr, prompt_ptr, output_ptr, p_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < cols
    at += row * cols
    seen = tl.load(prompt_ptr + at, mask=mask, other=0) | tl.load(output_ptr + at, mask=mask, other=0)
    mask &= seen != 0
    x = tl.load(l_ptr + at, mask=mask, other=0.0).to(tl.float32)
    one = tl.load(p_ptr).to(tl.float32)
    p = one
    if tl.load(p_ptr + rows - 1).to(tl.float32) != one:
        p = tl.load(p_ptr + row).to(tl.float32)
    y = tl.where(x > 0, x / p, x * p)
    tl.store(l_ptr + at, y.to(l_ptr.dtype.element_ty), mask=mask)


def apply_repetition_penalties_cuda(logits, prompt_mask, output_mask, repetition_penalties):
    rows, cols = logits.shape
    if rows == 0:
        return
    block = min(4096, triton.next_power_of_2(cols))
    punish[(rows, triton.cdiv(cols, block))](logits, prompt_mask, output_mask, repetition_penalties, rows, cols, BLOCK=block)
