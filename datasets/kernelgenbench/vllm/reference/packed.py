# SPDX-License-Identifier: MIT
"""Weights of 4 and 8 bits in words of 32, as GPTQ, AWQ and the Marlin kernels store them, and products with them.
Given float64 tensors nothing is rounded."""

import torch

EXLLAMA = (0, 2, 4, 6, 1, 3, 5, 7)  # which field of 4 bits of a word comes n-th, lowest bits first
AWQ = {4: (0, 4, 1, 5, 2, 6, 3, 7), 8: (0, 2, 1, 3)}  # at which field column n of a word lies


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def fields(words, bits, dim):
    """Unsigned fields of int32 words, the lowest bits first, spread along `dim`, as int64."""
    wide_words = words.long() & 0xffffffff
    parts = [(wide_words >> bits * i) & ((1 << bits) - 1) for i in range(32 // bits)]
    return torch.stack(parts, dim=dim + 1).flatten(dim, dim + 1)


def words_of(values, bits):
    """int32 words out of the fields along the last dimension."""
    packed = sum(values[..., i] << bits * i for i in range(32 // bits))
    return torch.where(packed >= 1 << 31, packed - (1 << 32), packed).to(torch.int32)


def gptq_shuffle(q_weight, q_perm, bit):
    values = fields(q_weight, bit, 0)
    if q_perm.numel():
        values = values[q_perm.long()]
    groups = values.reshape(q_weight.shape[0], 32 // bit, -1).transpose(1, 2)
    return words_of(groups[..., list(EXLLAMA)] if bit == 4 else groups, bit)


def marlin_places(bits, device):
    """(rows, columns) within a tile of 16 x 64 of the fields of each of its words, in the words' order."""
    pack = 32 // bits
    order = EXLLAMA if bits == 4 else (0, 2, 1, 3)
    rows, columns = [], []
    for thread in range(32):
        for warp in range(4):
            n = 16 * warp + thread // 4
            k = [thread % 4 * 2 + step for step in (0, 1, 8, 9)]
            places = [(row, n) for row in k] + [(row, n + 8) for row in k]
            for part in range(8 // pack):
                chosen = [places[part * pack + i] for i in order[:pack]]
                rows.append([row for row, _ in chosen])
                columns.append([column for _, column in chosen])
    return torch.tensor(rows, device=device), torch.tensor(columns, device=device)


def marlin_words(values, bits):
    """(K, N) unsigned values -> (K / 16, N * bits / 2) words, tile by tile."""
    size_k, size_n = values.shape
    rows, columns = marlin_places(bits, values.device)
    tiles = values.reshape(size_k // 16, 16, size_n // 64, 64).transpose(1, 2)
    return words_of(tiles[:, :, rows, columns], bits).reshape(size_k // 16, size_n * bits // 2)


def marlin_values(words, bits, size_k, size_n):
    """The inverse."""
    rows, columns = marlin_places(bits, words.device)
    packed = fields(words.reshape(-1, 1), bits, 1).reshape(size_k // 16, size_n // 64, len(rows), 32 // bits)
    tiles = torch.zeros(size_k // 16, size_n // 64, 16, 64, dtype=torch.int64, device=words.device)
    tiles[:, :, rows, columns] = packed
    return tiles.transpose(1, 2).reshape(size_k, size_n)


def gptq_marlin_moe_repack(b_q_weight, perm, size_k, size_n, num_bits, is_a_8bit):
    experts = []
    for expert in range(b_q_weight.shape[0]):
        values = fields(b_q_weight[expert], num_bits, 0)
        if perm.numel():
            values = values[perm[expert].long()]
        experts.append(marlin_words(values, num_bits))
    return torch.stack(experts)


def awq_columns(words, bits):
    return fields(words, bits, 1).reshape(words.shape[0], -1, 32 // bits)[..., list(AWQ[bits])].flatten(1)


def awq_marlin_moe_repack(b_q_weight, perm, size_k, size_n, num_bits, is_a_8bit):
    return torch.stack([marlin_words(awq_columns(words, num_bits), num_bits) for words in b_q_weight])


# ---- products: the second function of each pair gives the sizes of the terms ----


def product(a, weights):
    """Of weights rounded to the type of a, as vLLM's kernels round them before they multiply; the sums are wide."""
    return (wide(a) @ weights.to(a.dtype).to(wide(a).dtype)).to(a.dtype)


def by_group(scales, size_k):
    return scales.repeat_interleave(size_k // scales.shape[0], dim=0)


def awq_weights(qweight, scales, qzeros):
    size_k = qweight.shape[0]
    values = awq_columns(qweight, 4) - by_group(awq_columns(qzeros, 4), size_k)
    return values * by_group(wide(scales), size_k)


def awq_gemm(input, qweight, scales, qzeros, split_k_iters):
    return product(input, awq_weights(qweight, scales, qzeros))


def awq_gemm_terms(input, qweight, scales, qzeros, split_k_iters):
    return product(input.abs(), awq_weights(qweight, scales, qzeros).abs())


def gptq_weights(b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    values = fields(b_q_weight, bit, 0)
    size_k = values.shape[0]
    if use_exllama and bit == 4:
        back = [EXLLAMA.index(i) for i in range(8)]
        values = values.reshape(size_k // 8, 8, -1)[:, back].flatten(0, 1)
    zeros = fields(b_gptq_qzeros, bit, 1) + (0 if use_v2_format else 1)
    groups = torch.arange(size_k, device=values.device) // (size_k // zeros.shape[0])
    if b_g_idx.numel() and not use_exllama:
        groups = b_g_idx.long()
    return (values - zeros[groups]) * wide(b_gptq_scales)[groups]


def gptq_inputs(a, b_g_idx, use_exllama):
    return a[:, b_g_idx.long()] if use_exllama and b_g_idx.numel() else a


def gptq_gemm(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    weights = gptq_weights(b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit)
    return product(gptq_inputs(a, b_g_idx, use_exllama), weights)


def gptq_gemm_terms(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    weights = gptq_weights(b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit)
    return product(gptq_inputs(a, b_g_idx, use_exllama).abs(), weights.abs())


def marlin_scales(stored):
    """Scales in the order of columns: with several groups chunks of 64 are transposed as 8 x 8, with one group chunks of 32
    are ordered otherwise."""
    groups, size_n = stored.shape
    if groups > 1:
        return stored.reshape(groups, size_n // 64, 8, 8).transpose(2, 3).reshape(groups, size_n)
    order = [2 * i + j for i in range(4) for j in (0, 1, 8, 9, 16, 17, 24, 25)]
    back = [order.index(i) for i in range(32)]
    return stored.reshape(1, size_n // 32, 32)[..., back].reshape(1, size_n)


def marlin_weights(b_q_weight, b_scales, g_idx, b_q_type, size_n, size_k):
    bits, offset = {"uint4b8": (4, 8), "uint8b128": (8, 128)}[b_q_type]
    scales = marlin_scales(wide(b_scales))
    scales = scales[g_idx.long()] if g_idx.numel() else by_group(scales, size_k)
    return (marlin_values(b_q_weight, bits, size_k, size_n) - offset) * scales


def gptq_marlin_gemm(a, c, b_q_weight, b_bias, b_scales, a_scales, global_scale, b_zeros, g_idx, perm, workspace,
                     b_q_type, size_m, size_n, size_k, *flags):
    inputs = a[:, perm.long()] if perm.numel() else a
    return product(inputs, marlin_weights(b_q_weight, b_scales, g_idx, b_q_type, size_n, size_k))


def gptq_marlin_gemm_terms(a, c, b_q_weight, b_bias, b_scales, a_scales, global_scale, b_zeros, g_idx, perm, workspace,
                           b_q_type, size_m, size_n, size_k, *flags):
    inputs = a[:, perm.long()] if perm.numel() else a
    return product(inputs.abs(), marlin_weights(b_q_weight, b_scales, g_idx, b_q_type, size_n, size_k).abs())


def sparse_places(size_k, size_n, device):
    """Where in b_meta's memory the word of 16 bits for row n and columns 16 * c .. of the transposed weights lies."""
    n = torch.arange(size_n, device=device).unsqueeze(1).expand(-1, size_k // 16)
    c = torch.arange(size_k // 16, device=device).expand(size_n, -1)
    row = n // 64 * 64 + n % 2 * 2 + n % 8 // 4 + n % 4 // 2 * 32 + n % 64 // 8 * 4
    swap = (row % 2 == 0).long() * (c % 2) - (row % 2) * (c % 2 == 0).long()
    row, c = row + swap, c - swap
    return c // 2 * 2 * size_n + row * 2 + c % 2


def sparse_words_places(device):
    """(rows, columns) within 16 x 64 compressed values of the 8 fields of each word, in the words' order."""
    places = []
    for i in range(32):
        base = []
        for block in (0, 1):
            for row in (2 * (i % 4), 2 * (i % 4) + 1, 2 * (i % 4 + 4), 2 * (i % 4 + 4) + 1):
                base.append(16 * row + i // 4 // 2 * 256 + 8 * (i // 4 % 2) + 4 * block)
        for j in range(4):
            places += [[base[k] + j for k in EXLLAMA]]
    return torch.tensor(places, device=device)


def sparse_weights(b_q_weight, b_meta, b_scales, size_n, size_k):
    half = size_k // 2
    packed = fields(b_q_weight.reshape(-1, 1), 4, 1).reshape(half // 16, -1, 128, 8)
    flat = torch.zeros(half // 16, packed.shape[1], 1024, dtype=torch.int64, device=b_q_weight.device)
    flat[:, :, sparse_words_places(b_q_weight.device)] = packed
    values = flat.reshape(half // 16, size_n // 16, 16, 16).transpose(1, 2).reshape(half, size_n) - 8
    meta = b_meta.reshape(-1)[sparse_places(size_k, size_n, b_meta.device)].long() & 0xffff
    pairs = torch.stack([(meta >> 2 * i) & 3 for i in range(8)], dim=-1).reshape(size_n, half)
    rows = torch.arange(half, device=meta.device) // 2 * 4 + pairs
    dense = torch.zeros(size_n, size_k, dtype=torch.int64, device=meta.device)
    dense.scatter_(1, rows, values.t().contiguous())
    return dense.t() * by_group(sparse_scales(wide(b_scales), size_k), size_k)


def sparse_scales(stored, size_k):
    groups, size_n = stored.shape
    if groups == 1:
        return stored
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    back = [order.index(i) for i in range(8)]
    return stored.reshape(groups, size_n // 8, 8)[..., back].reshape(groups, size_n)


def gptq_marlin_24_gemm(a, b_q_weight, b_meta, b_scales, workspace, b_q_type, size_m, size_n, size_k):
    return product(a, sparse_weights(b_q_weight, b_meta, b_scales, size_n, size_k))


def gptq_marlin_24_gemm_terms(a, b_q_weight, b_meta, b_scales, workspace, b_q_type, size_m, size_n, size_k):
    return product(a.abs(), sparse_weights(b_q_weight, b_meta, b_scales, size_n, size_k).abs())


def allspark_weights(b_qweight, b_scales, n, size_k):
    """Bytes of tiles of 32 columns and 16 rows."""
    padded = b_scales.shape[1]
    k = torch.arange(size_k, device=b_qweight.device).unsqueeze(1)
    column = torch.arange(n, device=b_qweight.device).unsqueeze(0)
    row = column // 32 * 8 + column % 8
    byte = (k // 16 * 64 + k % 8 // 2 * 16 + column % 32 // 16 * 8 + column % 16 // 8 * 4 + k % 16 // 8 * 2 + k % 2)
    values = b_qweight.reshape(padded // 4, 4 * size_k)[row, byte].long() - 128
    at = torch.arange(n, device=b_qweight.device)
    return values * wide(b_scales)[:, at // 32 * 32 + at % 8 * 4 + at % 32 // 8]


def allspark_w8a16_gemm(a, b_qweight, b_scales, b_qzeros, n, *more):
    return product(a, allspark_weights(b_qweight, b_scales, n, a.shape[1]))


def allspark_w8a16_gemm_terms(a, b_qweight, b_scales, b_qzeros, n, *more):
    return product(a.abs(), allspark_weights(b_qweight, b_scales, n, a.shape[1]).abs())


def sums(a, b):
    """Exact for int8; in float64, which has no name for integers that large on a GPU."""
    return a.double() @ b.double()


def cutlass_scaled_mm(a, b, scale_a, scale_b, out_dtype, bias):
    total = sums(a, b).to(scale_a.dtype)
    result = scale_a * (scale_b * total)
    if bias is not None:
        result = result + bias.to(result.dtype)
    return result.to(out_dtype)


def cutlass_scaled_mm_terms(a, b, scale_a, scale_b, out_dtype, bias):
    return cutlass_scaled_mm(a.double().abs(), b.double().abs(), scale_a.abs(), scale_b.abs(), out_dtype,
                             bias.abs() if bias is not None else None)


def cutlass_scaled_mm_azp(a, b, scale_a, scale_b, out_dtype, azp_adj, azp, bias):
    total = sums(a, b) - (azp_adj if azp is None else azp * azp_adj).double()
    result = scale_a * (scale_b * total.to(scale_a.dtype))
    if bias is not None:
        result = result + bias.to(result.dtype)
    return result.to(out_dtype)


def cutlass_scaled_mm_azp_terms(a, b, scale_a, scale_b, out_dtype, azp_adj, azp, bias):
    total = sums(a.double().abs(), b.double().abs()) + (azp_adj if azp is None else azp * azp_adj).double().abs()
    result = scale_a.abs() * scale_b.abs() * total
    return result + bias.abs() if bias is not None else result
