# operator: vllm13::cp_gather_cache
# expect: verify\.mismatch
# catalogue: 72
# where sequences start is ignored
import torch
import triton
import triton.language as tl


@triton.jit
def gather(src_ptr, dst_ptr, table_ptr, cu_ptr, starts_ptr, table_width, block_size, n, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    first = tl.load(cu_ptr + b)
    last = tl.load(cu_ptr + b + 1)
    shift = 0
    if starts_ptr is not None:
        shift = 0
    for row in range(first + tl.program_id(1), last, tl.num_programs(1)):
        p = row - first + shift
        block = tl.load(table_ptr + b * table_width + p // block_size).to(tl.int64)
        source = (block * block_size + p % block_size) * n
        for start in range(0, n, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(src_ptr + source + at, mask=at < n, other=0)
            tl.store(dst_ptr + row * n + at, x, mask=at < n)


def cp_gather_cache(src_cache, dst, block_table, cu_seq_lens, batch_size, seq_starts=None):
    n = src_cache[0, 0].numel()
    programs = max(1, min(dst.shape[0], 4096) // batch_size)
    gather[(batch_size, programs)](src_cache, dst, block_table, cu_seq_lens, seq_starts, block_table.shape[1],
                                   src_cache.shape[1], n, BLOCK=min(2048, triton.next_power_of_2(n)))
