# operator: vllm13::cp_gather_indexer_k_quant_cache
# style: vLLM style, grid over sequences and chunks of rows, keyword launch
import triton
import triton.language as tl


@triton.jit
def _cp_gather_kernel(
    kv_cache_ptr,
    dst_k_ptr,
    dst_scale_ptr,
    block_table_ptr,
    cu_seq_lens_ptr,
    block_table_stride,
    block_size,
    WIDTH: tl.constexpr,
    SCALES: tl.constexpr,
    WIDTH_PAD: tl.constexpr,
    SCALES_PAD: tl.constexpr,
    ROWS: tl.constexpr,
):
    seq = tl.program_id(0)
    start = tl.load(cu_seq_lens_ptr + seq)
    end = tl.load(cu_seq_lens_ptr + seq + 1)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)  # rows within the sequence
    valid = start + i < end
    block = tl.load(block_table_ptr + seq * block_table_stride + i // block_size, mask=valid, other=0).to(tl.int64)
    slot = i % block_size
    block_begin = block * block_size * (WIDTH + SCALES)
    row = (start + i).to(tl.int64)

    w = tl.arange(0, WIDTH_PAD)
    src = block_begin + slot * WIDTH
    mask = valid[:, None] & (w < WIDTH)[None, :]
    keys = tl.load(kv_cache_ptr + src[:, None] + w[None, :], mask=mask)
    tl.store(dst_k_ptr + row[:, None] * WIDTH + w[None, :], keys, mask=mask)

    c = tl.arange(0, SCALES_PAD)
    src = block_begin + block_size * WIDTH + slot * SCALES
    mask = valid[:, None] & (c < SCALES)[None, :]
    scales = tl.load(kv_cache_ptr + src[:, None] + c[None, :], mask=mask)
    tl.store(dst_scale_ptr + row[:, None] * SCALES + c[None, :], scales, mask=mask)


def cp_gather_indexer_k_quant_cache(kv_cache, dst_k, dst_scale, block_table, cu_seq_lens):
    num_seqs, max_blocks = block_table.shape
    block_size = kv_cache.shape[1]
    tokens, width = dst_k.shape
    scales = dst_scale.shape[1]
    longest = min(tokens, max_blocks * block_size)
    if num_seqs == 0 or longest == 0:
        return None
    rows = 16
    _cp_gather_kernel[(num_seqs, triton.cdiv(longest, rows))](
        kv_cache_ptr=kv_cache,
        dst_k_ptr=dst_k,
        dst_scale_ptr=dst_scale,
        block_table_ptr=block_table,
        cu_seq_lens_ptr=cu_seq_lens,
        block_table_stride=block_table.stride(0),
        block_size=block_size,
        WIDTH=width,
        SCALES=scales,
        WIDTH_PAD=triton.next_power_of_2(width),
        SCALES_PAD=triton.next_power_of_2(scales),
        ROWS=rows,
    )
    return None
