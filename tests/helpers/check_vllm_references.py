# SPDX-License-Identifier: MIT
"""Compares the references of vLLM's operators with a second formulation of each: plain loops over Python's numbers, written
from the specs' semantics. python -I -B check_vllm_references.py REFERENCE_DIR

Prints one TAP line per check.
"""

import importlib
import math
import random
import sys

sys.path.insert(0, sys.argv[1])

import torch  # noqa: E402

attention, cache, elementwise, gguf, moe, norms, packed, quant, rms, scan = (
    importlib.import_module(name) for name in (
        "attention", "cache", "elementwise", "gguf", "moe", "norms", "packed", "quant", "rms_norm", "scan"))
F64, U8, I32 = torch.float64, torch.uint8, torch.int32


def rand(*sizes):
    return torch.randn(*sizes, dtype=F64)


def ints(low, high, *sizes, dtype=I32):
    return torch.randint(low, high + 1, sizes, dtype=torch.int64).to(dtype)


def words(*sizes):
    return ints(-2 ** 31, 2 ** 31 - 1, *sizes)


def same(got, want, tolerance=1e-9):
    want = (want if isinstance(want, torch.Tensor) else torch.tensor(want, dtype=F64)).double().reshape(got.shape)
    assert torch.allclose(got.double(), want, rtol=tolerance, atol=tolerance, equal_nan=True), (got, want)


def field(word, bits, i):
    return (int(word) & 0xffffffff) >> bits * i & (1 << bits) - 1


def word_of(parts, bits):
    value = sum(part << bits * i for i, part in enumerate(parts))
    return value - 2 ** 32 if value >= 2 ** 31 else value


def rms_of(row, epsilon):
    return 1 / math.sqrt(sum(x * x for x in row) / len(row) + epsilon)


def fp8(value):
    """The fp8 number nearest to a value, found by trying all."""
    value = max(-448.0, min(448.0, value))
    numbers = []
    for bits in range(127):
        exponent, mantissa = bits >> 3, bits & 7
        numbers.append((math.ldexp(mantissa, -9) if exponent == 0 else math.ldexp(8 + mantissa, exponent - 10), bits))
    size, bits = min(numbers, key=lambda number: (abs(number[0] - abs(value)), number[1] & 1))
    return math.copysign(size, value), bits | (128 if math.copysign(1, value) < 0 else 0)


def nearest(value):
    return round(value)  # Python's rounds ties to even


# ---- norms ----


def check_rms_norm():
    x, w = rand(3, 7), rand(7)
    same(rms.rms_norm(x, w, 1e-3), [[v * rms_of(row, 1e-3) * g for v, g in zip(row, w.tolist())] for row in x.tolist()])


def check_fused_add_rms_norm():
    x, r, w = rand(3, 7), rand(3, 7), rand(7)
    total = [[a + b for a, b in zip(*rows)] for rows in zip(x.tolist(), r.tolist())]
    got, residual = norms.fused_add_rms_norm(x, r, w, 1e-3)
    same(residual, total)
    same(got, [[v * rms_of(row, 1e-3) * g for v, g in zip(row, w.tolist())] for row in total])


def quantised(values, limit, bound, least):
    most = max(abs(v) for v in values)
    scale = max(min(most, bound) / limit, least)
    return [max(-128 if limit == 127 else -448, min(limit, v / scale)) for v in values], scale


def check_rms_norm_quant():
    for group in (None, 64):
        for kind, limit, least in ((torch.int8, 127, 2.0 ** -23), (F64, 448, 1 / (448 * 512))):
            for bound in (None, 0.7):
                x, w, r = rand(3, 128), rand(128), rand(3, 128)
                ub = None if bound is None else torch.tensor([bound], dtype=F64)
                if group:
                    got = norms.rms_norm_per_block_quant(x, w, 1e-6, kind, [1, group], ub, r, False)
                else:
                    got = norms.rms_norm_dynamic_per_token_quant(x, w, 1e-6, kind, ub, r)
                values, scales = [], []
                for row, added in zip(x.tolist(), r.tolist()):
                    total = [a + b for a, b in zip(row, added)]
                    y = [v * rms_of(total, 1e-6) * g for v, g in zip(total, w.tolist())]
                    for at in range(0, 128, group or 128):
                        q, scale = quantised(y[at:at + (group or 128)], limit, bound or math.inf, least)
                        values += q
                        scales.append(scale)
                same(got[0], values)
                same(got[1], scales, 1e-6)
                same(got[2], x + r)


def check_native_quantisation_rounds():
    x, w = torch.randn(4, 96), torch.randn(96)
    q, scales = norms.rms_norm_dynamic_per_token_quant(x, w, 1e-6, torch.int8, None, None)
    unrounded, _ = norms.rms_norm_dynamic_per_token_quant(x.double(), w.double(), 1e-6, torch.int8, None, None)
    assert q.dtype == torch.int8 and (q - unrounded).abs().max() < 0.501
    q, scales = norms.rms_norm_dynamic_per_token_quant(x, w, 1e-6, torch.float8_e4m3fn, None, None)
    unrounded, _ = norms.rms_norm_dynamic_per_token_quant(x.double(), w.double(), 1e-6, F64, None, None)
    assert ((q.double() - unrounded).abs() <= unrounded.abs() * 0.0626 + 2 ** -10).all()


def turned(head, cos, sin, n, is_neox):
    head = list(head)
    for i in range(n // 2):
        a, b = (i, i + n // 2) if is_neox else (2 * i, 2 * i + 1)
        head[a], head[b] = head[a] * cos[i] - head[b] * sin[i], head[b] * cos[i] + head[a] * sin[i]
    return head


def check_fused_qk_norm_rope():
    hq, hk, d = 2, 1, 8
    for is_neox in (True, False):
        qkv, qw, kw, table, pos = rand(3, (hq + 2 * hk) * d), rand(d), rand(d), rand(5, d), ints(0, 4, 3, dtype=torch.int64)
        want = []
        for row, p in zip(qkv.tolist(), pos.tolist()):
            cos, sin = table[p, :d // 2].tolist(), table[p, d // 2:].tolist()
            for h in range(hq + hk):
                x = row[h * d:(h + 1) * d]
                weight = (qw if h < hq else kw).tolist()
                want += turned([v * rms_of(x, 1e-3) * g for v, g in zip(x, weight)], cos, sin, d, is_neox)
            want += row[(hq + hk) * d:]
        same(norms.fused_qk_norm_rope(qkv, hq, hk, hk, d, 1e-3, qw, kw, table, is_neox, pos), want)


# ---- attention ----


def check_rotary_embedding():
    d, n = 8, 6
    for is_neox in (True, False):
        q, k, table, pos = rand(3, 2 * d), rand(3, d), rand(5, n), ints(0, 4, 3, dtype=torch.int64)
        got = attention.rotary_embedding(pos, q, k, d, table, is_neox)
        for result, x in zip(got, (q, k)):
            want = []
            for row, p in zip(x.tolist(), pos.tolist()):
                cos, sin = table[p, :n // 2].tolist(), table[p, n // 2:].tolist()
                for at in range(0, len(row), d):
                    want += turned(row[at:at + d], cos, sin, n, is_neox)
            same(result, want)
        same(attention.rotary_embedding(pos, q, None, d, table, is_neox), got[0])


def check_merge_attn_states():
    p, s, plse, slse = rand(3, 2, 8), rand(3, 2, 8), rand(2, 3), rand(2, 3)
    plse[0, 1], slse[1, 2], plse[1, 0] = math.inf, -math.inf, -math.inf
    plse[0, 0], slse[0, 0] = math.inf, -math.inf  # nothing on either side
    out, lse = attention.merge_attn_states(torch.zeros_like(p), p, plse, s, slse, torch.zeros(2, 3, dtype=F64))
    assert torch.equal(out[0, 0], p[0, 0]) and lse[0, 0] == -math.inf
    for t in range(3):
        for h in range(2):
            if t == h == 0:
                continue
            a, b = (0.0 if math.isinf(x[h, t]) else math.exp(x[h, t]) for x in (plse, slse))
            same(lse[h, t], math.log(a + b))
            same(out[t, h], [(x * a + y * b) / (a + b) for x, y in zip(p[t, h].tolist(), s[t, h].tolist())])


def check_paged_attention():
    heads, kv, d, bs, x = 4, 2, 16, 4, 4
    query, lens = rand(2, heads, d), torch.tensor([9, 3], dtype=I32)
    kc, vc, table = rand(5, kv, d // x, bs, x), rand(5, kv, d, bs), ints(0, 4, 2, 3)
    for slopes in (None, rand(heads)):
        more = (kv, 0.3, table, lens, bs, 12, slopes, "auto", None, None)
        out = attention.paged_attention_v1(query, kc, vc, *more)
        attention.PARTITION = 4
        part = [torch.full((2, heads, 3), 7.0, dtype=F64) for _ in range(2)] + [torch.full((2, heads, 3, d), 7.0, dtype=F64)]
        merged, exp_sum, max_logits, tmp = attention.paged_attention_v2(*part, query, kc, vc, *more)
        same(merged, out)
        for s in range(2):
            n = int(lens[s])
            for h in range(heads):
                keys, values = [], []
                for t in range(n):
                    block, o, g = int(table[s, t // bs]), t % bs, h // (heads // kv)
                    keys.append([float(kc[block, g, i // x, o, i % x]) for i in range(d)])
                    values.append([float(vc[block, g, i, o]) for i in range(d)])
                logits = [0.3 * sum(a * b for a, b in zip(query[s, h].tolist(), key)) for key in keys]
                if slopes is not None:
                    logits = [logit + float(slopes[h]) * (t - (n - 1)) for t, logit in enumerate(logits)]
                weights = [math.exp(logit) for logit in logits]
                same(out[s, h], [sum(w * v[i] for w, v in zip(weights, values)) / sum(weights) for i in range(d)])
                for j in range(3):
                    own = range(4 * j, min(4 * j + 4, n))
                    if not own:
                        assert exp_sum[s, h, j] == 7 and max_logits[s, h, j] == 7 and (tmp[s, h, j] == 7).all()
                        continue
                    most = max(logits[t] for t in own)
                    same(max_logits[s, h, j], most)
                    same(exp_sum[s, h, j], sum(math.exp(logits[t] - most) for t in own))
                    total = sum(weights[t] for t in own)
                    same(tmp[s, h, j], [sum(weights[t] * values[t][i] for t in own) / total for i in range(d)])


def walk(q, k, V, S, r, bm, bn, causal):
    """One row of convert_vertical_slash_indexes by its semantics: (blocks, columns)."""
    blocks, columns = [], []
    if r * bm >= q:
        return blocks, columns
    end = r * bm + bm
    top = end + (k - q if causal else k)

    def save():
        if lo < k:
            blocks.extend(range(lo, min(hi, k), bn))

    i = j = 1
    v, s = V[0], S[0]
    while s >= top and j < len(S):
        s = S[j]
        j += 1
    if s > top:
        lo, hi = (top, top + bn) if causal else (k, k + bn)
    else:
        hi = max(top - s, bm)
        lo = hi - bm
    while True:
        if v < hi:
            if v < lo:
                columns.append(v)
            v = V[i] if i < len(V) else top + bn
            i += 1 if i < len(V) else 0
        elif j < len(S) and (causal or S[j] >= r * bm):
            e = max(top - S[j], bm)
            j += 1
            if e > hi + bm:
                save()
                lo, hi = e - bm, e
            elif e > hi:
                hi += bm
        elif causal or i == len(V):
            if not causal and v < k:
                columns.append(v)
            save()
            return blocks, columns
        else:
            save()
            lo, hi = k, k + bn


def check_convert_vertical_slash_indexes():
    for _ in range(40):
        causal, bn = random.random() < 0.5, random.randint(1, 8)
        bm, context = random.randint(1, bn), random.randint(1, 30)
        q = random.randint(1, context)
        k = random.randint(q, q + 30)
        V = sorted(random.sample(range(k), random.randint(1, min(9, k))))
        S = sorted(random.sample(range(k + 20), random.randint(1, 9)), reverse=True)
        got = attention.convert_vertical_slash_indexes(torch.tensor([q]), torch.tensor([k]), torch.tensor([[V]]),
                                                       torch.tensor([[S]]), context, bm, bn, causal)
        for r in range(-(-context // bm)):
            blocks, columns = walk(q, k, V, S, r, bm, bn, causal)
            assert len(blocks) <= len(S) and len(columns) <= len(V)
            assert got[0][0, 0, r] == len(blocks) and got[2][0, 0, r] == len(columns)
            assert got[1][0, 0, r].tolist() == blocks + [0] * (len(S) - len(blocks))
            assert got[3][0, 0, r].tolist() == columns + [0] * (len(V) - len(columns))


def check_selective_scan_fwd():
    dim, n, groups, length = 4, 3, 2, 9
    for gate in (None, rand(dim, length)):
        u, delta, A, B, C = rand(dim, length), rand(dim, length), -rand(dim, n).abs(), rand(groups, n, length), rand(groups, n, length)
        D, bias, states = rand(dim), rand(dim), rand(4, dim, n)
        cu, slots = torch.tensor([0, 4, 4, 7, 9], dtype=I32), torch.tensor([2, 0, -1, 3], dtype=I32)
        starts = torch.tensor([True, True, False, False])
        got = scan.selective_scan(u, delta, A, B, C, D, gate, bias, True, cu, slots, starts, states, -1, 1024)
        y, kept, gated = delta.clone(), states.clone(), None if gate is None else gate.clone()
        for b in range(4):
            if slots[b] < 0 or cu[b] == cu[b + 1]:
                continue
            for c in range(dim):
                s = states[slots[b], c].tolist() if starts[b] else [0.0] * n
                for t in range(int(cu[b]), int(cu[b + 1])):
                    dt = math.log(1 + math.exp(float(delta[c, t] + bias[c])))
                    g = c // (dim // groups)
                    s = [math.exp(dt * float(A[c, i])) * s[i] + dt * float(u[c, t] * B[g, i, t]) for i in range(n)]
                    y[c, t] = sum(s[i] * float(C[g, i, t]) for i in range(n)) + float(D[c] * u[c, t])
                    if gate is not None:
                        gated[c, t] = y[c, t] * gate[c, t] / (1 + math.exp(-float(gate[c, t])))
                kept[slots[b], c] = torch.tensor(s, dtype=F64)
        for result, want in zip(got, [y, kept] if gate is None else [y, gated, kept]):
            same(result, want)


# ---- element by element, rows, columns ----


def check_repetition_penalties():
    x, p, a, b = rand(3, 5), rand(3).abs() + 0.1, ints(0, 1, 3, 5).bool(), ints(0, 1, 3, 5).bool()
    want = [[(v / g if v > 0 else v * g) if m or n else v for v, m, n in zip(*rows)]
            for *rows, g in zip(x.tolist(), a.tolist(), b.tolist(), p.tolist())]
    same(elementwise.apply_repetition_penalties(x, a, b, p), want)


def check_hadacore_transform():
    x = rand(2, 16)
    same(elementwise.hadacore_transform(x, False), [[sum(v * (-1) ** bin(i & j).count("1") for i, v in enumerate(row)) / 4
                                                     for j in range(16)] for row in x.tolist()])


def check_rows_and_columns():
    x, perm, rows = rand(3, 8), torch.randperm(8).to(I32), ints(0, 2, 5)
    same(elementwise.permute_cols(x, perm), [[row[int(p)] for p in perm] for row in x.tolist()])
    same(elementwise.shuffle_rows(x, rows), [x.tolist()[int(r)] for r in rows])
    bytes_ = ints(0, 255, 3, 8, dtype=U8).view(torch.float8_e4m3fn)
    assert elementwise.shuffle_rows(bytes_, rows).view(U8).tolist() == [bytes_.view(U8)[int(r)].tolist() for r in rows]


def check_moe_sum():
    x = rand(3, 4, 5)
    same(elementwise.moe_sum(x), [[sum(x[t, j, h] for j in range(4)) for h in range(5)] for t in range(3)])


# ---- quantisers ----


def check_convert_fp8():
    x = torch.cat([torch.randn(200) * 30, torch.tensor([0.0, -0.0, 1e4, -1e4, 2.0 ** -10, 3 * 2.0 ** -10, 17.0, 19.0])])
    for scale in (1.0, 0.25):
        got = quant.convert_fp8(torch.zeros(len(x), dtype=U8), x, scale, "fp8")
        assert got.tolist() == [fp8(v / scale)[1] for v in x.tolist()]
        assert torch.equal(got, quant.convert_fp8(torch.zeros(len(x), dtype=U8), x.double(), scale, "fp8"))
    numbers = torch.tensor(list(range(127)) + list(range(128, 255)), dtype=U8)
    back = quant.convert_fp8(torch.zeros(254), numbers, 0.5, "fp8")
    for bits, value in zip(numbers.tolist(), back.tolist()):
        assert value == 0.5 * fp8(2 * value)[0] and fp8(2 * value)[1] & 127 == bits & 127


def check_scaled_fp8_quant():
    x = rand(3, 20) * 5
    most = max(abs(v) for row in x.tolist() for v in row)
    same(quant.scaled_fp8_quant(x, None, 5, None, False)[0][:3], x / (most / 448))
    q, scale = quant.scaled_fp8_quant(x, None, 5, torch.tensor([2.0], dtype=F64), True)
    assert q.shape == (5, 20) and (q[3:] == 0).all()
    for i, row in enumerate(x.tolist()):
        s = max(min(max(abs(v) for v in row), 2.0) / 448, 1 / (448 * 512))
        same(scale[i], [s])
        same(q[i], [max(-448, min(448, v / s)) for v in row])
    given = torch.tensor([0.125])
    q, scale = quant.scaled_fp8_quant(x.float(), given, None, None, False)
    assert scale is given and q.float().flatten().tolist() == [fp8(v / 0.125)[0] for v in x.float().flatten().tolist()]


def check_scaled_int8_quant():
    x = torch.randn(3, 20)
    scale, azp = torch.tensor([0.25]), torch.tensor([-17], dtype=I32)
    values = x.flatten().tolist()
    q, _ = quant.int8_static(x, scale, None, True)
    assert q.flatten().tolist() == [max(-128, min(127, nearest(v / 0.25))) for v in values]
    q, _, _ = quant.int8_static(x, scale, azp, False)
    assert q.flatten().tolist() == [max(-128, min(127, nearest(v / 0.25) - 17)) for v in values]
    wide = x.double()
    q, scales = quant.int8_dynamic(wide, None, None, True)
    for i, row in enumerate(wide.tolist()):
        most = max(abs(v) for v in row)
        same(scales[i], [most / 127])
        same(q[i], [v * 127 / most for v in row])
    q, scales, zeros = quant.int8_dynamic(wide, None, None, False)
    for i, row in enumerate(wide.tolist()):
        s = (max(row) - min(row)) / 255
        z = nearest(-128 - min(row) / s)
        same(zeros[i], [z])
        same(q[i], [max(-128, min(127, v / s + z)) for v in row])
    assert (quant.int8_dynamic(torch.zeros(2, 4), None, None, True)[0] == 0).all()


def check_cutlass_pack_scale_fp8():
    scales = (torch.randn(3, 4) * 20).to(torch.float8_e4m3fn)
    got = quant.cutlass_pack_scale_fp8(scales)
    assert got.float().tolist() == [fp8(v * -j)[0] for v in scales.float().flatten().tolist() for j in range(8, 0, -1)]


def check_marlin_int4_fp8_preprocess():
    w = words(3, 4)
    parts = [[field(word, 4, i) for i in range(8)] for word in w.flatten().tolist()]
    want = [word_of([v - 8 if v >= 8 else 15 - v for v in part], 4) for part in parts]
    assert quant.marlin_int4_fp8_preprocess(w, None, False).flatten().tolist() == want


# ---- caches ----


def check_slots():
    heads, d, x, bs = 2, 8, 4, 3
    key, value, slots = rand(5, heads, d), rand(5, heads, d), torch.tensor([4, -1, 0, 8, 7])
    kc, vc = rand(3, heads, d // x, bs, x), rand(3, heads, d, bs)
    kf, vf = rand(3, bs, heads, d), rand(3, bs, heads, d)
    want = [t.clone() for t in (kc, vc, kf, vf)]
    for t, slot in enumerate(slots.tolist()):
        for h in range(heads):
            for i in range(d):
                if slot >= 0:
                    block, o = slot // bs, slot % bs
                    want[0][block, h, i // x, o, i % x] = want[2][block, o, h, i] = key[t, h, i]
                    want[1][block, h, i, o] = want[3][block, o, h, i] = value[t, h, i]
    got = cache.reshape_and_cache(key, value, kc, vc, slots, "auto", None, None)
    got += cache.reshape_and_cache_flash(key, value, kf, vf, slots, "auto", None, None)
    for result, right in zip(got, want):
        same(result, right)
    joint, scale = ints(0, 255, 3, bs, d + 2, dtype=U8), torch.tensor([0.3])
    right, c, pe = joint.clone(), torch.randn(5, d), torch.randn(5, 2)
    for t, slot in enumerate(slots.tolist()):
        if slot >= 0:
            row = torch.cat([c[t], pe[t]]) / scale
            right[slot // bs, slot % bs] = torch.tensor([fp8(v)[1] for v in row.tolist()], dtype=U8)
    assert torch.equal(cache.concat_and_cache_mla(c, pe, joint, slots, "fp8", scale), right)


def check_blocks():
    pairs = torch.tensor([[0, 3], [5, 1]])
    caches = [rand(6, 4) for _ in range(4)]
    before = [one.clone() for one in caches]
    got = cache.copy_blocks(caches[:2], caches[2:], pairs)
    assert len(got) == 4 and len(cache.copy_blocks_mla(caches[:3], pairs)) == 3
    for result, old in zip(got, before):
        for block in range(6):
            same(result[block], old[{3: 0, 1: 5}.get(block, block)])
    src, dst = rand(6, 4), rand(6, 4)
    want = [src[0] if b == 3 else src[5] if b == 1 else dst[b].clone() for b in range(6)]
    same(cache.swap_blocks(src, dst, pairs), torch.stack(want))


def check_gathers():
    bs, src, table = 3, rand(5, 3, 4), ints(0, 4, 3, 6)
    cu, starts = torch.tensor([0, 4, 4, 9], dtype=I32), torch.tensor([2, 0, 5], dtype=I32)
    owners = [b for b in range(3) for _ in range(int(cu[b]), int(cu[b + 1]))]
    for first in (None, starts):
        dst = rand(11, 4)
        want, by_block = dst.clone(), dst.clone()
        for t, b in enumerate(owners):
            i, shift = t - int(cu[b]), 0 if first is None else int(first[b])
            want[t] = src[table[b, (i + shift) // bs], (i + shift) % bs]
            by_block[t] = src[table[b, i // bs + shift // bs], i % bs]
        same(cache.cp_gather_cache(src, dst.clone(), table, cu, 3, first), want)
        same(cache.gather_and_maybe_dequant_cache(src, dst.clone(), table, cu, torch.tensor(owners, dtype=I32), 9, "auto",
                                                  None, first), by_block)
    packed_src = ints(0, 126, 5, 3, 4, dtype=U8)
    got = cache.gather_and_maybe_dequant_cache(packed_src, torch.zeros(9, 4, dtype=F64), table, cu,
                                               torch.tensor(owners, dtype=I32), 9, "fp8", torch.tensor([0.5], dtype=F64), None)
    for t, b in enumerate(owners):
        row = packed_src[table[b, (t - int(cu[b])) // bs], (t - int(cu[b])) % bs].tolist()
        assert [fp8(2 * v)[1] for v in got[t].tolist()] == row
    width, scales = 16, 4
    blocks = ints(0, 255, 5, bs, width + scales, dtype=U8)
    dst_k, dst_s = torch.zeros(11, width, dtype=U8), torch.zeros(11, scales, dtype=U8)
    got = cache.cp_gather_indexer_k_quant_cache(blocks, dst_k, dst_s, table, cu)
    for t, b in enumerate(owners):
        i = t - int(cu[b])
        flat = blocks[table[b, i // bs]].flatten().tolist()
        assert got[0][t].tolist() == flat[i % bs * width:(i % bs + 1) * width]
        at = bs * width + i % bs * scales
        assert got[1][t].tolist() == flat[at:at + scales]
    assert (got[0][9:] == 0).all() and (got[1][9:] == 0).all()


# ---- experts ----


def check_topk_softmax():
    for gating in (rand(4, 6), ints(-1, 1, 4, 6).double()):
        for renormalize in (False, True):
            k = 3
            got = moe.topk_softmax(torch.zeros(4, k, dtype=F64), torch.zeros(4, k), torch.zeros(4, k), gating, renormalize)
            for t, row in enumerate(gating.tolist()):
                order = sorted(range(6), key=lambda e: (-row[e], e))[:k]
                p = [math.exp(row[e]) / sum(math.exp(v) for v in row) for e in order]
                assert got[1][t].tolist() == order and got[2][t].tolist() == [j * 4 + t for j in range(k)]
                same(got[0][t], [v / sum(p) for v in p] if renormalize else p)


def check_grouped_topk():
    for scoring in (0, 1):
        for scores in (rand(4, 12), ints(0, 1, 4, 12).double()):
            bias = ints(0, 2, 12).double() / 4
            weights, ids = moe.grouped_topk(scores, 4, 2, 3, True, 2.5, bias, scoring)
            for t, row in enumerate(scores.tolist()):
                p = [1 / (1 + math.exp(-v)) for v in row] if scoring else row
                c = [a + b for a, b in zip(p, bias.tolist())]
                values = [sum(sorted(c[3 * g:3 * g + 3])[-2:]) for g in range(4)]
                kept = sorted(range(4), key=lambda g: (-values[g], g))[:2]
                order = sorted((e for e in range(12) if e // 3 in kept), key=lambda e: (-c[e], e))[:3]
                assert ids[t].tolist() == order
                total = 1e-20 + sum(p[e] for e in order)
                same(weights[t], [p[e] / total * 2.5 for e in order])


def grouped(by_expert, block_size, n_ids, n_blocks, nobody, unused):
    ids, blocks = [], []
    for expert, own in enumerate(by_expert):
        padded = -(-len(own) // block_size) * block_size
        ids += own + [nobody] * (padded - len(own))
        blocks += [expert] * (padded // block_size)
    return ids + [nobody] * (n_ids - len(ids)), blocks + [unused] * (n_blocks - len(blocks)), len(ids)


def check_moe_alignment():
    experts, bs = 5, 4
    topk = ints(0, experts - 1, 7, 2)
    flat = topk.flatten().tolist()
    own = [[i for i, e in enumerate(flat) if e == expert] for expert in range(experts)]
    got = moe.moe_align_block_size(topk, experts, bs, torch.zeros(32, dtype=I32), torch.zeros(8, dtype=I32),
                                   torch.zeros(1, dtype=I32), None)
    ids, blocks, used = grouped(own, bs, 32, 8, 14, 0)
    assert got[0].tolist() == ids and got[1].tolist() == blocks and got[2].tolist() == [used]
    counts = ints(0, 8, experts)
    own = [[e * 8 + i for i in range(int(counts[e]))] for e in range(experts)]
    got = moe.batched_moe_align_block_size(8, bs, counts, torch.zeros(40, dtype=I32), torch.zeros(10, dtype=I32),
                                           torch.zeros(1, dtype=I32))
    ids, blocks, used = grouped(own, bs, 40, 10, 40, -1)
    assert got[0].tolist() == ids and got[1].tolist() == blocks and got[2].tolist() == [used]
    mapping, enabled, order = ints(-1, 2, 7), torch.tensor([1, 0, 1, 0], dtype=I32), torch.tensor([2, -1, 1], dtype=I32)
    outs = [torch.full((n,), 77, dtype=I32) for n in (96, 24, 3)]
    got = moe.moe_lora_align_block_size(topk, mapping, experts, bs, 3, 32, 8, *outs, enabled, order, None)
    for lora in range(3):
        parts = [got[0][32 * lora:32 * lora + 32], got[1][8 * lora:8 * lora + 8], got[2][lora:lora + 1]]
        if lora != 2:
            assert all((part == 77).all() for part in parts)
            continue
        own = [[i for i, e in enumerate(flat) if e == expert and mapping[i // 2] == lora] for expert in range(experts)]
        ids, blocks, used = grouped(own, bs, 32, 8, 14, -1)
        assert parts[0].tolist() == ids and parts[1].tolist() == blocks and parts[2].tolist() == [used]


# ---- packed weights ----

MARLIN4, MARLIN8, AWQ4, AWQ8 = (0, 2, 4, 6, 1, 3, 5, 7), (0, 2, 1, 3), (0, 4, 1, 5, 2, 6, 3, 7), (0, 2, 1, 3)


def check_gptq_shuffle():
    for bit in (4, 8):
        pack = 32 // bit
        w, perm = words(3, 5), torch.randperm(3 * pack).to(I32)
        for order in (perm, torch.zeros(0, dtype=I32)):
            got = packed.gptq_shuffle(w, order, bit)
            for r in range(3):
                for n in range(5):
                    rows = [int(order[r * pack + i]) if len(order) else r * pack + i for i in range(pack)]
                    parts = [field(w[k // pack, n], bit, k % pack) for k in rows]
                    assert got[r, n] == word_of([parts[i] for i in MARLIN4] if bit == 4 else parts, bit)


def repacked(value, K, N, bits):
    """Words of one expert by the semantics."""
    rows = []
    for kt in range(K // 16):
        row = []
        for nt in range(N // 64):
            for thread in range(32):
                for warp in range(4):
                    k0, n0 = 16 * kt + 2 * (thread % 4), 64 * nt + 16 * warp + thread // 4
                    v = [value(k0 + s, n) for n in (n0, n0 + 8) for s in (0, 1, 8, 9)]
                    if bits == 4:
                        row.append(word_of([v[i] for i in MARLIN4], 4))
                    else:
                        row += [word_of([v[h + i] for i in MARLIN8], 8) for h in (0, 4)]
        rows.append(row)
    return rows


def check_marlin_repack():
    K, N = 32, 128
    for bits in (4, 8):
        pack = 32 // bits
        w, perm = words(2, K // pack, N), torch.stack([torch.randperm(K) for _ in range(2)]).to(I32)
        got = packed.gptq_marlin_moe_repack(w, perm, K, N, bits, False)
        w2 = words(2, K, N // pack)
        got2 = packed.awq_marlin_moe_repack(w2, perm, K, N, bits, False)
        order = AWQ4 if bits == 4 else AWQ8
        for e in range(2):
            assert got[e].tolist() == repacked(
                lambda k, n: field(w[e, int(perm[e, k]) // pack, n], bits, int(perm[e, k]) % pack), K, N, bits)
            assert got2[e].tolist() == repacked(lambda k, n: field(w2[e, k, n // pack], bits, order[n % pack]), K, N, bits)


def product(a, weight, K, N):
    return [[sum(row[k] * weight(k, n) for k in range(K)) for n in range(N)] for row in a.tolist()]


def check_awq_gemm():
    K, N, G = 12, 16, 3
    a, w, s, z = rand(2, K), words(K, N // 8), rand(G, N), words(G, N // 8)

    def weight(k, n):
        g = k // (K // G)
        return (field(w[k, n // 8], 4, AWQ4[n % 8]) - field(z[g, n // 8], 4, AWQ4[n % 8])) * float(s[g, n])

    same(packed.awq_gemm(a, w, s, z, 1), product(a, weight, K, N))


def check_gptq_gemm():
    K, N, G = 16, 8, 2
    for bit in (4, 8):
        pack = 32 // bit
        a, w, s, z = rand(2, K), words(K // pack, N), rand(G, N), words(G, N // pack)
        for exllama in (True, False):
            for v2 in (True, False):
                for order in (torch.zeros(0, dtype=I32), torch.randperm(K).to(I32) if exllama else ints(0, G - 1, K)):
                    def weight(k, n):
                        g = int(order[k]) if len(order) and not exllama else k // (K // G)
                        at = AWQ4[k % 8] if exllama and bit == 4 else k % pack
                        q = field(w[k // pack, n], bit, at)
                        return (q - field(z[g, n // pack], bit, n % pack) - (0 if v2 else 1)) * float(s[g, n])

                    x = a[:, order.long()] if len(order) and exllama else a
                    same(packed.gptq_gemm(a, w, z, s, order, exllama, v2, bit), product(x, weight, K, N))


def marlin_scale(s, g, n, groups):
    if groups > 1:
        c, i, j = n // 64, n % 64 // 8, n % 8
        return float(s[g, 64 * c + 8 * j + i])
    c, rest = n // 32, n % 32
    i, j = next((i, j) for i in range(4) for j in range(8) if 2 * i + (0, 1, 8, 9, 16, 17, 24, 25)[j] == rest)
    return float(s[0, 32 * c + 8 * i + j])


def check_gptq_marlin_gemm():
    K, N = 32, 64
    for kind, bits, offset in (("uint4b8", 4, 8), ("uint8b128", 8, 128)):
        for groups in (1, 2):
            q = [[random.randrange(1 << bits) for _ in range(N)] for _ in range(K)]
            w = torch.tensor(repacked(lambda k, n: q[k][n], K, N, bits), dtype=I32)
            a, s, none = rand(2, K), rand(groups, N), torch.zeros(0, dtype=I32)
            for perm in (none, torch.randperm(K).to(I32)):
                g_idx = torch.arange(K).to(I32) // (K // groups) if len(perm) else none
                x = a[:, perm.long()] if len(perm) else a
                got = packed.gptq_marlin_gemm(a, None, w, None, s, None, None, none, g_idx, perm, none, kind, 2, N, K)
                same(got, product(x, lambda k, n: (q[k][n] - offset) * marlin_scale(s, k // (K // groups), n, groups), K, N))


def check_gptq_marlin_24_gemm():
    K, N, G = 128, 64, 2
    stored = [[random.randrange(16) for _ in range(N)] for _ in range(K // 2)]
    pairs = [[sorted(random.sample(range(4), 2)) for _ in range(N)] for _ in range(K // 4)]
    w = torch.zeros(K // 32, 2 * N, dtype=I32)
    for block in range(K // 32):
        flat = [stored[16 * block + r][16 * tile + c] for tile in range(N // 16) for r in range(16) for c in range(16)]
        for group in range(len(flat) // 1024):
            for i in range(32):
                for j in range(4):
                    base, r = i // 8 * 256 + 8 * (i // 4 % 2), 2 * (i % 4)
                    e = [base + j + step + 16 * row for step in (0, 4) for row in (r, r + 1, r + 8, r + 9)]
                    w[block, 128 * group + 4 * i + j] = word_of([flat[1024 * group + e[k]] for k in MARLIN4], 4)
    meta = [0] * (K // 16 * N)
    for n in range(N):
        for c in range(K // 16):
            row = n // 64 * 64 + n % 2 * 2 + n % 8 // 4 + n % 4 // 2 * 32 + n % 64 // 8 * 4
            c2 = c
            if row % 2 == 0 and c % 2 == 1:
                row, c2 = row + 1, c - 1
            elif row % 2 == 1 and c % 2 == 0:
                row, c2 = row - 1, c + 1
            word = word_of([pairs[4 * c + i][n][0] | pairs[4 * c + i][n][1] << 2 for i in range(4)], 4)
            meta[c2 // 2 * 2 * N + row * 2 + c2 % 2] = word - 65536 if word >= 32768 else word
    s, a = rand(G, N), rand(2, K)

    def weight(k, n):
        pair = pairs[k // 4][n]
        if k % 4 not in pair:
            return 0.0
        at = n // 8 * 8 + AWQ4.index(n % 8)
        return (stored[k // 4 * 2 + pair.index(k % 4)][n] - 8) * float(s[k // (K // G), at])

    got = packed.gptq_marlin_24_gemm(a, w, torch.tensor(meta, dtype=torch.int16).reshape(K // 32, 2 * N), s, None, "uint4b8",
                                     2, N, K)
    same(got, product(a, weight, K, N))


def check_allspark_w8a16_gemm():
    K, n, padded = 32, 40, 64
    a, s = rand(2, K), rand(1, padded)
    q = [[random.randrange(256) for _ in range(n)] for _ in range(K)]
    flat = [0] * (K * padded)
    for k in range(K):
        for c in range(n):
            at = ((c // 32 * 8 + c % 8) * 4 * K + k // 16 * 64 + k % 8 // 2 * 16 + c % 32 // 16 * 8 + c % 16 // 8 * 4
                  + k % 16 // 8 * 2 + k % 2)
            flat[at] = q[k][c]
    w = torch.tensor(flat, dtype=U8).reshape(padded, K)
    got = packed.allspark_w8a16_gemm(a, w, s, None, n, -1, 108, 80, 16, False, True)
    same(got, product(a, lambda k, c: (q[k][c] - 128) * float(s[0, c // 32 * 32 + c % 8 * 4 + c % 32 // 8]), K, n))


def check_cutlass_scaled_mm():
    a, b = ints(-128, 127, 3, 5, dtype=torch.int8), ints(-128, 127, 5, 4, dtype=torch.int8)
    sa, sb, bias, adj, azp = rand(3, 1), rand(1, 4), rand(4), ints(-99, 99, 1, 4), ints(-9, 9, 3, 1)
    acc = [[sum(int(a[i, k]) * int(b[k, j]) for k in range(5)) for j in range(4)] for i in range(3)]

    def scaled(total):
        return [[float(sa[i] * sb[0, j]) * total(i, j) + float(bias[j]) for j in range(4)] for i in range(3)]

    same(packed.cutlass_scaled_mm(a, b, sa, sb, F64, bias), scaled(lambda i, j: acc[i][j]))
    same(packed.cutlass_scaled_mm_azp(a, b, sa, sb, F64, adj, azp, bias), scaled(lambda i, j: acc[i][j] - int(azp[i]) * int(adj[0, j])))
    same(packed.cutlass_scaled_mm_azp(a, b, sa, sb, F64, adj, None, bias), scaled(lambda i, j: acc[i][j] - int(adj[0, j])))


# ---- GGUF ----


def gguf_rows(rows, blocks, kind):
    size = gguf.BYTES[kind]
    w = ints(0, 255, rows, blocks * size, dtype=U8)
    for b in range(blocks):
        scales = (torch.rand(rows) + 0.1).half()
        w[:, b * size:b * size + 2] = scales.view(U8).reshape(rows, 2)
    return w


def unpacked(block, kind):
    """(scale, 32 whole numbers) of a block's bytes."""
    scale = float(torch.tensor(block[:2], dtype=U8).view(torch.float16))
    if kind == gguf.Q8_0:
        return scale, [v - 256 if v > 127 else v for v in block[2:]]
    low = [block[-16 + i % 16] >> 4 * (i // 16) & 15 for i in range(32)]
    if kind == gguf.Q4_0:
        return scale, [v - 8 for v in low]
    return scale, [v + 16 * (block[2 + i // 8] >> i % 8 & 1) - 16 for i, v in enumerate(low)]


def check_ggml_dequantize():
    for kind in (gguf.Q4_0, gguf.Q5_0, gguf.Q8_0):
        w, size = gguf_rows(3, 2, kind), gguf.BYTES[kind]
        want = []
        for row in w.tolist():
            for b in range(2):
                scale, q = unpacked(row[b * size:(b + 1) * size], kind)
                want += [scale * v for v in q]
        same(gguf.ggml_dequantize(w, kind, 3, 64, F64), want)
        assert torch.allclose(gguf.ggml_dequantize(w, kind, 3, 64, torch.float32).flatten().double(), torch.tensor(want, dtype=F64), rtol=2 ** -22)


def gguf_product(row, x, kind):
    size, total = gguf.BYTES[kind], 0.0
    for b in range(len(x) // 32):
        part = x[32 * b:32 * b + 32]
        d = torch.tensor(max(abs(v) for v in part)) / 127
        q = [0 if d == 0 else int(math.copysign(math.floor(abs(float(torch.tensor(v) / d)) + 0.5), v)) for v in part]
        s = float(torch.tensor(sum(part), dtype=torch.float32).half())
        dw, weights = unpacked(row[b * size:(b + 1) * size], kind)
        if kind == gguf.Q4_0:
            total += dw * (float(d.half()) * sum((v + 8) * n for v, n in zip(weights, q)) - 8 * s)
        else:
            total += dw * float(d.half()) * sum(v * n for v, n in zip(weights, q))
    return total


def check_ggml_rounding():
    x = torch.tensor([0.0, 0.5 - 2 ** -25, 0.5, 1.5, 2.5, 126.5, 0.25, 127.0])
    want = torch.tensor([0.0, 0.0, 1.0, 2.0, 3.0, 127.0, 0.0, 127.0])
    same(gguf.rounded_away(x), want)
    same(gguf.rounded_away(-x), -want)


def check_ggml_products():
    for kind in (gguf.Q4_0, gguf.Q8_0):
        w, x = gguf_rows(5, 2, kind), torch.round(torch.randn(3, 64) * 64) / 64  # sums are exact in any order
        x[1, :32] = 0
        want = [[gguf_product(row, xs, kind) for row in w.tolist()] for xs in x.tolist()]
        same(gguf.ggml_mul_mat_a8(w, x.double(), kind, 5), want, 1e-6)
        experts = torch.stack([gguf_rows(5, 2, kind) for _ in range(3)])
        ids = torch.tensor([[0, 2], [1, 0], [2, 1]], dtype=I32)
        want = [[gguf_product(row, x[t].tolist(), kind) for row in experts[e].tolist()] for t in range(3) for e in ids[t].tolist()]
        same(gguf.ggml_moe_a8_vec(x.double(), experts, ids, 2, kind, 5, 3), want, 1e-6)
        order, blocks = torch.randperm(12).to(I32), torch.tensor([2, 0, 1], dtype=I32)
        want = [None] * 6
        for p, i in enumerate(order.tolist()):
            if i < 6:
                want[i] = [gguf_product(row, x[i // 2].tolist(), kind) for row in experts[int(blocks[p // 4])].tolist()]
        got = gguf.ggml_moe_a8(x.double(), experts, order, blocks, torch.tensor([12], dtype=I32), kind, 5, 2, 3)
        same(got, want, 1e-6)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    random.seed(7)
    checks = [value for name, value in globals().items() if name.startswith("check_")]
    failed = 0
    for number, check in enumerate(checks, 1):
        try:
            check()
            print("ok %d - %s" % (number, check.__name__))
        except Exception as error:
            failed += 1
            print("not ok %d - %s: %s: %s" % (number, check.__name__, type(error).__name__, str(error)[:600]))
    print("1..%d" % len(checks))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
