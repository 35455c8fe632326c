# SPDX-License-Identifier: MIT
"""Paged caches of keys and values, changed in place and without asking the GPU for a number. What is stored as fp8 bytes is computed in float32 also where float64 tensors are
given, since bytes are compared as they are."""

import torch

FP8_MAX = 448.0


def stored(values, cache, scale):
    """As the cache holds them: fp8 bytes, or the values themselves."""
    if cache.dtype != torch.uint8:
        return values.to(cache.dtype)
    quotient = values.float() / scale.float()
    return quotient.clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn).view(torch.uint8)


def put(cache, block_size, dim, rows_of, slot_mapping):
    """Store rows in their slots. No number goes to the host: tokens without a slot do again what the first one with a slot
    does, or write what is there."""
    tokens = torch.arange(len(slot_mapping), device=slot_mapping.device)
    if not len(tokens):
        return cache
    has_slot = slot_mapping >= 0
    token = torch.where(has_slot, tokens, has_slot.int().argmax())
    slot = slot_mapping[token].clamp(min=0)
    at = (slot // block_size,) + (slice(None),) * (dim - 1) + (slot % block_size,)
    cache[at] = torch.where(has_slot.any(), rows_of(token), cache[at])
    return cache


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    block_size, width = value_cache.shape[3], key_cache.shape[4]
    parts = key.reshape(len(key), key.shape[1], key.shape[2] // width, width)
    put(key_cache, block_size, 3, lambda token: stored(parts[token], key_cache, k_scale), slot_mapping)
    put(value_cache, block_size, 3, lambda token: stored(value[token], value_cache, v_scale), slot_mapping)
    return key_cache, value_cache


def reshape_and_cache_flash(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    block_size = key_cache.shape[1]
    put(key_cache, block_size, 1, lambda token: stored(key[token], key_cache, k_scale), slot_mapping)
    put(value_cache, block_size, 1, lambda token: stored(value[token], value_cache, v_scale), slot_mapping)
    return key_cache, value_cache


def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale):
    rows = torch.cat([kv_c, k_pe], dim=-1)
    return put(kv_cache, kv_cache.shape[1], 1, lambda token: stored(rows[token], kv_cache, scale), slot_mapping)


def copied(cache, block_mapping):
    cache[block_mapping[:, 1]] = cache[block_mapping[:, 0]]
    return cache


def copy_blocks(key_caches, value_caches, block_mapping):
    return [copied(cache, block_mapping) for cache in key_caches + value_caches]


def copy_blocks_mla(kv_caches, block_mapping):
    return [copied(cache, block_mapping) for cache in kv_caches]


def swap_blocks(src, dst, block_mapping):
    dst[block_mapping[:, 1]] = src[block_mapping[:, 0]]
    return dst


def owners(cu_seq_lens, n):
    """For n rows: (the sequence of each, its number in it, whether it belongs to one)."""
    bounds, rows = cu_seq_lens.long(), torch.arange(n, device=cu_seq_lens.device)
    sequence = torch.searchsorted(bounds[1:].contiguous(), rows, right=True)
    is_used = rows < bounds[-1]
    sequence = torch.where(is_used, sequence, 0)
    return sequence, torch.where(is_used, rows - bounds[sequence], 0), is_used


def chosen(is_used, rows, others):
    return torch.where(is_used.reshape(-1, *[1] * (rows.dim() - 1)), rows, others)


def cp_gather_cache(src_cache, dst, block_table, cu_seq_lens, batch_size, seq_starts):
    block_size = src_cache.shape[1]
    sequence, at, is_used = owners(cu_seq_lens, len(dst))
    if seq_starts is not None:
        at = at + seq_starts.long()[sequence]
    rows = src_cache[block_table[sequence, at // block_size].long(), at % block_size]
    return dst.copy_(chosen(is_used, rows, dst))


def gather_and_maybe_dequant_cache(src_cache, dst, block_table, cu_seq_lens, token_to_seq, num_tokens, kv_cache_dtype,
                                   scale, seq_starts):
    block_size = src_cache.shape[1]
    tokens = torch.arange(num_tokens, device=dst.device)
    sequences = token_to_seq[:num_tokens].long()
    at = tokens - cu_seq_lens.long()[sequences]
    first = seq_starts.long()[sequences] // block_size if seq_starts is not None else 0
    rows = src_cache[block_table[sequences, first + at // block_size].long(), at % block_size]
    if src_cache.dtype == torch.uint8:
        rows = rows.view(torch.float8_e4m3fn).to(scale.dtype) * scale
    dst[:num_tokens] = rows.reshape(num_tokens, *dst.shape[1:]).to(dst.dtype)
    return dst


def cp_gather_indexer_k_quant_cache(kv_cache, dst_k, dst_scale, block_table, cu_seq_lens):
    blocks, block_size, _ = kv_cache.shape
    width, scales = dst_k.shape[1], dst_scale.shape[1]
    flat = kv_cache.reshape(blocks, -1)
    keys = flat[:, :block_size * width].reshape(blocks, block_size, width)
    of_keys = flat[:, block_size * width:].reshape(blocks, block_size, scales)
    sequence, at, is_used = owners(cu_seq_lens, len(dst_k))
    block = block_table[sequence, at // block_size].long()
    dst_k.copy_(chosen(is_used, keys[block, at % block_size], dst_k))
    dst_scale.copy_(chosen(is_used, of_keys[block, at % block_size], dst_scale))
    return dst_k, dst_scale
