# operator: vllm13::selective_scan_fwd
# style: one program for a sequence and a tile of channels, state as a two-dimensional register tile, sequential loop over positions with loaded bounds
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _softplus(x):
    return tl.where(x <= 20.0, libdevice.log1p(tl.exp(tl.minimum(x, 20.0))), x)


@triton.jit
def _selective_scan_kernel(
    u_ptr,
    delta_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    z_ptr,
    bias_ptr,
    start_ptr,
    slot_ptr,
    initial_ptr,
    state_ptr,
    dim,
    length,
    n_state,
    channels_per_group,
    pad_slot_id,
    SOFTPLUS: tl.constexpr,
    HAS_D: tl.constexpr,
    HAS_Z: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    seq = tl.program_id(0)
    slot = tl.load(slot_ptr + seq).to(tl.int64)
    begin = tl.load(start_ptr + seq)
    end = tl.load(start_ptr + seq + 1)
    if (slot != pad_slot_id) & (end > begin):
        channel = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
        state = tl.arange(0, BLOCK_N)
        c_mask = channel < dim
        n_mask = state < n_state
        mask = c_mask[:, None] & n_mask[None, :]

        wide = channel.to(tl.int64)
        a = tl.load(a_ptr + wide[:, None] * n_state + state[None, :], mask=mask, other=0.0)
        state_at = state_ptr + (slot * dim + wide[:, None]) * n_state + state[None, :]
        keep = tl.load(initial_ptr + seq) != 0
        s = tl.load(state_at, mask=mask & keep, other=0.0)
        if HAS_D:
            d = tl.load(d_ptr + channel, mask=c_mask, other=0.0)
        if HAS_BIAS:
            bias = tl.load(bias_ptr + channel, mask=c_mask, other=0.0)

        row = wide * length
        group = wide // channels_per_group
        bc_row = (group[:, None] * n_state + state[None, :]) * length
        for t in range(begin, end):
            dt = tl.load(delta_ptr + row + t, mask=c_mask, other=0.0).to(tl.float32)
            u = tl.load(u_ptr + row + t, mask=c_mask, other=0.0).to(tl.float32)
            b = tl.load(b_ptr + bc_row + t, mask=mask, other=0.0).to(tl.float32)
            c = tl.load(c_ptr + bc_row + t, mask=mask, other=0.0).to(tl.float32)
            if HAS_BIAS:
                dt += bias
            if SOFTPLUS:
                dt = _softplus(dt)
            s = tl.exp(dt[:, None] * a) * s + (dt * u)[:, None] * b
            y = tl.sum(tl.where(mask, s * c, 0.0), axis=1)
            if HAS_D:
                y += d * u
            tl.store(delta_ptr + row + t, y.to(delta_ptr.dtype.element_ty), mask=c_mask)
            if HAS_Z:
                z = tl.load(z_ptr + row + t, mask=c_mask, other=0.0).to(tl.float32)
                gated = y * (z / (1.0 + tl.exp(-z)))
                tl.store(z_ptr + row + t, gated.to(z_ptr.dtype.element_ty), mask=c_mask)
        tl.store(state_at, s, mask=mask)


def selective_scan_fwd(
    u,
    delta,
    A,
    B,
    C,
    D_,
    z_,
    delta_bias_,
    delta_softplus,
    query_start_loc,
    cache_indices,
    has_initial_state,
    ssm_states,
    pad_slot_id,
    block_size=1024,
):
    dim, length = u.shape
    n_state = A.shape[1]
    groups = B.shape[0]
    sequences = cache_indices.shape[0]
    if sequences == 0 or dim == 0 or length == 0:
        return
    block_c = 16
    _selective_scan_kernel[(sequences, triton.cdiv(dim, block_c))](
        u,
        delta,
        A,
        B,
        C,
        D_,
        z_,
        delta_bias_,
        query_start_loc,
        cache_indices,
        has_initial_state,
        ssm_states,
        dim,
        length,
        n_state,
        dim // groups,
        pad_slot_id,
        SOFTPLUS=bool(delta_softplus),
        HAS_D=D_ is not None,
        HAS_Z=z_ is not None,
        HAS_BIAS=delta_bias_ is not None,
        BLOCK_C=block_c,
        BLOCK_N=max(2, triton.next_power_of_2(n_state)),
        num_warps=1,
    )
