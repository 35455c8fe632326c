# operator: vllm13::paged_attention_v2
# style: one program per sequence, head and part of 512 tokens; a second kernel puts the parts together
import torch
import triton
import triton.language as tl


@triton.jit
def part(q_ptr, kc_ptr, vc_ptr, table_ptr, lens_ptr, alibi_ptr, sum_ptr, max_ptr, tmp_ptr, scale, kv_heads, block_size, x,
         table_width, parts, SIZE: tl.constexpr, D: tl.constexpr, PART: tl.constexpr):
    s, h, j = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    heads = tl.num_programs(1)
    n = tl.load(lens_ptr + s)
    if j * PART < n:
        d = tl.arange(0, D)[None, :]
        t = j * PART + tl.arange(0, PART)
        block = tl.load(table_ptr + s * table_width + t // block_size, mask=t < n, other=0).to(tl.int64)
        base = ((block * kv_heads + h // (heads // kv_heads)) * SIZE * block_size)[:, None]
        offset = (t % block_size)[:, None]
        mask = (t < n)[:, None] & (d < SIZE)
        q = tl.load(q_ptr + (s * heads + h) * SIZE + d, mask=d < SIZE, other=0.0).to(tl.float32)
        key = tl.load(kc_ptr + base + (d // x * block_size + offset) * x + d % x, mask=mask, other=0.0).to(tl.float32)
        logit = tl.sum(q * key, axis=1) * scale
        if alibi_ptr is not None:
            logit += tl.load(alibi_ptr + h) * (t - n + 1).to(tl.float32)
        logit = tl.where(t < n, logit, float("-inf"))
        most = tl.max(logit, axis=0)
        p = tl.exp(logit - most)
        total = tl.sum(p, axis=0)
        value = tl.load(vc_ptr + base + d * block_size + offset, mask=mask, other=0.0).to(tl.float32)
        result = tl.sum(p[:, None] * value, axis=0) / total
        at = (s * heads + h) * parts + j
        tl.store(max_ptr + at, most)
        tl.store(sum_ptr + at, total)
        d = tl.arange(0, D)
        tl.store(tmp_ptr + at * SIZE + d, result.to(tmp_ptr.dtype.element_ty), mask=d < SIZE)


@triton.jit
def together(o_ptr, sum_ptr, max_ptr, tmp_ptr, lens_ptr, parts, SIZE: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr,
             PART: tl.constexpr):
    at = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    j = tl.arange(0, PARTS)
    d = tl.arange(0, D)
    real = j * PART < tl.load(lens_ptr + tl.program_id(0))
    most = tl.load(max_ptr + at * parts + j, mask=real, other=float("-inf"))
    weight = tl.exp(most - tl.max(most, axis=0)) * tl.load(sum_ptr + at * parts + j, mask=real, other=0.0)
    rows = tl.load(tmp_ptr + (at * parts + j)[:, None] * SIZE + d[None, :], mask=real[:, None] & (d < SIZE)[None, :], other=0.0)
    result = tl.sum(rows.to(tl.float32) * weight[:, None], axis=0) / tl.sum(weight, axis=0)
    tl.store(o_ptr + at * SIZE + d, result.to(o_ptr.dtype.element_ty), mask=d < SIZE)


def paged_attention_v2(out, exp_sum, max_logits, tmp_out, query, key_cache, value_cache, num_kv_heads, scale, block_tables,
                       seq_lens, block_size, max_seq_len, alibi_slopes, kv_cache_dtype, k_scale, v_scale, tp_rank=0,
                       blocksparse_local_blocks=0, blocksparse_vert_stride=0, blocksparse_block_size=64,
                       blocksparse_head_sliding_step=0):
    sequences, heads, size = query.shape
    parts = exp_sum.shape[2]
    width = triton.next_power_of_2(size)
    part[(sequences, heads, parts)](query, key_cache, value_cache, block_tables, seq_lens, alibi_slopes, exp_sum, max_logits,
                                    tmp_out, scale, num_kv_heads, block_size, key_cache.shape[4], block_tables.shape[1], parts,
                                    SIZE=size, D=width, PART=512)
    together[(sequences, heads)](out, exp_sum, max_logits, tmp_out, seq_lens, parts, SIZE=size, D=width,
                                 PARTS=triton.next_power_of_2(parts), PART=512)
