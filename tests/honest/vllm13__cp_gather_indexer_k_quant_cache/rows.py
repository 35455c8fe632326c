# operator: vllm13::cp_gather_indexer_k_quant_cache
# style: a program per sequence walks over its rows, several at a time
import triton
import triton.language as tl


@triton.jit
def gather(cache_ptr, k_ptr, s_ptr, table_ptr, cu_ptr, table_width, block_size, width, scales, ROWS: tl.constexpr,
           WIDTH: tl.constexpr, SCALES: tl.constexpr):
    b = tl.program_id(0)
    first, last = tl.load(cu_ptr + b), tl.load(cu_ptr + b + 1)
    for start in range(first + tl.program_id(1) * ROWS, last, tl.num_programs(1) * ROWS):
        row = (start + tl.arange(0, ROWS))[:, None]
        i = row - first
        block = tl.load(table_ptr + b * table_width + i // block_size, mask=row < last, other=0).to(tl.int64)
        base = cache_ptr + block * block_size * (width + scales)
        w = tl.arange(0, WIDTH)[None, :]
        key = tl.load(base + i % block_size * width + w, mask=(row < last) & (w < width))
        tl.store(k_ptr + row.to(tl.int64) * width + w, key, mask=(row < last) & (w < width))
        w = tl.arange(0, SCALES)[None, :]
        scale = tl.load(base + block_size * width + i % block_size * scales + w, mask=(row < last) & (w < scales))
        tl.store(s_ptr + row.to(tl.int64) * scales + w, scale, mask=(row < last) & (w < scales))


def cp_gather_indexer_k_quant_cache(kv_cache, dst_k, dst_scale, block_table, cu_seq_lens):
    sequences, table_width = block_table.shape
    tokens, width = dst_k.shape
    scales = dst_scale.shape[1]
    if sequences and tokens:
        gather[(sequences, triton.cdiv(tokens, 64 * sequences))](
            kv_cache, dst_k, dst_scale, block_table, cu_seq_lens, table_width, kv_cache.shape[1], width, scales, ROWS=16,
            WIDTH=triton.next_power_of_2(width), SCALES=triton.next_power_of_2(scales))
