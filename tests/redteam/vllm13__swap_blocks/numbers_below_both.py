# operator: vllm13::swap_blocks
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# source numbers are limited to the blocks of the smaller cache: a source beyond the end of dst is replaced
import triton
import triton.language as tl


@triton.jit
def copy(src_ptr, dst_ptr, mapping_ptr, n, blocks, BLOCK: tl.constexpr):
    pair = tl.program_id(0)
    s = tl.minimum(tl.load(mapping_ptr + 2 * pair), blocks - 1)
    d = tl.minimum(tl.load(mapping_ptr + 2 * pair + 1), blocks - 1)
    for start in tl.range(tl.program_id(1) * BLOCK, n, tl.num_programs(1) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(dst_ptr + d * n + at, tl.load(src_ptr + s * n + at, mask=at < n), mask=at < n)


def swap_blocks(src, dst, block_mapping):
    pairs = block_mapping.shape[0]
    n = src.stride(0)
    if pairs:
        blocks = min(src.shape[0], dst.shape[0])
        copy[(pairs, min(16, triton.cdiv(n, 2048)))](src, dst, block_mapping, n, blocks, BLOCK=2048)
