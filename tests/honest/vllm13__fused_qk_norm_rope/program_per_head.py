# operator: vllm13::fused_qk_norm_rope
# style: one program for a token's head, the two halves of the pairs as two vectors, constexpr for the pairing, pointer choice by position
import torch
import triton
import triton.language as tl


@triton.jit
def _rotate(a, b, c, s):
    return a * c - b * s, b * c + a * s


@triton.jit
def _qk_norm_rope_kernel(
    qkv_ptr,
    q_weight_ptr,
    k_weight_ptr,
    cache_ptr,
    position_ptr,
    row_stride,
    cache_stride,
    num_heads_q,
    eps,
    HEAD_DIM: tl.constexpr,
    IS_NEOX: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    HALF: tl.constexpr = HEAD_DIM // 2
    i = tl.arange(0, HALF)
    if IS_NEOX:
        first = i
        second = i + HALF
    else:
        first = 2 * i
        second = 2 * i + 1

    base = qkv_ptr + token * row_stride + head * HEAD_DIM
    xa = tl.load(base + first).to(tl.float32)
    xb = tl.load(base + second).to(tl.float32)
    if head < num_heads_q:
        wa = tl.load(q_weight_ptr + first).to(tl.float32)
        wb = tl.load(q_weight_ptr + second).to(tl.float32)
    else:
        wa = tl.load(k_weight_ptr + first).to(tl.float32)
        wb = tl.load(k_weight_ptr + second).to(tl.float32)

    mean = tl.sum(xa * xa + xb * xb, axis=0) / HEAD_DIM
    root = tl.sqrt_rn(mean + eps)
    ya = tl.div_rn(xa, root) * wa
    yb = tl.div_rn(xb, root) * wb

    position = tl.load(position_ptr + token)
    c = tl.load(cache_ptr + position * cache_stride + i).to(tl.float32)
    s = tl.load(cache_ptr + position * cache_stride + HALF + i).to(tl.float32)
    ra, rb = _rotate(ya, yb, c, s)
    tl.store(base + first, ra.to(qkv_ptr.dtype.element_ty))
    tl.store(base + second, rb.to(qkv_ptr.dtype.element_ty))


def fused_qk_norm_rope(
    qkv,
    num_heads_q,
    num_heads_k,
    num_heads_v,
    head_dim,
    eps,
    q_weight,
    k_weight,
    cos_sin_cache,
    is_neox,
    position_ids,
):
    tokens = qkv.shape[0]
    heads = num_heads_q + num_heads_k
    if tokens == 0 or heads == 0:
        return
    assert qkv.shape[1] == (heads + num_heads_v) * head_dim
    _qk_norm_rope_kernel[(tokens, heads)](
        qkv,
        q_weight,
        k_weight,
        cos_sin_cache,
        position_ids,
        qkv.stride(0),
        cos_sin_cache.stride(0),
        num_heads_q,
        float(eps),
        HEAD_DIM=head_dim,
        IS_NEOX=bool(is_neox),
        num_warps=1,
    )
