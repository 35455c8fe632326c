# SPDX-License-Identifier: MIT
"""What vLLM does around and in attention. Given float64 tensors everything happens in float64."""

import math

import torch


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def turn(x, positions, head_size, cos_sin_cache, is_neox, combine):
    """`combine(a, b, cos, sin)` over the pairs of the first elements of every head."""
    n = cos_sin_cache.shape[-1]
    cos, sin = cos_sin_cache[positions.flatten()].unsqueeze(1).chunk(2, dim=-1)
    tokens = positions.numel()
    heads = x.reshape(tokens, x.numel() // max(tokens * head_size, 1), head_size)
    part = heads[..., :n]
    a, b = part.chunk(2, dim=-1) if is_neox else (part[..., ::2], part[..., 1::2])
    turned = combine(a, b, cos, sin)
    turned = torch.cat(turned, dim=-1) if is_neox else torch.stack(turned, dim=-1).flatten(-2)
    return torch.cat([turned, heads[..., n:]], dim=-1).reshape(x.shape)


def rotate(a, b, cos, sin):
    """Each product is rounded to the tensors' type, as vLLM does."""
    return a * cos - b * sin, b * cos + a * sin


def rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox):
    query = turn(query, positions, head_size, cos_sin_cache, is_neox, rotate)
    if key is None:
        return query
    return query, turn(key, positions, head_size, cos_sin_cache, is_neox, rotate)


def rotary_embedding_terms(positions, query, key, head_size, cos_sin_cache, is_neox):
    def sizes(a, b, cos, sin):
        return a * cos + b * sin, b * cos + a * sin

    query = turn(query.abs(), positions, head_size, cos_sin_cache.abs(), is_neox, sizes)
    if key is None:
        return query
    return query, turn(key.abs(), positions, head_size, cos_sin_cache.abs(), is_neox, sizes)


def merge_attn_states(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse):
    low = torch.tensor(-math.inf, dtype=prefix_lse.dtype, device=prefix_lse.device)
    p = torch.where(prefix_lse == math.inf, low, prefix_lse)
    s = torch.where(suffix_lse == math.inf, low, suffix_lse)
    most = torch.maximum(p, s)
    nothing = most == -math.inf  # on either side
    a, b = (torch.where(nothing, 0, torch.exp(part - most)) for part in (p, s))
    weights = [(part / (a + b)).transpose(0, 1).unsqueeze(-1) for part in (a, b)]
    merged = (wide(prefix_output) * weights[0] + wide(suffix_output) * weights[1]).to(output.dtype)
    merged = torch.where(nothing.transpose(0, 1).unsqueeze(-1), prefix_output, merged)
    return merged if output_lse is None else (merged, torch.log(a + b) + most)


def merge_attn_states_terms(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse):
    """exp turns the rounding of its argument, the distance from the larger one, into a relative error as large as that."""
    most = torch.maximum(prefix_lse, suffix_lse)
    sizes = [torch.nan_to_num(1 + most - lse, nan=1.0, posinf=1.0).transpose(0, 1).unsqueeze(-1) * part.abs()
             for lse, part in ((prefix_lse, prefix_output), (suffix_lse, suffix_output))]
    result = merge_attn_states(output, sizes[0], prefix_lse, sizes[1], suffix_lse, output_lse)
    if output_lse is None:
        return result
    sizes = 1 + torch.maximum(prefix_lse.abs(), suffix_lse.abs())
    return result[0], sizes


def gathered(query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, alibi_slopes):
    """Logits (sequences, heads, tokens), -infinity behind a sequence's end, and values (sequences, tokens, kv heads, size);
    tokens are those of all blocks in the tables."""
    sequences, heads, size = query.shape
    blocks = block_tables.long()
    key = key_cache[blocks].permute(0, 1, 4, 2, 3, 5).reshape(sequences, -1, num_kv_heads, size)
    value = value_cache[blocks].permute(0, 1, 4, 2, 3).reshape(sequences, -1, num_kv_heads, size)
    grouped = wide(query).reshape(sequences, num_kv_heads, heads // num_kv_heads, size)
    logits = scale * torch.einsum("sgqd,stgd->sgqt", grouped, wide(key)).reshape(sequences, heads, -1)
    token, last = torch.arange(logits.shape[2], device=query.device), seq_lens.long().reshape(-1, 1, 1) - 1
    if alibi_slopes is not None:
        logits = logits + alibi_slopes.to(logits.dtype).reshape(1, -1, 1) * (token - last)
    is_behind = token > last
    used = (token <= last.reshape(-1, 1)).reshape(sequences, -1, 1, 1)
    return logits.masked_fill(is_behind, -math.inf), torch.where(used, wide(value), 0)


def attended(shares, value):
    """Shares (sequences, heads, tokens) of values (sequences, tokens, kv heads, size)."""
    sequences, heads, tokens = shares.shape
    grouped = shares.reshape(sequences, value.shape[2], heads // value.shape[2], tokens)
    return torch.einsum("sgqt,stgd->sgqd", grouped, value).reshape(sequences, heads, -1)


def paged_attention_v1(query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, block_size,
                       max_seq_len, alibi_slopes, kv_cache_dtype, k_scale, v_scale, *unused):
    logits, value = gathered(query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, alibi_slopes)
    return attended(torch.softmax(logits, dim=-1), value).to(query.dtype)


def largest_logit(query, key_cache, scale):
    """A bound on what an exponential turns into a relative error. Keys of no token, and special numbers, may be NaN."""
    return 1 + query.abs().amax() * key_cache.abs().amax() * abs(scale) * query.shape[-1] ** 0.5


def paged_attention_v1_terms(query, key_cache, value_cache, num_kv_heads, scale, *more):
    sizes = paged_attention_v1(query, key_cache, value_cache.abs(), num_kv_heads, scale, *more)
    return sizes * largest_logit(query, key_cache, scale)


PARTITION = 512


def paged_attention_v2(exp_sum, max_logits, tmp_out, query, key_cache, value_cache, num_kv_heads, scale, block_tables,
                       seq_lens, block_size, max_seq_len, alibi_slopes, kv_cache_dtype, k_scale, v_scale, *unused):
    logits, value = gathered(query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, alibi_slopes)
    result = attended(torch.softmax(logits, dim=-1), value).to(query.dtype)
    for j in range(exp_sum.shape[2]):
        part, own = logits[:, :, PARTITION * j:PARTITION * (j + 1)], value[:, PARTITION * j:PARTITION * (j + 1)]
        has_token = (seq_lens > PARTITION * j).reshape(-1, 1)
        most = part.amax(dim=-1)
        total = torch.exp(part - most.unsqueeze(-1)).sum(dim=-1)
        partial = attended(torch.softmax(part, dim=-1), own).to(tmp_out.dtype)
        max_logits[:, :, j] = torch.where(has_token, most, max_logits[:, :, j])
        exp_sum[:, :, j] = torch.where(has_token, total, exp_sum[:, :, j])
        tmp_out[:, :, j] = torch.where(has_token.unsqueeze(-1), partial, tmp_out[:, :, j])
    return result, exp_sum, max_logits, tmp_out


def paged_attention_v2_terms(exp_sum, max_logits, tmp_out, query, key_cache, value_cache, num_kv_heads, scale, *more):
    sizes = paged_attention_v2(exp_sum.abs(), max_logits.abs(), tmp_out.abs(), query, key_cache, value_cache.abs(),
                               num_kv_heads, scale, *more)
    most = largest_logit(query, key_cache, scale)
    return sizes[0] * most, sizes[1].abs() * most, sizes[2].abs() + most, sizes[3].abs() * most


def walk_slashes(slash, top, first_used, n_used, block_m, block_n, rest):
    """What blocks the diagonals of all rows of blocks cover, row by row: (low, high, ends), each of shape (NS + 1, heads, rows).
    Before diagonal t the walk is at the range low[t] to high[t]; ends[t]: t is the last to be there. high never falls."""
    n = slash.shape[1]
    at = torch.arange(n, device=slash.device).reshape(-1, 1, 1)
    begin = slash.gather(1, first_used)
    ends_at = (top - slash.t().unsqueeze(2)).clamp(min=block_m)
    ends_at = torch.where((at > first_used) & (at < n_used), ends_at, 0)  # 0 changes nothing
    own = (top - begin).clamp(min=block_m)
    none = begin > top
    shape = (n + 1, *top.shape)
    low, high, ends = slash.new_empty(shape), slash.new_empty(shape), torch.ones(shape, dtype=torch.bool, device=slash.device)
    low[0], high[0] = torch.where(none, rest, own - block_m), torch.where(none, rest + block_n, own)
    for t in range(n):
        grown = high[t] + block_m
        ends[t] = ends_at[t] > grown
        low[t + 1] = torch.where(ends[t], ends_at[t] - block_m, low[t])
        high[t + 1] = torch.where(ends[t], ends_at[t], torch.where(ends_at[t] > high[t], grown, high[t]))
    return low, high, ends


def compacted(values, keep):
    """(rows, n): the kept values of each row first, zeros behind them; and how many."""
    n = values.shape[1]
    places = torch.where(keep, keep.cumsum(1) - 1, n)
    out = values.new_zeros(len(values), n + 1).scatter_(1, places, values)
    return out[:, :n], keep.sum(1)


def convert_vertical_slash_indexes(q_seqlens, kv_seqlens, vertical_indexes, slash_indexes, context_size, block_size_M,
                                   block_size_N, causal):
    """The walk through both lists that vLLM describes, taken apart: the ranges depend on the diagonals alone, and column v meets
    the first range that ends behind it."""
    batch, heads, n_v = vertical_indexes.shape
    n_s, n_rows, device = slash_indexes.shape[2], -(-context_size // block_size_M), slash_indexes.device
    q, kv = (lens.long().repeat_interleave(heads).unsqueeze(1) for lens in (q_seqlens, kv_seqlens))
    slash = slash_indexes.long().reshape(-1, n_s)
    start = (torch.arange(n_rows, device=device) * block_size_M).expand(batch * heads, -1).contiguous()
    top = start + block_size_M + (kv - q if causal else kv)  # where diagonal 0 ends
    first_used = torch.searchsorted(-slash, -top, right=True).clamp(max=n_s - 1)
    n_used = n_s if causal else torch.searchsorted(-slash, -start, right=True)
    low, high, ends = walk_slashes(slash, top, first_used, n_used, block_size_M, block_size_N,
                                   top if causal else kv.expand(top.shape))
    low, high, ends = (part.flatten(1).t().contiguous() for part in (low, high, ends))
    live, kv = (start < q).reshape(-1, 1), kv.expand(start.shape).reshape(-1, 1)

    n_blocks = (torch.minimum(high, kv) - low + block_size_N - 1) // block_size_N
    n_blocks = torch.where(ends & live, n_blocks.clamp(min=0), 0)
    behind = n_blocks.cumsum(1)
    slot = torch.arange(n_s, device=device).expand(len(behind), -1).contiguous()
    of = torch.searchsorted(behind, slot, right=True).clamp(max=n_s)
    block = low.gather(1, of) + (slot - (behind - n_blocks).gather(1, of)) * block_size_N
    block = torch.where(slot < behind[:, -1:], block, 0)

    column = vertical_indexes.long().reshape(-1, n_v).repeat_interleave(n_rows, dim=0)
    of = torch.searchsorted(high, column, right=True)
    low = torch.cat([low, torch.zeros_like(kv) if causal else kv], dim=1)  # columns behind all ranges
    columns, n_columns = compacted(column, (column < low.gather(1, of)) & live)
    sizes = (batch, heads, n_rows)
    return tuple(part.to(torch.int32).reshape(*sizes, *more) for part, more in (
        (behind[:, -1], ()), (block, (n_s,)), (n_columns, ()), (columns, (n_v,))))
