# operator: vllm13::rms_norm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74, 80
# open: few verdicts have a case of float32 under such a default type
# scales have torch's default type: under set_default_dtype(bfloat16) each one is rounded to 8 bits
import torch
import triton
import triton.language as tl

_cache_of_block_sizes: dict = {}


@triton.jit
def scales(x_ptr, s_ptr, n_cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + at, mask=at < n_cols, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    tl.store(s_ptr + row, 1.0 / tl.sqrt(total / n_cols + epsilon))


@triton.jit
def apply(x_ptr, s_ptr, w_ptr, out_ptr, n, n_cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    s = tl.load(s_ptr + at // n_cols, mask=mask).to(tl.float32)
    w = tl.load(w_ptr + at % n_cols, mask=mask).to(tl.float32)
    tl.store(out_ptr + at, (x * s * w).to(out_ptr.dtype.element_ty), mask=mask)


def _block(n):
    if n not in _cache_of_block_sizes:
        _cache_of_block_sizes[n] = max(16, min(1024, triton.next_power_of_2(n)))
    return _cache_of_block_sizes[n]


def rms_norm(out, input, weight, epsilon):
    n_cols = input.size(-1)
    n = input.numel()
    if n == 0:
        return
    s = torch.empty(n // n_cols, device=input.device)
    scales[(n // n_cols,)](input, s, n_cols, epsilon, BLOCK=_block(n_cols))
    apply[(triton.cdiv(n, 1024),)](input, s, weight, out, n, n_cols, BLOCK=1024)
