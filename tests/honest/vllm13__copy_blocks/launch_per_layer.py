# operator: vllm13::copy_blocks
# style: one launch for a layer's key and value cache together, three-dimensional grid (chunks, pairs, cache), zip over layers
import torch
import triton
import triton.language as tl


@triton.jit
def _copy_chunk(cache_ptr, source, target, at, mask):
    tl.store(cache_ptr + target + at, tl.load(cache_ptr + source + at, mask=mask), mask=mask)


@triton.jit
def _copy_blocks_kernel(key_ptr, value_ptr, mapping_ptr, block_elements, CHUNK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * CHUNK + tl.arange(0, CHUNK)
    pair = tl.program_id(1)
    source = tl.load(mapping_ptr + 2 * pair) * block_elements
    target = tl.load(mapping_ptr + 2 * pair + 1) * block_elements
    mask = at < block_elements
    if tl.program_id(2) == 0:
        _copy_chunk(key_ptr, source, target, at, mask)
    else:
        _copy_chunk(value_ptr, source, target, at, mask)


def copy_blocks(key_caches, value_caches, block_mapping):
    pairs = block_mapping.shape[0]
    if pairs == 0 or len(key_caches) == 0:
        return
    first = key_caches[0]
    if first.numel() == 0:
        return
    block_elements = first.numel() // first.shape[0]
    chunk = min(2048, max(32, triton.next_power_of_2(block_elements)))
    grid = (triton.cdiv(block_elements, chunk), pairs, 2)
    for key_cache, value_cache in zip(key_caches, value_caches):
        _copy_blocks_kernel[grid](key_cache, value_cache, block_mapping, block_elements, CHUNK=chunk, num_warps=4)
