# SPDX-License-Identifier: MIT
"""The selective scan of Mamba over sequences of different lengths, step by step."""

import torch
import torch.nn.functional as F


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def scan(u, delta, A, B, C, D, z, bias, softplus, bounds, cache_indices, has_initial_state, states, pad, sizes_only):
    """(y, gated, states) in float32 or float64. `sizes_only` adds up sizes instead of numbers."""
    size = torch.abs if sizes_only else (lambda x: x)
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
        for t in range(first, end):
            own_b, own_c = (x[:, :, t].repeat_interleave(per_group, dim=0) for x in (B, C))
            grown = (step[:, t] * u[:, t]).unsqueeze(1) * own_b
            state = torch.exp(step[:, t].unsqueeze(1) * A) * state + size(grown)
            y[:, t] = (state * size(own_c)).sum(dim=1)
            if D is not None:
                y[:, t] += size(D * u[:, t])
            if z is not None:
                gated[:, t] = y[:, t] * size(F.silu(wide(z)[:, t]))
        states[slot] = state.to(states.dtype)
    return y, gated, states


def selective_scan(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus, query_start_loc, cache_indices,
                   has_initial_state, ssm_states, pad_slot_id, block_size, sizes_only=False):
    y, gated, states = scan(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus, query_start_loc.tolist(),
                            cache_indices, has_initial_state, ssm_states, pad_slot_id, sizes_only)
    y = y.to(delta.dtype)
    return (y, states) if z_ is None else (y, gated.to(z_.dtype), states)


def selective_scan_terms(*args):
    return [x.abs() for x in selective_scan(*args, sizes_only=True)]
