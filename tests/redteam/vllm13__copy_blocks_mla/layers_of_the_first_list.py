# operator: vllm13::copy_blocks_mla
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# class: the same list object again with other tensors in it (runners make a new list for each call)
# the layers of a list are kept with the list object; an engine keeps one list and puts new caches into it (sleep and wake-up, a
# larger cache): wrong: caches = [a]; copy_blocks_mla(caches, m); caches[0] = b; copy_blocks_mla(caches, m) leaves b as it was and
# copies blocks of a again
import triton
import triton.language as tl


@triton.jit
def move(cache_ptr, mapping_ptr, n, BLOCK: tl.constexpr):
    pair = mapping_ptr + 2 * tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(cache_ptr + tl.load(pair) * n + at, mask=at < n)
    tl.store(cache_ptr + tl.load(pair + 1) * n + at, x, mask=at < n)


_latest = [None, ()]


def layers_of(kv_caches):
    """What each layer needs, once for each list of layers."""
    if _latest[0] is not kv_caches:
        _latest[:] = kv_caches, tuple((cache, cache.shape[1] * cache.shape[2]) for cache in kv_caches)
    return _latest[1]


def copy_blocks_mla(kv_caches, block_mapping):
    n_pairs = block_mapping.shape[0]
    for cache, n in layers_of(kv_caches):
        if n_pairs and n:
            move[(triton.cdiv(n, 4096), n_pairs)](cache, block_mapping, n, BLOCK=4096)
