# operator: vllm13::apply_repetition_penalties_cuda
# style: two-dimensional grid (tiles of the vocabulary, sequences), heuristics for the tile, masked in-place store, helper jit function
import torch
import triton
import triton.language as tl


@triton.jit
def _penalise(x, p):
    """x / p for positive logits, x * p for all others, in float32."""
    return tl.where(x > 0.0, tl.div_rn(x, p), x * p)


@triton.heuristics(
    {
        "BLOCK_V": lambda args: max(16, min(1024, triton.next_power_of_2(args["vocab"]))),
        "num_warps": lambda args: 4 if args["vocab"] > 256 else 1,
    }
)
@triton.jit
def _repetition_penalties_kernel(
    logits_ptr,
    prompt_mask_ptr,
    output_mask_ptr,
    penalties_ptr,
    vocab,
    BLOCK_V: tl.constexpr,
):
    tile = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)

    cols = tile * BLOCK_V + tl.arange(0, BLOCK_V)
    inside = cols < vocab
    at = row * vocab + cols

    seen_prompt = tl.load(prompt_mask_ptr + at, mask=inside, other=0) != 0
    seen_output = tl.load(output_mask_ptr + at, mask=inside, other=0) != 0
    seen = inside & (seen_prompt | seen_output)

    # Only penalised logits are loaded and stored: the others keep their bits.
    p = tl.load(penalties_ptr + row).to(tl.float32)
    x = tl.load(logits_ptr + at, mask=seen, other=0.0).to(tl.float32)
    y = _penalise(x, p)
    tl.store(logits_ptr + at, y.to(logits_ptr.dtype.element_ty), mask=seen)


def apply_repetition_penalties_cuda(
    logits: torch.Tensor,
    prompt_mask: torch.Tensor,
    output_mask: torch.Tensor,
    repetition_penalties: torch.Tensor,
) -> None:
    num_seqs, vocab = logits.shape
    if num_seqs == 0 or vocab == 0:
        return

    def grid(meta):
        return (triton.cdiv(vocab, meta["BLOCK_V"]), num_seqs)

    _repetition_penalties_kernel[grid](logits, prompt_mask, output_mask, repetition_penalties, vocab)
