# operator: vllm13::copy_blocks_mla
# style: fresh round of 2026-11-30
import triton
import triton.language as tl

# layers that one launch serves: their pointers travel as one tuple
LAYERS_PER_LAUNCH = 4


@triton.jit
def copy_mla(caches, mapping, numel, LAYERS: tl.constexpr, BLOCK: tl.constexpr):
    pair = tl.program_id(1)
    src = tl.load(mapping + pair * 2)
    dst = tl.load(mapping + pair * 2 + 1)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < numel
    for layer in tl.static_range(LAYERS):
        data = tl.load(caches[layer] + src * numel + offs, mask=mask)
        tl.store(caches[layer] + dst * numel + offs, data, mask=mask)


def copy_blocks_mla(kv_caches, block_mapping):
    pairs = block_mapping.size(0)
    if pairs == 0:
        return
    if kv_caches[0].numel() == 0:
        return
    numel = kv_caches[0][0].numel()
    block_mapping = block_mapping.contiguous()
    for first in range(0, len(kv_caches), LAYERS_PER_LAUNCH):
        caches = tuple(kv_caches[first:first + LAYERS_PER_LAUNCH])
        copy_mla[(triton.cdiv(numel, 512), pairs)](caches, block_mapping, numel, LAYERS=len(caches), BLOCK=512)
