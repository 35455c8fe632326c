# SPDX-License-Identifier: MIT
"""The selective scan of Mamba over sequences of different lengths, step by step."""

import torch
import torch.nn.functional as F


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def gate_size(z):
    """exp turns the rounding of its argument into a relative error as large as the argument."""
    return F.silu(z).abs() * (1 + (-z).clamp(min=0))


def scan(u, delta, A, B, C, D, z, bias, softplus, bounds, cache_indices, has_initial_state, states, pad, sizes_only):
    """(y, gated, states) in float32 or float64. `sizes_only` adds up sizes instead of numbers."""
    size, gate = (torch.abs, gate_size) if sizes_only else (lambda x: x, F.silu)
    u, step, B, C = wide(u), wide(delta), wide(B), wide(C)
    if bias is not None:
        step = step + bias.to(step.dtype).unsqueeze(1)
    if softplus:
        step = torch.where(step <= 20, torch.log1p(torch.exp(step)), step)
    per_group = u.shape[0] // B.shape[0]
    y = wide(delta).clone()
    gated = wide(z).clone() if z is not None else None
    states = states.clone()
    for b in range(len(bounds) - 1):
        first, end = bounds[b], bounds[b + 1]
        slot = int(cache_indices[b]) if cache_indices is not None else b
        if slot == pad or first == end:
            continue
        keeps = has_initial_state is not None and bool(has_initial_state[b])
        state = size(states[slot].to(u.dtype)) if keeps else torch.zeros_like(A, dtype=u.dtype)
        drift = torch.zeros_like(state)  # what the rounding of exponents adds up to, in roundings
        for t in range(first, end):
            own_b, own_c = (x[:, :, t].repeat_interleave(per_group, dim=0) for x in (B, C))
            grown = (step[:, t] * u[:, t]).unsqueeze(1) * own_b
            exponent = step[:, t].unsqueeze(1) * A
            if sizes_only:
                drift = torch.exp(exponent) * (drift + exponent.abs() * state)
            state = torch.exp(exponent) * state + size(grown)
            shown = state + drift if sizes_only else state
            y[:, t] = (shown * size(own_c)).sum(dim=1)
            if D is not None:
                y[:, t] += size(D * u[:, t])
            if z is not None:
                gated[:, t] = y[:, t] * gate(wide(z)[:, t])
        states[slot] = shown.to(states.dtype)
    return y, gated, states


def selective_scan(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus, query_start_loc, cache_indices,
                   has_initial_state, ssm_states, pad_slot_id, block_size, sizes_only=False):
    y, gated, states = scan(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus, query_start_loc.tolist(),
                            cache_indices, has_initial_state, ssm_states, pad_slot_id, sizes_only)
    y = y.to(delta.dtype)
    return (y, states) if z_ is None else (y, gated.to(z_.dtype), states)


def selective_scan_terms(*args):
    return [x.abs() for x in selective_scan(*args, sizes_only=True)]


# ---- the timed function: the host reads no tensor ----

POSITIONS = 64  # so many are prepared at a time


def of_channels(groups, part, channels):
    """(positions, channels, n) of a matrix of each group."""
    return groups[:, :, part].permute(2, 0, 1).float().repeat_interleave(channels // groups.shape[0], dim=1)


def selective_scan_by_position(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus, query_start_loc, cache_indices,
                               has_initial_state, ssm_states, pad_slot_id, block_size):
    channels, length = u.shape
    bounds, slots = query_start_loc.long(), cache_indices.long()
    works = (slots != pad_slot_id) & (bounds[1:] > bounds[:-1])
    own = ssm_states[torch.where(works, slots, 0)]
    states = torch.where((works & has_initial_state)[:, None, None], own, 0.0)
    places = torch.arange(length, device=u.device)
    sequence = torch.searchsorted(bounds, places, right=True) - 1
    begins = places == bounds[sequence]

    step = delta.float() if delta_bias_ is None else delta.float() + delta_bias_.unsqueeze(1)
    if delta_softplus:
        step = F.softplus(step)
    moved = step * u.float()
    y = torch.empty_like(step)
    state = torch.zeros_like(A)
    for first in range(0, length, POSITIONS):
        part = slice(first, min(first + POSITIONS, length))
        decay = torch.exp(step[:, part].T.unsqueeze(2) * A)
        history = moved[:, part].T.unsqueeze(2) * of_channels(B, part, channels)
        starts = states[sequence[part]]
        for i in range(len(history)):
            state = torch.where(begins[first + i], starts[i], state)
            state = history[i].addcmul_(decay[i], state)
        y[:, part] = (history * of_channels(C, part, channels)).sum(dim=2).T
        last = bounds[1:] - 1 - first
        ends = (works & (last >= 0) & (last < len(history)))[:, None, None]
        states = torch.where(ends, history[last.clamp(0, len(history) - 1)], states)
    if D_ is not None:
        y += D_.unsqueeze(1) * u.float()
    y = torch.where(works[sequence], y, delta)
    kept = torch.cat([ssm_states, ssm_states[:1]])
    kept[torch.where(works, slots, len(ssm_states))] = states
    results = (y.to(delta.dtype),)
    if z_ is not None:
        results += (torch.where(works[sequence], y * F.silu(z_.float()), z_).to(z_.dtype),)
    return (*results, kept[:-1])
