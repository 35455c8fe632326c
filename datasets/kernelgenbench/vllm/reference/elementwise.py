# SPDX-License-Identifier: MIT
"""Small operators of vLLM: one formula each."""

import torch


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def apply_repetition_penalties(logits, prompt_mask, output_mask, repetition_penalties):
    penalty = wide(repetition_penalties).unsqueeze(1)
    values = wide(logits)
    punished = torch.where(values > 0, values / penalty, values * penalty)
    return torch.where(prompt_mask | output_mask, punished, values).to(logits.dtype)


def hadamard(n, like):
    matrix = torch.ones(1, 1, dtype=like.dtype, device=like.device)
    while matrix.shape[0] < n:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0)
    return matrix


def hadacore_transform(x, inplace):
    """Butterflies, log2(n) of them."""
    n = x.shape[-1]
    y, half = wide(x).reshape(-1, n), 1
    while half < n:
        a, b = y.reshape(-1, n // (2 * half), 2, half).unbind(2)
        y = torch.stack([a + b, a - b], dim=2)
        half *= 2
    return (y.reshape(x.shape) / n ** 0.5).to(x.dtype)


def hadacore_terms(x, inplace):
    return (x.abs().sum(dim=-1, keepdim=True) / x.shape[-1] ** 0.5).expand(x.shape)


def permute_cols(a, perm):
    return a[:, perm.long()].contiguous()


def shuffle_rows(input_tensor, dst2src_map):
    return input_tensor[dst2src_map.long()].contiguous()


def moe_sum(input):
    return wide(input).sum(dim=1).to(input.dtype)


def moe_sum_terms(input):
    return input.abs().sum(dim=1)
