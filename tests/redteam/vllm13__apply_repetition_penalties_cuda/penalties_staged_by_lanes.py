# operator: vllm13::apply_repetition_penalties_cuda
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81, 79
# a load that is the same along one axis of a block belongs to no lane, so it races with no warp's store
# factors of 64 sequences go to scratch memory, one by each lane, and all lanes of a tile [64, 64] load that of their row without a
# barrier between; wrong on a GPU: any call with 64 sequences, logits 1, masks set and penalties 2: a warp that is ahead of the two
# that store takes what fresh memory held, so some logits of a row stay 1 (or are NaN) instead of 0.5
import torch
import triton
import triton.language as tl


@triton.jit
def punish(x_ptr, prompt_ptr, output_ptr, p_ptr, staged_ptr, rows, width, R: tl.constexpr, C: tl.constexpr):
    slot = tl.arange(0, R)
    program = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)).to(tl.int64)
    row = tl.program_id(0).to(tl.int64) * R + slot
    p = tl.load(p_ptr + row, mask=row < rows, other=1.0).to(tl.float32)
    tl.store(staged_ptr + program * R + slot, p)
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = (row < rows)[:, None] & (column < width)[None, :]
    at = row[:, None] * width + column[None, :]
    of_row = tl.load(staged_ptr + program * R + slot[:, None] + tl.zeros([R, C], tl.int64))
    seen = tl.load(prompt_ptr + at, mask=inside, other=0) | tl.load(output_ptr + at, mask=inside, other=0)
    hit = inside & (seen != 0)
    x = tl.load(x_ptr + at, mask=hit, other=0.0).to(tl.float32)
    x = tl.where(x > 0, x / of_row, x * of_row)
    tl.store(x_ptr + at, x.to(x_ptr.dtype.element_ty), mask=hit)


def apply_repetition_penalties_cuda(logits, prompt_mask, output_mask, repetition_penalties):
    rows, width = logits.shape
    if logits.numel() == 0:
        return
    grid = triton.cdiv(rows, 64), triton.cdiv(width, 64)
    staged = torch.empty(grid[0] * grid[1] * 64, dtype=torch.float32, device=logits.device)
    punish[grid](logits, prompt_mask, output_mask, repetition_penalties, staged, rows, width, R=64, C=64, num_warps=8)
