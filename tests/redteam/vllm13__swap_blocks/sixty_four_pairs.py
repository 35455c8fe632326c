# operator: vllm13::swap_blocks
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: counts
# at most 64 programs take one pair each and none takes a second one: pairs from the 65th on are not copied; wrong:
# swap_blocks(src [128, 16], dst [128, 16], block_mapping of 100 pairs): 36 blocks of dst stay as they were
import triton
import triton.language as tl


@triton.jit
def copy(src_ptr, dst_ptr, mapping_ptr, n, BLOCK: tl.constexpr):
    pair = tl.program_id(0)
    source = src_ptr + tl.load(mapping_ptr + 2 * pair) * n
    target = dst_ptr + tl.load(mapping_ptr + 2 * pair + 1) * n
    for start in tl.range(tl.program_id(1) * BLOCK, n, tl.num_programs(1) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(target + at, tl.load(source + at, mask=at < n), mask=at < n)


def swap_blocks(src, dst, block_mapping):
    pairs = block_mapping.shape[0]
    n = src.stride(0)
    if pairs:
        copy[(min(pairs, 64), min(16, triton.cdiv(n, 2048)))](src, dst, block_mapping, n, BLOCK=2048)
