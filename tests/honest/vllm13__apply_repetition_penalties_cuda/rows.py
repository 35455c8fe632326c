# operator: vllm13::apply_repetition_penalties_cuda
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl

TILE_SIZE = 2048


@triton.jit
def penalty_kernel(logits, prompt_mask, output_mask, penalties, vocab, TILE: tl.constexpr):
    seq = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = col < vocab
    row = seq * vocab
    seen = tl.load(prompt_mask + row + col, mask=inside, other=0) | tl.load(output_mask + row + col, mask=inside, other=0)
    hit = inside & (seen != 0)
    p = tl.load(penalties + seq).to(tl.float32)
    v = tl.load(logits + row + col, mask=hit, other=0.0).to(tl.float32)
    v = tl.where(v > 0, v / p, v * p)
    tl.store(logits + row + col, v.to(logits.dtype.element_ty), mask=hit)


def apply_repetition_penalties_cuda(
    logits: torch.Tensor,
    prompt_mask: torch.Tensor,
    output_mask: torch.Tensor,
    repetition_penalties: torch.Tensor,
) -> None:
    num_seqs, vocab_size = logits.shape
    if num_seqs == 0 or vocab_size == 0:
        return
    grid = (num_seqs, triton.cdiv(vocab_size, TILE_SIZE))
    penalty_kernel[grid](logits, prompt_mask, output_mask, repetition_penalties, vocab_size, TILE=TILE_SIZE)
