# SPDX-License-Identifier: MIT
"""Norms that vLLM fuses with an addition, a quantisation or a rotation. Half-precision inputs are widened to float32
and rounded where vLLM rounds; given float64 tensors nothing is rounded, and quantised results are what would be
rounded."""

import torch

FP8_MAX = 448.0


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def root_mean_square(x, epsilon):
    return torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + epsilon)


def fused_add_rms_norm(input, residual, weight, epsilon):
    total = input + residual
    scaled = (wide(total) * root_mean_square(wide(total), epsilon)).to(input.dtype)
    return scaled * weight, total


def normed(input, weight, epsilon, residual):
    """The rounded, normed rows, and the sum with the residual."""
    total = wide(input) if residual is None else wide(input) + wide(residual)
    scaled = (total * root_mean_square(total, epsilon)).to(input.dtype)
    return wide(scaled * weight), total.to(input.dtype)


def divided(x, number):
    """Correctly rounded. On a GPU torch multiplies by the reciprocal when the divisor is a number of Python."""
    return x / x.new_full((), number)


def quantised(rows, scale_ub, quant_dtype):
    """Values and scales of `rows`, whose last dimension shares one scale."""
    most = rows.abs().amax(dim=-1, keepdim=True)
    if scale_ub is not None:
        most = torch.minimum(most, scale_ub.to(most.dtype))
    if quant_dtype == torch.int8:
        scales = divided(most, 127.0).clamp(min=torch.finfo(torch.float32).eps)
        values = (rows * (1.0 / scales)).clamp(-128, 127)
        return (values if rows.dtype == torch.float64 else values.round().to(torch.int8)), scales
    scales = divided(most, FP8_MAX).clamp(min=1.0 / (FP8_MAX * 512.0))
    return (rows / scales).clamp(-FP8_MAX, FP8_MAX).to(quant_dtype), scales


def rms_norm_dynamic_per_token_quant(input, weight, epsilon, quant_dtype, scale_ub, residual):
    rows, total = normed(input, weight, epsilon, residual)
    values, scales = quantised(rows, scale_ub, quant_dtype)
    return (values, scales) if residual is None else (values, scales, total)


def rms_norm_per_block_quant(input, weight, epsilon, quant_dtype, group_size, scale_ub, residual, is_scale_transposed):
    rows, total = normed(input, weight, epsilon, residual)
    groups = rows.reshape(*rows.shape[:-1], rows.shape[-1] // group_size[1], group_size[1])
    values, scales = quantised(groups, scale_ub, quant_dtype)
    values, scales = values.reshape(rows.shape), scales.squeeze(-1)
    if is_scale_transposed:
        scales = scales.mT.contiguous().mT
    return (values, scales) if residual is None else (values, scales, total)


def fused_qk_norm_rope(qkv, num_heads_q, num_heads_k, num_heads_v, head_dim, eps, q_weight, k_weight, cos_sin_cache,
                       is_neox, position_ids):
    heads = wide(qkv).reshape(qkv.shape[0], num_heads_q + num_heads_k + num_heads_v, head_dim)
    n = num_heads_q + num_heads_k
    weight = torch.cat([q_weight.expand(num_heads_q, -1), k_weight.expand(num_heads_k, -1)])
    x = heads[:, :n]
    x = x * root_mean_square(x, eps) * wide(weight)
    cos, sin = wide(cos_sin_cache)[position_ids].unsqueeze(1).chunk(2, dim=-1)
    a, b = x.chunk(2, dim=-1) if is_neox else (x[..., ::2], x[..., 1::2])
    turned = (a * cos - b * sin, b * cos + a * sin)
    turned = torch.cat(turned, dim=-1) if is_neox else torch.stack(turned, dim=-1).flatten(-2)
    return torch.cat([turned, heads[:, n:]], dim=1).reshape(qkv.shape).to(qkv.dtype)


def fused_qk_norm_rope_terms(qkv, num_heads_q, num_heads_k, num_heads_v, head_dim, eps, q_weight, k_weight,
                             cos_sin_cache, is_neox, position_ids):
    """Sizes of the two terms of each rotated element."""
    table = cos_sin_cache.abs()
    ready = qkv.abs()
    heads = ready.reshape(qkv.shape[0], num_heads_q + num_heads_k + num_heads_v, head_dim)
    n = num_heads_q + num_heads_k
    weight = torch.cat([q_weight.expand(num_heads_q, -1), k_weight.expand(num_heads_k, -1)]).abs()
    x = heads[:, :n]
    x = x * root_mean_square(x, eps) * weight
    cos, sin = table[position_ids].unsqueeze(1).chunk(2, dim=-1)
    a, b = x.chunk(2, dim=-1) if is_neox else (x[..., ::2], x[..., 1::2])
    turned = (a * cos + b * sin, b * cos + a * sin)
    turned = torch.cat(turned, dim=-1) if is_neox else torch.stack(turned, dim=-1).flatten(-2)
    return torch.cat([turned, heads[:, n:]], dim=1).reshape(qkv.shape)
