# operator: vllm13::gather_and_maybe_dequant_cache
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: elements behind a count
# what an argument holds beyond the count that a number gives is always plausible, never left from an earlier call
# a tile of 8 tokens whose first and last entry of token_to_seq are equal counts as one sequence (the map ascends); the last entry
# may lie beyond num_tokens. wrong: num_tokens = 2, cu_seq_lens = [0, 1, 2], token_to_seq = [0, 1, 0, 0, 0, 0, 0, 0] (a buffer
# for the largest batch, with zeros behind this one's tokens): dst[1] is the row behind that of token 0 in sequence 0, instead of
# the first one of sequence 1
import torch
import triton
import triton.language as tl


@triton.jit
def gather(src_ptr, dst_ptr, table_ptr, cu_ptr, sequence_ptr, scale_ptr, starts_ptr, table_width, block_size, n, tokens, entries,
           FP8: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    first = t // TILE * TILE
    b = tl.load(sequence_ptr + first)
    last = tl.load(sequence_ptr + tl.minimum(first + TILE, entries) - 1)
    if last != b:
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
    if num_tokens > 0:
        gather[(num_tokens,)](src_cache, dst, block_table, cu_seq_lens, token_to_seq, scale, seq_starts, block_table.shape[1],
                              src_cache.shape[1], n, num_tokens, token_to_seq.shape[0], FP8=kv_cache_dtype != "auto", TILE=8,
                              BLOCK=triton.next_power_of_2(n))
