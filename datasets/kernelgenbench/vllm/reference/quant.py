# SPDX-License-Identifier: MIT
"""Conversions of vLLM to and from fp8 and int8. Native results are rounded to the quantised type; given float64 tensors
they are what would be rounded."""

import torch

FP8_MAX = 448.0


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def divided(x, number):
    """Correctly rounded. On a GPU torch multiplies by the reciprocal when the divisor is a number of Python."""
    return x / x.new_full((), number)


def to_fp8(values):
    clamped = values.clamp(-FP8_MAX, FP8_MAX)
    return clamped if values.dtype == torch.float64 else clamped.to(torch.float8_e4m3fn)


def to_int8(values):
    """`values` are to be rounded, unless that was done."""
    if values.dtype == torch.float64:
        return values.clamp(-128, 127)
    return values.round().clamp(-128, 127).to(torch.int8)


def convert_fp8(output, input, scale, kv_dtype):
    """Bytes are compared as they are, so the float64 results are computed as the native ones."""
    if output.dtype == torch.uint8:
        return (input.float() / scale).clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn).view(torch.uint8)
    return (wide(input.view(torch.float8_e4m3fn).to(output.dtype)) * scale).to(output.dtype)


def scaled_fp8_quant(input, scale, num_token_padding, scale_ub, use_per_token_if_dynamic, output=None):
    x = wide(input)
    given = scale is not None
    if not given and use_per_token_if_dynamic:
        most = x.abs().amax(dim=-1, keepdim=True)
        if scale_ub is not None:
            most = torch.minimum(most, scale_ub.to(most.dtype))
        scale = divided(most, FP8_MAX).clamp(min=1.0 / (FP8_MAX * 512.0))
    elif not given:
        scale = divided(x.abs().amax(), FP8_MAX).reshape(1)
    rows = x * (1.0 / scale) if given else x / scale
    if num_token_padding and num_token_padding > rows.shape[0]:
        rows = torch.cat([rows, rows.new_zeros(num_token_padding - rows.shape[0], rows.shape[1])])
    return to_fp8(rows), scale


def int8_static(input, scale, azp, symmetric):
    """The scale and the zero point are returned as they came."""
    x = wide(input)
    if symmetric:
        return to_int8(x / scale), scale
    whole = x / scale if x.dtype == torch.float64 else (x / scale).round()
    return to_int8(whole + azp), scale, azp


def int8_dynamic(input, scale, azp, symmetric):
    x = wide(input)
    if symmetric:
        most = x.abs().amax(dim=-1, keepdim=True)
        factor = torch.where(most == 0, torch.zeros_like(most), 127.0 / most)
        return to_int8(x * factor), divided(most, 127.0)
    low, high = x.amin(dim=-1, keepdim=True), x.amax(dim=-1, keepdim=True)
    scale = divided(high - low, 255.0)
    zero = (-128.0 - low / scale).round()
    whole = x / scale if x.dtype == torch.float64 else (x / scale).round()
    return to_int8(whole + zero), scale, (zero if x.dtype == torch.float64 else zero.to(torch.int32))


def int8_terms(input, scale, azp, symmetric):
    """Sizes of what is added before the rounding: 128 bounds the quotient as well as the zero point."""
    results = (int8_static if scale is not None else int8_dynamic)(input, scale, azp, symmetric)
    sizes = [result.double().abs() for result in results]
    sizes[0] = sizes[0] + (256 if len(sizes) == 3 else 0)
    if len(sizes) == 3:
        sizes[2] = sizes[2] + 256
    return sizes


def cutlass_pack_scale_fp8(scales):
    factors = torch.arange(-8, 0, device=scales.device)
    return to_fp8(wide(scales).reshape(-1, 1) * factors).reshape(-1)


def marlin_int4_fp8_preprocess(qweight, qzeros_or_none, inplace):
    result = torch.zeros_like(qweight)
    for i in range(8):
        field = (qweight >> 4 * i) & 15
        field = torch.where(field >= 8, field - 8, 15 - field)
        result |= field << 4 * i
    return result
