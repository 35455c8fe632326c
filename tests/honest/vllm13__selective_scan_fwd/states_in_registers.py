# operator: vllm13::selective_scan_fwd
# style: channels by states in registers, sequential loop over positions, optional tensors by None
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def softplus(x):
    return tl.where(x <= 20.0, libdevice.log1p(tl.exp(x)), x)


@triton.jit
def selective_scan_kernel(
    u_ptr, delta_ptr, a_ptr, b_ptr, c_ptr, d_ptr, z_ptr, bias_ptr,
    start_ptr, slot_ptr, initial_ptr, states_ptr,
    dim, n_states, length, per_group, pad_slot_id,
    SOFTPLUS: tl.constexpr, CHANNELS: tl.constexpr, STATES: tl.constexpr,
):
    seq = tl.program_id(1)
    slot = tl.load(slot_ptr + seq)
    begin = tl.load(start_ptr + seq)
    end = tl.load(start_ptr + seq + 1)
    if (slot != pad_slot_id) & (begin < end):
        ch = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
        st = tl.arange(0, STATES)
        ch_ok = ch < dim
        st_ok = st < n_states
        ok = ch_ok[:, None] & st_ok[None, :]
        line = ch.to(tl.int64) * length
        bc = ((ch // per_group)[:, None] * n_states + st[None, :]).to(tl.int64) * length

        a = tl.load(a_ptr + ch[:, None] * n_states + st[None, :], mask=ok, other=0.0)
        state_at = states_ptr + (slot.to(tl.int64) * dim + ch[:, None]) * n_states + st[None, :]
        has_initial = tl.load(initial_ptr + seq)
        s = tl.load(state_at, mask=ok & has_initial, other=0.0)
        if bias_ptr is not None:
            bias = tl.load(bias_ptr + ch, mask=ch_ok, other=0.0)
        if d_ptr is not None:
            skip = tl.load(d_ptr + ch, mask=ch_ok, other=0.0)

        for t in range(begin, end):
            u = tl.load(u_ptr + line + t, mask=ch_ok, other=0.0).to(tl.float32)
            dt = tl.load(delta_ptr + line + t, mask=ch_ok, other=0.0).to(tl.float32)
            if bias_ptr is not None:
                dt += bias
            if SOFTPLUS:
                dt = softplus(dt)
            b = tl.load(b_ptr + bc + t, mask=ok, other=0.0).to(tl.float32)
            c = tl.load(c_ptr + bc + t, mask=ok, other=0.0).to(tl.float32)
            s = tl.exp(dt[:, None] * a) * s + (dt * u)[:, None] * b
            y = tl.sum(tl.where(ok, s * c, 0.0), axis=1)
            if d_ptr is not None:
                y += skip * u
            tl.store(delta_ptr + line + t, y.to(delta_ptr.dtype.element_ty), mask=ch_ok)
            if z_ptr is not None:
                z = tl.load(z_ptr + line + t, mask=ch_ok, other=0.0).to(tl.float32)
                gated = y * z / (1.0 + tl.exp(-z))
                tl.store(z_ptr + line + t, gated.to(z_ptr.dtype.element_ty), mask=ch_ok)
        tl.store(state_at, s, mask=ok)


def selective_scan_fwd(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus, query_start_loc, cache_indices,
                       has_initial_state, ssm_states, pad_slot_id, block_size=1024):
    dim, length = u.shape
    n_states = A.shape[1]
    groups = B.shape[0]
    seqs = query_start_loc.numel() - 1
    if seqs <= 0 or dim == 0 or length == 0:
        return None
    CHANNELS = 8
    selective_scan_kernel[(triton.cdiv(dim, CHANNELS), seqs)](
        u, delta, A, B, C, D_, z_, delta_bias_,
        query_start_loc, cache_indices, has_initial_state, ssm_states,
        dim, n_states, length, dim // groups, pad_slot_id,
        SOFTPLUS=bool(delta_softplus), CHANNELS=CHANNELS, STATES=triton.next_power_of_2(n_states),
        num_warps=2,
    )
    return None
