# operator: vllm13::gather_and_maybe_dequant_cache
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 72
# as many rows as token_to_seq has entries are gathered, not num_tokens: a map that is longer (a buffer for the largest batch)
# overwrites rows of dst that must stay; wrong: num_tokens = 3, token_to_seq of 8 entries, dst of 8 rows: rows 3 .. 7 are
# overwritten
import torch
import triton
import triton.language as tl


@triton.jit
def gather(src_ptr, dst_ptr, table_ptr, cu_ptr, sequence_ptr, scale_ptr, starts_ptr, table_width, block_size, n,
           FP8: tl.constexpr, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    b = tl.load(sequence_ptr + t)
    i = t - tl.load(cu_ptr + b)
    j = i // block_size
    if starts_ptr is not None:
        j += tl.load(starts_ptr + b) // block_size
    block = tl.load(table_ptr + b * table_width + j).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(src_ptr + (block * block_size + i % block_size) * n + at, mask=at < n)
    if FP8:
        number = x.to(tl.float8e4nv, bitcast=True).to(tl.float32)
        x = (number * tl.load(scale_ptr)).to(dst_ptr.dtype.element_ty)
    tl.store(dst_ptr + t * n + at, x, mask=at < n)


def gather_and_maybe_dequant_cache(src_cache, dst, block_table, cu_seq_lens, token_to_seq, num_tokens, kv_cache_dtype, scale,
                                   seq_starts=None):
    n = src_cache.shape[2]
    tokens = token_to_seq.numel()
    if tokens > 0:
        gather[(tokens,)](src_cache, dst, block_table, cu_seq_lens, token_to_seq, scale, seq_starts, block_table.shape[1],
                              src_cache.shape[1], n, FP8=kv_cache_dtype != "auto", BLOCK=triton.next_power_of_2(n))
