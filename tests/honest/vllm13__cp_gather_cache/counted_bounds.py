# operator: vllm13::cp_gather_cache
# style: tiles of dst rows; each row finds its sequence by counting the bounds that it has passed
import math

import triton
import triton.language as tl


@triton.jit
def _sequence_of(row, cu_ptr, batch_size):
    """How many sequences end at or before a row: the number of the one that holds it (batch_size: none)."""
    number = tl.zeros_like(row)
    for s in range(1, batch_size + 1):
        number += (tl.load(cu_ptr + s) <= row).to(tl.int64)
    return number


@triton.jit
def gather_rows_kernel(
    cache_ptr, dst_ptr, table_ptr, cu_ptr, starts_ptr,
    rows, width, block_size, table_stride, batch_size, col_tiles,
    HAS_STARTS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    row = pid // col_tiles * ROWS + tl.arange(0, ROWS)
    col = pid % col_tiles * COLS + tl.arange(0, COLS)

    seq = _sequence_of(row, cu_ptr, batch_size)
    present = (row < rows) & (seq < batch_size)
    p = row - tl.load(cu_ptr + seq, mask=present, other=0)
    if HAS_STARTS:
        p += tl.load(starts_ptr + seq, mask=present, other=0)
    block = tl.load(table_ptr + seq * table_stride + p // block_size, mask=present, other=0).to(tl.int64)
    source = (block * block_size + p % block_size) * width

    mask = present[:, None] & (col < width)[None, :]
    piece = tl.load(cache_ptr + source[:, None] + col[None, :], mask=mask)
    tl.store(dst_ptr + (row * width)[:, None] + col[None, :], piece, mask=mask)


def cp_gather_cache(src_cache, dst, block_table, cu_seq_lens, batch_size, seq_starts=None):
    rows = dst.shape[0]
    width = math.prod(dst.shape[1:])
    if rows == 0 or width == 0 or batch_size == 0:
        return None
    cols = min(512, triton.next_power_of_2(width))
    block_rows = max(1, min(2048 // cols, triton.next_power_of_2(rows)))
    col_tiles = triton.cdiv(width, cols)
    gather_rows_kernel[(col_tiles * triton.cdiv(rows, block_rows),)](
        src_cache, dst, block_table, cu_seq_lens, cu_seq_lens if seq_starts is None else seq_starts,
        rows, width, src_cache.shape[1], block_table.stride(0), batch_size, col_tiles,
        HAS_STARTS=seq_starts is not None, ROWS=block_rows, COLS=cols,
    )
    return None
