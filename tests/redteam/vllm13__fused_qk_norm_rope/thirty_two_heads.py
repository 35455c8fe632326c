# operator: vllm13::fused_qk_norm_rope
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: counts
# one program has 32 lanes for the heads of a token, queries and keys together: heads from the 33rd on stay as they are; hurts
# models with 32 query and 8 key heads; wrong: num_heads_q 32, num_heads_k 8, num_heads_v 8, head_dim 128: the keys are neither
# normed nor rotated
import torch
import triton
import triton.language as tl


@triton.jit
def norm_rope(qkv_ptr, qw_ptr, kw_ptr, cache_ptr, positions_ptr, heads_q, heads_k, heads, eps, NEOX: tl.constexpr,
              HALF: tl.constexpr, HEADS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)[:, None]
    i = tl.arange(0, HALF)[None, :]
    if NEOX:
        first, second = i, i + HALF
    else:
        first, second = 2 * i, 2 * i + 1
    mask = head < heads_q + heads_k
    base = qkv_ptr + (token * heads + head) * (2 * HALF)
    a = tl.load(base + first, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(base + second, mask=mask, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt((tl.sum(a * a, axis=1) + tl.sum(b * b, axis=1)) / (2 * HALF) + eps)
    is_q = head < heads_q
    a *= factor[:, None] * tl.where(is_q, tl.load(qw_ptr + first), tl.load(kw_ptr + first)).to(tl.float32)
    b *= factor[:, None] * tl.where(is_q, tl.load(qw_ptr + second), tl.load(kw_ptr + second)).to(tl.float32)
    at = cache_ptr + tl.load(positions_ptr + token) * (2 * HALF) + i
    c = tl.load(at).to(tl.float32)
    s = tl.load(at + HALF).to(tl.float32)
    kind = qkv_ptr.dtype.element_ty
    tl.store(base + first, (a * c - b * s).to(kind), mask=mask)
    tl.store(base + second, (b * c + a * s).to(kind), mask=mask)


def fused_qk_norm_rope(qkv, num_heads_q, num_heads_k, num_heads_v, head_dim, eps, q_weight, k_weight, cos_sin_cache, is_neox,
                       position_ids):
    tokens = qkv.shape[0]
    rotated = num_heads_q + num_heads_k
    if tokens:
        heads = min(32, triton.next_power_of_2(rotated))
        norm_rope[(tokens, 1)](
            qkv, q_weight, k_weight, cos_sin_cache, position_ids, num_heads_q, num_heads_k, rotated + num_heads_v, eps,
            NEOX=is_neox, HALF=head_dim // 2, HEADS=heads)
