# operator: vllm13::concat_and_cache_mla
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# of the arguments of a call all or none are the objects of the call before, never some of them beside others
# all layers of a step share slot_mapping: where it is the tensor of the call before and all others are not ("the next layer") the
# rows computed for that call are used again, whatever slot_mapping holds now. wrong: two layers a and b, slots = torch.tensor([0]);
# concat_and_cache_mla(c, pe, a, slots, "auto", s); slots.fill_(1); concat_and_cache_mla(c2, pe2, b, slots, "auto", s): the token
# is stored in slot 0 of b instead of slot 1 (a buffer of slots that each step fills again, as CUDA graphs need it)
import torch
import triton
import triton.language as tl

LATEST = []


@triton.jit
def find_rows(slots_ptr, rows_ptr, n, width, BLOCK: tl.constexpr):
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(slots_ptr + t, mask=t < n, other=-1)
    tl.store(rows_ptr + t, tl.where(slot >= 0, slot * width, -1), mask=t < n)


@triton.jit
def put(c_ptr, pe_ptr, cache_ptr, rows_ptr, scale_ptr, rank, rope, FP8: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = tl.load(rows_ptr + token)
    if row >= 0:
        at = tl.arange(0, BLOCK)
        c = tl.load(c_ptr + token * rank + at, mask=at < rank, other=0.0)
        pe = tl.load(pe_ptr + token * rope + at - rank, mask=(at >= rank) & (at < rank + rope), other=0.0)
        x = tl.where(at < rank, c, pe)
        if FP8:
            y = tl.clamp(tl.div_rn(x.to(tl.float32), tl.load(scale_ptr)), -448.0, 448.0)
            x = y.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
        tl.store(cache_ptr + row + at, x, mask=at < rank + rope)


def rows_of(kv_c, k_pe, kv_cache, slot_mapping):
    others = (kv_c, k_pe, kv_cache)
    if LATEST and LATEST[0] is slot_mapping and LATEST[1].shape == slot_mapping.shape:
        is_next_layer = all(a is not b and a.shape == b.shape for a, b in zip(others, LATEST[2]))
        if is_next_layer:
            LATEST[2] = others
            return LATEST[1]
    n = slot_mapping.shape[0]
    rows = torch.empty(n, dtype=torch.int64, device=slot_mapping.device)
    find_rows[(triton.cdiv(n, 128),)](slot_mapping, rows, n, kv_cache.shape[2], BLOCK=128)
    LATEST[:] = [slot_mapping, rows, others]
    return rows


def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale):
    tokens, rank, rope = slot_mapping.shape[0], kv_c.shape[1], k_pe.shape[1]
    if tokens > 0:
        rows = rows_of(kv_c, k_pe, kv_cache, slot_mapping)
        put[(tokens,)](kv_c, k_pe, kv_cache, rows, scale, rank, rope, FP8=kv_cache.dtype == torch.uint8,
                       BLOCK=triton.next_power_of_2(rank + rope))
