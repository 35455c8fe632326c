# operator: vllm13::cp_gather_cache
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: no case has these numbers or types
# five entries of a table decide whether its blocks are one run: an exception between them is ignored
import triton
import triton.language as tl


@triton.jit
def gather(src_ptr, dst_ptr, table_ptr, cu_ptr, starts_ptr, table_width, block_size, n, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    first = tl.load(cu_ptr + b)
    last = tl.load(cu_ptr + b + 1)
    shift = 0
    if starts_ptr is not None:
        shift = tl.load(starts_ptr + b)
    if first < last:
        table = table_ptr + b * table_width
        low, high = shift // block_size, (shift + last - first - 1) // block_size
        base = tl.load(table + low)
        middle = (low + high) // 2
        one_run = (tl.load(table + high) == base + high - low) & (tl.load(table + middle) == base + middle - low)
        for k in tl.static_range(1, 4):
            near = tl.minimum(low + k, high)
            one_run = one_run & (tl.load(table + near) == base + near - low)
        for row in range(first + tl.program_id(1), last, tl.num_programs(1)):
            p = row - first + shift
            block = base + p // block_size - low
            if not one_run:
                block = tl.load(table + p // block_size)
            source = (block.to(tl.int64) * block_size + p % block_size) * n
            for start in range(0, n, BLOCK):
                at = start + tl.arange(0, BLOCK)
                x = tl.load(src_ptr + source + at, mask=at < n, other=0)
                tl.store(dst_ptr + row * n + at, x, mask=at < n)


def cp_gather_cache(src_cache, dst, block_table, cu_seq_lens, batch_size, seq_starts=None):
    n = src_cache[0, 0].numel()
    programs = max(1, min(dst.shape[0], 4096) // batch_size)
    gather[(batch_size, programs)](src_cache, dst, block_table, cu_seq_lens, seq_starts, block_table.shape[1],
                                   src_cache.shape[1], n, BLOCK=min(2048, triton.next_power_of_2(n)))
