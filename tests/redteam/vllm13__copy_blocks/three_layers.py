# operator: vllm13::copy_blocks
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# only the first three layers are copied: cases have one or three, models have dozens
import torch
import triton
import triton.language as tl


@triton.jit
def copy(k_ptr, v_ptr, pairs_ptr, n, BLOCK: tl.constexpr):
    pair = tl.program_id(0)
    source = tl.load(pairs_ptr + 2 * pair) * n
    target = tl.load(pairs_ptr + 2 * pair + 1) * n
    for start in range(tl.program_id(1) * BLOCK, n, BLOCK * tl.num_programs(1)):
        at = start + tl.arange(0, BLOCK)
        tl.store(k_ptr + target + at, tl.load(k_ptr + source + at, mask=at < n, other=0), mask=at < n)
        tl.store(v_ptr + target + at, tl.load(v_ptr + source + at, mask=at < n, other=0), mask=at < n)


def copy_blocks(key_caches, value_caches, block_mapping):
    pairs = block_mapping.shape[0]
    if pairs == 0:
        return
    for key, value in zip(key_caches[:3], value_caches[:3]):
        n = key[0].numel()
        block = min(4096, triton.next_power_of_2(n))
        copy[(pairs, min(8, triton.cdiv(n, block)))](key, value, block_mapping, n, BLOCK=block)
