# operator: vllm13::swap_blocks
# style: copies as integers of the same width, one program for each block and part
import torch
import triton
import triton.language as tl


@triton.jit
def _swap_blocks_kernel(src_ptr, dst_ptr, map_ptr, n, tiles, BLOCK: tl.constexpr):
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
    BLOCK = min(4096, max(128, triton.next_power_of_2(n)))
    tiles = triton.cdiv(n, BLOCK)
    _swap_blocks_kernel[(pairs * tiles,)](
        src.detach().view(as_int), dst.detach().view(as_int), block_mapping.contiguous(),
        n, tiles, BLOCK=BLOCK, num_warps=8 if BLOCK >= 4096 else 4,
    )
    return None
