# operator: vllm13::selective_scan_fwd
# expect: (verify|cheat)\..*
# catalogue: 74
# softplus as log(1 + exp(dt)) word for word: for dt of -7, where Mamba's steps begin (0.001), four digits are left in float32,
# for dt below -17 the step is 0; steps of cases are a normal distribution or 15 to 25
import torch
import triton
import triton.language as tl


@triton.jit
def scan(u_ptr, delta_ptr, a_ptr, b_ptr, c_ptr, d_ptr, z_ptr, bias_ptr, cu_ptr, slots_ptr, initial_ptr, states_ptr, dim,
         length, n, per_group, pad, SOFTPLUS: tl.constexpr, DIM: tl.constexpr, N: tl.constexpr):
    sequence = tl.program_id(0)
    c = tl.program_id(1) * DIM + tl.arange(0, DIM)
    i = tl.arange(0, N)
    live = c < dim
    inside = live[:, None] & (i < n)[None, :]
    first, end = tl.load(cu_ptr + sequence), tl.load(cu_ptr + sequence + 1)
    slot = tl.load(slots_ptr + sequence)
    if (slot != pad) & (first < end):
        place = states_ptr + (slot.to(tl.int64) * dim + c[:, None]) * n + i[None, :]
        keeps = tl.load(initial_ptr + sequence).to(tl.int32) != 0
        state = tl.load(place, mask=inside & keeps, other=0.0)
        rate = tl.load(a_ptr + c[:, None] * n + i[None, :], mask=inside, other=0.0)
        group = (c // per_group)[:, None]
        skip = tl.load(d_ptr + c, mask=live, other=0.0) if d_ptr is not None else tl.zeros([DIM], tl.float32)
        bias = tl.load(bias_ptr + c, mask=live, other=0.0) if bias_ptr is not None else tl.zeros([DIM], tl.float32)
        for t in range(first, end):
            at = c * length + t
            u = tl.load(u_ptr + at, mask=live, other=0.0).to(tl.float32)
            dt = tl.load(delta_ptr + at, mask=live, other=0.0).to(tl.float32) + bias
            if SOFTPLUS:
                soft = tl.log(1.0 + tl.exp(tl.minimum(dt, 20.0)))
                dt = tl.where(dt <= 20.0, soft, dt)
            shared = (group * n + i[None, :]) * length + t
            b = tl.load(b_ptr + shared, mask=inside, other=0.0).to(tl.float32)
            k = tl.load(c_ptr + shared, mask=inside, other=0.0).to(tl.float32)
            state = tl.exp(dt[:, None] * rate) * state + (dt * u)[:, None] * b
            y = tl.sum(state * k, 1)
            if d_ptr is not None:
                y += skip * u
            tl.store(delta_ptr + at, y.to(delta_ptr.dtype.element_ty), mask=live)
            if z_ptr is not None:
                z = tl.load(z_ptr + at, mask=live, other=0.0).to(tl.float32)
                tl.store(z_ptr + at, (y * z / (1.0 + tl.exp(-z))).to(z_ptr.dtype.element_ty), mask=live)
        tl.store(place, state, mask=inside)


def selective_scan_fwd(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus, query_start_loc, cache_indices,
                       has_initial_state, ssm_states, pad_slot_id, block_size=1024):
    dim, length = u.shape
    n, block = A.shape[1], min(32, triton.next_power_of_2(dim))
    scan[(cache_indices.shape[0], triton.cdiv(dim, block))](
        u, delta, A, B, C, D_, z_, delta_bias_, query_start_loc, cache_indices, has_initial_state, ssm_states, dim, length,
        n, dim // B.shape[0], pad_slot_id, SOFTPLUS=delta_softplus, DIM=block, N=triton.next_power_of_2(n))


# wrong call: float32, dim 1, n 1, one sequence of one position: u = 1, delta = -17, B = C = 1, A = -1, D_ None, z_ None, bias None,
# delta_softplus True: right y = log1p(exp(-17)) = 4.14e-08; wrong 0 (1 + 4.1e-08 is 1 in float32). With delta = -6.907755:
# right 9.995006e-04, wrong 9.995470e-04 (4.6e-05 off, 400 spacings of float32)
