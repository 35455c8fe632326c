# operator: vllm13::swap_blocks
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: no case has these numbers or types
# targets are kept by source: a source block that is named twice reaches one target only
import torch
import triton
import triton.language as tl


@triton.jit
def turn_round(mapping_ptr, target_ptr):
    pair = tl.program_id(0)
    tl.store(target_ptr + tl.load(mapping_ptr + 2 * pair), tl.load(mapping_ptr + 2 * pair + 1))


@triton.jit
def copy(src_ptr, dst_ptr, target_ptr, n, BLOCK: tl.constexpr):
    source = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + source)
    if target >= 0:
        for start in tl.range(tl.program_id(1) * BLOCK, n, tl.num_programs(1) * BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(dst_ptr + target * n + at, tl.load(src_ptr + source * n + at, mask=at < n), mask=at < n)


def swap_blocks(src, dst, block_mapping):
    pairs, blocks = block_mapping.shape[0], src.shape[0]
    n = src.stride(0)
    if pairs:
        # one program for each block of src reads it once, in order
        targets = torch.full((blocks,), -1, dtype=torch.int64, device=src.device)
        turn_round[(pairs,)](block_mapping, targets)
        copy[(blocks, min(16, triton.cdiv(n, 2048)))](src, dst, targets, n, BLOCK=2048)
