# operator: vllm13::paged_attention_v1
# style: one program per sequence and head, running softmax over the blocks of the table
import torch
import triton
import triton.language as tl


@triton.jit
def paged_attention_kernel(
    out_ptr, q_ptr, k_ptr, v_ptr, tables_ptr, lens_ptr, alibi_ptr,
    scale, heads, num_kv_heads, table_width,
    HEAD_SIZE: tl.constexpr, D: tl.constexpr, X: tl.constexpr, BLOCK_SIZE: tl.constexpr, HAS_ALIBI: tl.constexpr,
):
    head = tl.program_id(0)
    seq = tl.program_id(1)
    kv_head = head // (heads // num_kv_heads)
    seq_len = tl.load(lens_ptr + seq)

    d = tl.arange(0, D)
    d_ok = d < HEAD_SIZE
    o = tl.arange(0, BLOCK_SIZE)
    row = (seq.to(tl.int64) * heads + head) * HEAD_SIZE
    q = tl.load(q_ptr + row + d, mask=d_ok, other=0.0).to(tl.float32)
    if HAS_ALIBI:
        slope = tl.load(alibi_ptr + head)

    # offsets of a key (offset o, element d) and of a value within a block and kv head
    k_at = (d[None, :] // X) * (BLOCK_SIZE * X) + o[:, None] * X + d[None, :] % X
    v_at = d[None, :] * BLOCK_SIZE + o[:, None]

    # The lowest finite number instead of -inf: the difference of two maxima is never inf - inf.
    top = tl.full((1,), -3.4028234663852886e38, tl.float32)
    total = tl.zeros((1,), tl.float32)
    acc = tl.zeros((D,), tl.float32)
    for b in range(0, tl.cdiv(seq_len, BLOCK_SIZE)):
        block = tl.load(tables_ptr + seq.to(tl.int64) * table_width + b).to(tl.int64)
        begin = (block * num_kv_heads + kv_head) * (HEAD_SIZE * BLOCK_SIZE)
        t = b * BLOCK_SIZE + o
        t_ok = t < seq_len
        mask = t_ok[:, None] & d_ok[None, :]
        k = tl.load(k_ptr + begin + k_at, mask=mask, other=0.0).to(tl.float32)
        logits = scale * tl.sum(q[None, :] * k, axis=1)
        if HAS_ALIBI:
            logits += slope * (t - (seq_len - 1)).to(tl.float32)
        logits = tl.where(t_ok, logits, float("-inf"))
        new_top = tl.maximum(top, tl.max(logits, axis=0))
        shrink = tl.exp(top - new_top)
        p = tl.exp(logits - new_top)
        v = tl.load(v_ptr + begin + v_at, mask=mask, other=0.0).to(tl.float32)
        acc = acc * shrink + tl.sum(p[:, None] * v, axis=0)
        total = total * shrink + tl.sum(p, axis=0)
        top = new_top
    tl.store(out_ptr + row + d, (acc / total).to(out_ptr.dtype.element_ty), mask=d_ok)


def paged_attention_v1(
    out, query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, block_size, max_seq_len,
    alibi_slopes, kv_cache_dtype, k_scale, v_scale, tp_rank=0, blocksparse_local_blocks=0,
    blocksparse_vert_stride=0, blocksparse_block_size=64, blocksparse_head_sliding_step=0,
):
    if kv_cache_dtype != "auto":
        raise NotImplementedError(kv_cache_dtype)
    seqs, heads, head_size = query.shape
    if seqs == 0 or heads == 0:
        return None
    paged_attention_kernel[(heads, seqs)](
        out, query, key_cache, value_cache, block_tables, seq_lens, alibi_slopes,
        scale, heads, num_kv_heads, block_tables.stride(0),
        HEAD_SIZE=head_size, D=triton.next_power_of_2(head_size), X=16 // query.element_size(),
        BLOCK_SIZE=block_size, HAS_ALIBI=alibi_slopes is not None, num_warps=4,
    )
    return None
