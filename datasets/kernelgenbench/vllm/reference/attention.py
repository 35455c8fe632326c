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
    result = merge_attn_states(output, prefix_output.abs(), prefix_lse, suffix_output.abs(), suffix_lse, output_lse)
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
    """A bound on what an exponential turns into a relative error. Keys of no token may be NaN."""
    return 1 + query.abs().amax() * key_cache.nan_to_num(0).abs().amax() * abs(scale) * query.shape[-1] ** 0.5


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


class Rows:
    """All rows of blocks of all heads side by side, each in its own step of the walk through two lists."""

    def __init__(self, q_seqlens, kv_seqlens, vertical, slash, n_rows, block_m, block_n, causal):
        batch, heads, self.n_v = vertical.shape
        self.n_s, self.block_m, self.block_n, self.causal = slash.shape[2], block_m, block_n, causal
        lanes, device = batch * heads * n_rows, slash.device
        self.vertical = vertical.long().reshape(-1, 1, self.n_v).expand(-1, n_rows, -1).reshape(lanes, self.n_v)
        self.slash = slash.long().reshape(-1, 1, self.n_s).expand(-1, n_rows, -1).reshape(lanes, self.n_s)
        by_lane = (lambda lens: lens.long().reshape(-1, 1).expand(-1, heads * n_rows).reshape(-1))
        q, self.kv = by_lane(q_seqlens), by_lane(kv_seqlens)
        self.start = (torch.arange(n_rows, device=device) * block_m).repeat(batch * heads)
        self.live = self.start < q
        self.shift = (self.kv - q if causal else self.kv) + self.start + block_m  # where slash 0 ends
        self.lane = torch.arange(lanes, device=device)
        zeros = torch.zeros(lanes, dtype=torch.long, device=device)
        self.n_blocks, self.n_columns, self.v, self.s = zeros, zeros, zeros + 1, zeros + 1
        self.blocks = torch.zeros(lanes, self.n_s + 1, dtype=torch.int32, device=device)
        self.columns = torch.zeros(lanes, self.n_v + 1, dtype=torch.int32, device=device)
        self.v_at, self.s_at = self.vertical[:, 0], self.slash[:, 0]

    def next_slash(self):
        return self.slash[self.lane, self.s.clamp(max=self.n_s - 1)]

    def add_column(self, which):
        """The place behind the last one takes what is not to be kept."""
        self.columns[self.lane, torch.where(which, self.n_columns, self.n_v)] = self.v_at.to(torch.int32)
        self.n_columns = self.n_columns + which.long()

    def save(self, which, first, end):
        end = torch.minimum(end, self.kv)
        which = which & (first < self.kv)
        at = first
        while bool((which & (at < end)).any()):
            now = which & (at < end)
            self.blocks[self.lane, torch.where(now, self.n_blocks, self.n_s)] = at.to(torch.int32)
            self.n_blocks = self.n_blocks + now.long()
            at = at + self.block_n

    def begin(self):
        for _ in range(self.n_s):
            skipped = (self.s_at >= self.shift) & (self.s < self.n_s)
            if not bool(skipped.any()):
                break
            self.s_at = torch.where(skipped, self.next_slash(), self.s_at)
            self.s = self.s + skipped.long()
        none = self.s_at > self.shift
        end = (self.shift - self.s_at).clamp(min=self.block_m)
        rest = self.shift if self.causal else self.kv
        self.first = torch.where(none, rest, end - self.block_m)
        self.end = torch.where(none, rest + self.block_n, end)

    def step(self):
        inside = self.live & (self.v_at < self.end)
        outside = self.live & ~inside
        self.add_column(inside & (self.v_at < self.first))
        more = self.vertical[self.lane, self.v.clamp(max=self.n_v - 1)]
        is_more = self.v < self.n_v
        self.v_at = torch.where(inside, torch.where(is_more, more, self.shift + self.block_n), self.v_at)
        self.v = self.v + (inside & is_more).long()
        slash = outside & (self.s < self.n_s)
        if not self.causal:
            slash = slash & (self.next_slash() >= self.start)
        over = outside & ~slash
        ends = over if self.causal else over & (self.v == self.n_v)
        if not self.causal:
            self.add_column(ends & (self.v_at < self.kv))
        end = (self.shift - self.next_slash()).clamp(min=self.block_m)
        self.s = self.s + slash.long()
        jump = slash & (end > self.end + self.block_m)
        self.save(over | jump, self.first, self.end)
        grow = slash & ~jump & (end > self.end)
        waits = over & ~ends  # only columns are left
        self.first = torch.where(jump, end - self.block_m, torch.where(waits, self.kv, self.first))
        self.end = torch.where(jump, end, torch.where(grow, self.end + self.block_m, self.end))
        self.end = torch.where(waits, self.kv + self.block_n, self.end)
        self.live = self.live & ~ends


def convert_vertical_slash_indexes(q_seqlens, kv_seqlens, vertical_indexes, slash_indexes, context_size, block_size_M,
                                   block_size_N, causal):
    batch, heads, n_v = vertical_indexes.shape
    n_rows = -(-context_size // block_size_M)
    rows = Rows(q_seqlens, kv_seqlens, vertical_indexes, slash_indexes, n_rows, block_size_M, block_size_N, causal)
    rows.begin()
    # Each step takes an entry of a list, begins to wait or ends; columns that lie far behind the end are waited for in vain.
    for _ in range(rows.n_v + rows.n_s + 3):
        if not bool(rows.live.any()):
            break
        rows.step()
    sizes = (batch, heads, n_rows)
    return (rows.n_blocks.to(torch.int32).reshape(sizes), rows.blocks[:, :-1].reshape(*sizes, -1).contiguous(),
            rows.n_columns.to(torch.int32).reshape(sizes), rows.columns[:, :-1].reshape(*sizes, -1).contiguous())
