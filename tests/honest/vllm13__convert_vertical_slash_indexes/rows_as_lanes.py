# operator: vllm13::convert_vertical_slash_indexes
# style: the merge of two lists with a row of queries in each lane, until all lanes are done; how long depends on the data
import torch
import triton
import triton.language as tl


@triton.jit
def any_of(lanes):
    return tl.max(lanes.to(tl.int32), axis=0) > 0


@triton.jit
def append(list_ptr, count, value, most, lanes):
    lanes = lanes & (count < most)
    tl.store(list_ptr + count, value, mask=lanes)
    return count + lanes.to(tl.int32)


@triton.jit
def save(list_ptr, count, lo, hi, k, most, lanes, BN: tl.constexpr):
    end = tl.minimum(hi, k)
    while any_of(lanes & (lo < end)):
        count = append(list_ptr, count, lo, most, lanes & (lo < end))
        lo += BN
    return count


@triton.jit
def merge(q_ptr, k_ptr, v_ptr, s_ptr, block_count, block_offset, column_count, column_index, heads, rows, n, NV, NS,
          BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr, ROWS: tl.constexpr):
    out = tl.program_id(0) * ROWS + tl.arange(0, ROWS)  # counts the rows of all heads
    head = out // rows  # counts through the batch
    q = tl.load(q_ptr + head // heads, mask=out < n, other=0)
    k = tl.load(k_ptr + head // heads, mask=out < n, other=0)
    begin = out % rows * BM
    counted = (out < n) & (begin < q)
    lanes = counted
    v_ptr += head * NV
    s_ptr += head * NS
    blocks, columns = block_offset + out * NS, column_index + out * NV
    top = begin + BM + k - (q if CAUSAL else 0)
    i, j = tl.full((ROWS,), 1, tl.int32), tl.full((ROWS,), 1, tl.int32)
    n_blocks, n_columns = tl.zeros((ROWS,), tl.int32), tl.zeros((ROWS,), tl.int32)
    v = tl.load(v_ptr, mask=lanes, other=0)
    s = tl.load(s_ptr, mask=lanes, other=0)
    skip = lanes & (s >= top) & (j < NS)
    while any_of(skip):
        s = tl.where(skip, tl.load(s_ptr + j, mask=skip, other=0), s)
        j += skip.to(tl.int32)
        skip = lanes & (s >= top) & (j < NS)
    hi = tl.where(s > top, (top if CAUSAL else k) + BN, tl.maximum(top - s, BM))
    lo = tl.where(s > top, hi - BN, hi - BM)
    while any_of(lanes):
        slash = tl.load(s_ptr + j, mask=lanes & (j < NS), other=-1)
        column = lanes & (v < hi)
        block = lanes & (v >= hi) & (j < NS)
        if not CAUSAL:
            block = block & (slash >= begin)
        rest = lanes & (v >= hi) & ~block
        last = rest
        n_columns = append(columns, n_columns, v, NV, column & (v < lo))
        if not CAUSAL:
            last = rest & (i == NV)
            n_columns = append(columns, n_columns, v, NV, last & (v < k))
        e = tl.maximum(top - slash, BM)
        far = block & (e > hi + BM)
        near = block & (e > hi) & (e <= hi + BM)
        n_blocks = save(blocks, n_blocks, lo, hi, k, NS, far | rest, BN)
        v = tl.where(column, tl.load(v_ptr + i, mask=column & (i < NV), other=0), v)
        v = tl.where(column & (i >= NV), top + BN, v)
        i += (column & (i < NV)).to(tl.int32)
        j += block.to(tl.int32)
        lo = tl.where(far, e - BM, tl.where(rest, k, lo))
        hi = tl.where(far, e, tl.where(near, hi + BM, tl.where(rest, k + BN, hi)))
        lanes = lanes & ~last
    tl.store(block_count + out, n_blocks, mask=counted)
    tl.store(column_count + out, n_columns, mask=counted)


def convert_vertical_slash_indexes(q_seqlens, kv_seqlens, vertical_indexes, slash_indexes, context_size, block_size_M,
                                   block_size_N, causal=True):
    batch, heads, n_v = vertical_indexes.shape
    n_s = slash_indexes.shape[2]
    rows = triton.cdiv(context_size, block_size_M)
    block_count, block_offset, column_count, column_index = (
        torch.zeros((batch, heads, rows) + more, dtype=torch.int32, device=q_seqlens.device)
        for more in ((), (n_s,), (), (n_v,)))
    n = batch * heads * rows
    merge[(triton.cdiv(n, 64),)](
        q_seqlens, kv_seqlens, vertical_indexes, slash_indexes, block_count, block_offset, column_count, column_index, heads,
        rows,
        n, n_v, n_s, BM=block_size_M, BN=block_size_N, CAUSAL=causal, ROWS=64, num_warps=1)
    return block_count, block_offset, column_count, column_index
