# operator: vllm13::swap_blocks
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: bytes that begin anywhere
# blocks of bytes are copied as words of 32 bits where their length is a multiple of four, wherever they begin; wrong: a
# cache of uint8 that is a slice of a buffer behind a header (buffer[2:].view(blocks, 16)): misaligned accesses, a fault
# of a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def _swap_blocks_kernel(src_ptr, dst_ptr, map_ptr, n, tiles, WORDS: tl.constexpr, BLOCK: tl.constexpr):
    if WORDS:
        src_ptr = src_ptr.to(tl.pointer_type(tl.int32))
        dst_ptr = dst_ptr.to(tl.pointer_type(tl.int32))
    pid = tl.program_id(0)
    pair = (pid // tiles).to(tl.int64)
    s = tl.load(map_ptr + 2 * pair)
    d = tl.load(map_ptr + 2 * pair + 1)
    at = (pid % tiles).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(src_ptr + s * n + at, mask=mask)
    tl.store(dst_ptr + d * n + at, x, mask=mask)


_INTS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def swap_blocks(src, dst, block_mapping):
    pairs = block_mapping.shape[0]
    n = 1
    for size in src.shape[1:]:
        n *= size
    if pairs == 0 or n == 0:
        return None
    # Bit patterns move as integers.
    as_int = _INTS[src.element_size()]
    words = src.element_size() == 1 and n % 4 == 0  # four bytes at a time
    n = n // 4 if words else n
    BLOCK = min(4096, max(128, triton.next_power_of_2(n)))
    tiles = triton.cdiv(n, BLOCK)
    _swap_blocks_kernel[(pairs * tiles,)](
        src.detach().view(as_int), dst.detach().view(as_int), block_mapping.contiguous(),
        n, tiles, WORDS=words, BLOCK=BLOCK, num_warps=8 if BLOCK >= 4096 else 4,
    )
    return None
