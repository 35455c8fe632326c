# SPDX-License-Identifier: MIT
"""Root-mean-square layer norm as vLLM 0.13 defines it: statistics in float32, the scaled row rounded to its type, then
multiplied by the weight. Given float64 tensors everything happens in float64."""

import torch


def rms_norm(input, weight, epsilon):
    wide = input if input.dtype == torch.float64 else input.float()
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + epsilon)
    return (wide * scale).to(input.dtype) * weight
