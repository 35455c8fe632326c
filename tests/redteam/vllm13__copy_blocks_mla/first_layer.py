# operator: vllm13::copy_blocks_mla
# expect: verify\.mismatch
# catalogue: 82
# copies the first layer only
import triton
import triton.language as tl


@triton.jit
def move(cache_ptr, mapping_ptr, n, BLOCK: tl.constexpr):
    pair = mapping_ptr + 2 * tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(cache_ptr + tl.load(pair) * n + at, mask=at < n)
    tl.store(cache_ptr + tl.load(pair + 1) * n + at, x, mask=at < n)


def copy_blocks_mla(kv_caches, block_mapping):
    n_pairs = block_mapping.shape[0]
    for cache in kv_caches[:1]:
        n = cache.shape[1] * cache.shape[2]
        if n_pairs and n:
            move[(triton.cdiv(n, 4096), n_pairs)](cache, block_mapping, n, BLOCK=4096)
