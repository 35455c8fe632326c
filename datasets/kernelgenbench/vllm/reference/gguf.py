# SPDX-License-Identifier: MIT
"""Weights in blocks of 32 as GGUF files hold them, and products with activations of 8 bits. The activations' numbers and
scales are made in float32 whatever is given; given float64 tensors sums are in float64."""

import torch

Q4_0, Q5_0, Q8_0 = 2, 6, 8
BYTES = {Q4_0: 18, Q5_0: 22, Q8_0: 34}


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def divided(x, number):
    """Correctly rounded. On a GPU torch multiplies by the reciprocal when the divisor is a number of Python."""
    return x / x.new_full((), number)


def blocks_of(W, quant_type):
    """(scales in float32, int8) of the blocks along the last dimension: (..., blocks) and (..., blocks, 32)."""
    blocks = W.reshape(*W.shape[:-1], W.shape[-1] // BYTES[quant_type], BYTES[quant_type])
    scales = blocks[..., :2].contiguous().view(torch.float16).squeeze(-1).float()
    if quant_type == Q8_0:
        return scales, blocks[..., 2:].contiguous().view(torch.int8)
    nibbles = blocks[..., -16:]
    values = torch.cat([nibbles & 15, nibbles >> 4], dim=-1).to(torch.int8)
    if quant_type == Q4_0:
        return scales, values - 8
    high = blocks[..., 2:6].to(torch.int16)
    bits = torch.stack([(high >> i) & 1 for i in range(8)], dim=-1).flatten(-2)
    return scales, values + 16 * bits.to(torch.int8) - 16


def ggml_dequantize(W, quant_type, m, n, dtype):
    scales, values = blocks_of(W.reshape(m, n // 32 * BYTES[quant_type]), quant_type)
    kind = torch.float64 if dtype == torch.float64 else torch.float32
    return (scales.to(kind).unsqueeze(-1) * values).reshape(m, n).to(dtype)


def rounded_away(x):
    """Halves away from zero. x + 0.5 would round the largest number below a half to 1."""
    whole = torch.trunc(x)
    return whole + torch.where((x - whole).abs() >= 0.5, torch.copysign(torch.ones_like(x), x), torch.zeros_like(x))


def activations(X):
    """(scales, whole numbers, sums) of each 32 in a row; scales and sums are float16 numbers."""
    x = X.float().reshape(*X.shape[:-1], X.shape[-1] // 32, 32)
    d = divided(x.abs().amax(dim=-1), 127.0)
    q = torch.where(d.unsqueeze(-1) == 0, torch.zeros_like(x), rounded_away(x / d.unsqueeze(-1)))
    return d.half().float(), q, x.sum(dim=-1).half().float()


def parts(W, X, quant_type, kind):
    """What each block adds: (weights' scale * (activations' scale * dot - 8 * sum) for Q4_0), as (..., batch, row, blocks)."""
    scales, values = blocks_of(W, quant_type)
    d, q, s = (x.to(kind) for x in activations(X))
    if quant_type == Q4_0:
        values = values + 8
    dots = torch.einsum("...rbi,...xbi->...xrb", values.to(kind), q)
    scales = scales.to(kind).unsqueeze(-3)
    first = scales * (d.unsqueeze(-2) * dots)
    second = scales * (8 * s).unsqueeze(-2) if quant_type == Q4_0 else torch.zeros_like(first)
    return first, second


def ggml_mul_mat_a8(W, X, quant_type, row):
    """One matrix W and one X, or a batch of each."""
    first, second = parts(W, X, quant_type, wide(X).dtype)
    return (first - second).sum(dim=-1).to(X.dtype)


def ggml_mul_mat_a8_terms(W, X, quant_type, row):
    """Of the sums rounded to float16 any one may come out next to where it should: so much is allowed for."""
    first, second = parts(W, X, quant_type, torch.float64)
    return first.abs().sum(dim=-1) + second.abs().sum(dim=-1) + 1024 * second.abs().amax(dim=-1)


def by_expert(function, W, X, experts, rows, quant_type, row):
    """Result i is that of activations rows[i] and expert experts[i]."""
    result = torch.zeros(len(rows), row, dtype=X.dtype, device=X.device)
    for expert in range(W.shape[0]):
        own = torch.nonzero(experts == expert).flatten()
        if len(own):
            result[own] = function(W[expert], X[rows[own]], quant_type, row).to(X.dtype)
    return result


def moe_a8(function, X, W, sorted_token_ids, expert_ids, num_tokens_post_padded, quant_type, row, top_k, tokens):
    places = torch.arange(int(num_tokens_post_padded), device=X.device)
    ids = sorted_token_ids.long()[places]
    places = places[ids < tokens * top_k]
    ids = sorted_token_ids.long()[places]
    experts = torch.zeros(tokens * top_k, dtype=torch.long, device=X.device)
    experts[ids] = expert_ids.long()[places // 4]
    rows = torch.arange(tokens * top_k, device=X.device) // top_k
    return by_expert(function, W, X, experts, rows, quant_type, row)


def ggml_moe_a8(*args):
    return moe_a8(ggml_mul_mat_a8, *args)


def ggml_moe_a8_terms(*args):
    return moe_a8(ggml_mul_mat_a8_terms, *args)


def moe_a8_vec(function, X, W, topk_ids, top_k, quant_type, row, tokens):
    rows = torch.arange(tokens * top_k, device=X.device) // top_k
    return by_expert(function, W, X, topk_ids.long().flatten(), rows, quant_type, row)


def ggml_moe_a8_vec(*args):
    return moe_a8_vec(ggml_mul_mat_a8, *args)


def ggml_moe_a8_vec_terms(*args):
    return moe_a8_vec(ggml_mul_mat_a8_terms, *args)


# ---- the timed functions of experts: the host reads no tensor ----

GROUPS_AT_A_TIME = 16  # the weights of so many are unpacked to float32


def by_group(W, X, experts, rows, quant_type, row):
    """Result (g, i) is the product of activations rows[g, i] and expert experts[g]."""
    return torch.cat([ggml_mul_mat_a8(W[own], X[of], quant_type, row)
                      for own, of in zip(experts.split(GROUPS_AT_A_TIME), rows.split(GROUPS_AT_A_TIME))])


def ggml_moe_a8_by_group(X, W, sorted_token_ids, expert_ids, num_tokens_post_padded, quant_type, row, top_k, tokens):
    places = torch.arange(len(sorted_token_ids), device=X.device)
    count = places < num_tokens_post_padded
    nowhere = tokens * top_k
    ids = torch.where(count, sorted_token_ids.long(), nowhere).clamp(max=nowhere)
    experts = torch.where(count[::4], expert_ids.long(), 0)
    rows = (ids // top_k).clamp(max=tokens - 1)
    result = torch.zeros(nowhere + 1, row, dtype=X.dtype, device=X.device)
    result[ids] = by_group(W, X, experts, rows.view(-1, 4), quant_type, row).flatten(0, 1)
    return result[:nowhere]


def ggml_moe_a8_vec_by_group(X, W, topk_ids, top_k, quant_type, row, tokens):
    rows = torch.arange(tokens * top_k, device=X.device) // top_k
    return by_group(W, X, topk_ids.long().flatten(), rows.view(-1, 1), quant_type, row).squeeze(1)
