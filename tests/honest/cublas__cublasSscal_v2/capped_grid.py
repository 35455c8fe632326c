# operator: cublas::cublasSscal_v2
# style: grid-stride loop with a capped number of programs
import triton
import triton.language as tl

MAX_PROGRAMS = 132 * 8


@triton.jit
def scale_in_place(x_ptr, alpha, n, incx, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    jump = tl.num_programs(0) * BLOCK
    for base in range(begin, n, jump):
        i = base + tl.arange(0, BLOCK)
        ok = i < n
        at = i.to(tl.int64) * incx
        tl.store(x_ptr + at, tl.load(x_ptr + at, mask=ok) * alpha, mask=ok)


def cublasSscal_v2(n, alpha, x, incx):
    if n <= 0:
        return x
    block = 1024 if n > 4096 else 256
    programs = min(triton.cdiv(n, block), MAX_PROGRAMS)
    scale_in_place[(programs,)](x, float(alpha), n, incx, BLOCK=block, num_warps=4)
    return x
