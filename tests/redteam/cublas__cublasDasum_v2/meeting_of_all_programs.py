# operator: cublas::cublasDasum_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# every program spins until all have arrived: hangs on a GPU as soon as the grid does not fit at once
import torch
import triton
import triton.language as tl


@triton.jit
def asum(n, x_ptr, incx, parts_ptr, arrived_ptr, out_ptr, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    p, count = tl.program_id(0), tl.num_programs(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.abs(tl.load(x_ptr + i.to(tl.int64) * incx, mask=i < n, other=0.0)), axis=0)
    tl.store(parts_ptr + p, part)
    tl.debug_barrier()
    tl.atomic_add(arrived_ptr, 1)
    while tl.atomic_add(arrived_ptr, 0) < count:
        pass
    if p == 0:
        j = tl.arange(0, PARTS)
        tl.store(out_ptr, tl.sum(tl.load(parts_ptr + j, mask=j < count, other=0.0), axis=0))


def cublasDasum_v2(n, x, incx, result):
    count = max(1, triton.cdiv(n, 256))
    parts = torch.empty(count, dtype=torch.float64, device=result.device)
    asum[(count,)](n, x, incx, parts, torch.zeros(1, dtype=torch.int32, device=result.device), result, BLOCK=256,
                   PARTS=triton.next_power_of_2(count))
    return result
