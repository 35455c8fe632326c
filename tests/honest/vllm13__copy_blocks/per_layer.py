# operator: vllm13::copy_blocks
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def copy_pair_kernel(key_ptr, value_ptr, mapping_ptr, block_numel, CHUNK: tl.constexpr):
    pair = tl.program_id(0)
    source = tl.load(mapping_ptr + 2 * pair) * block_numel
    target = tl.load(mapping_ptr + 2 * pair + 1) * block_numel
    at = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    mask = at < block_numel
    tl.store(key_ptr + target + at, tl.load(key_ptr + source + at, mask=mask), mask=mask)
    tl.store(value_ptr + target + at, tl.load(value_ptr + source + at, mask=mask), mask=mask)


# integers of the same width: no conversion can touch the bits
_AS_INT = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def copy_blocks(key_caches, value_caches, block_mapping):
    if len(key_caches) != len(value_caches):
        raise ValueError("key_caches and value_caches must have the same number of layers")
    pairs = block_mapping.shape[0]
    if pairs == 0 or not key_caches:
        return
    block_mapping = block_mapping.contiguous()
    for key, value in zip(key_caches, value_caches):
        if key.numel() == 0:
            continue
        block = key.numel() // key.shape[0]
        kind = _AS_INT[key.element_size()]
        chunk = min(1024, triton.next_power_of_2(block))
        copy_pair_kernel[(pairs, triton.cdiv(block, chunk))](
            key.view(kind), value.view(kind), block_mapping, block, CHUNK=chunk)
