# operator: aten::zero_
# style: persistent grid-stride loop over 2-D tiles, program count from the number of SMs
import torch
import triton
import triton.language as tl

TILE = 2048
PROGRAMS_PER_SM = 4


@triton.jit
def _wipe_tiles(
    ptr,
    rows,
    cols,
    col_step,
    row_sizes,
    row_steps,
    col_tiles,
    tiles,
    RANK: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    nothing = tl.zeros([ROWS, COLS], dtype=ptr.dtype.element_ty)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        r = (tile // col_tiles).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        c = (tile % col_tiles).to(tl.int64) * COLS + tl.arange(0, COLS)
        rest = r
        row_at = tl.zeros([ROWS], dtype=tl.int64)
        for level in tl.static_range(RANK):
            row_at += (rest % row_sizes[level]) * row_steps[level]
            rest = rest // row_sizes[level]
        at = row_at[:, None] + (c * col_step)[None, :]
        tl.store(ptr + at, nothing, mask=(r < rows)[:, None] & (c < cols)[None, :])


def _nest(tensor):
    """Levels (size, step) by ascending step, those that continue one another fused."""
    levels = []
    for step, size in sorted((st, sz) for sz, st in zip(tensor.shape, tensor.stride()) if sz != 1):
        if levels and levels[-1][0] * levels[-1][1] == step:
            levels[-1] = (levels[-1][0] * size, levels[-1][1])
        else:
            levels.append((size, step))
    return levels or [(1, 1)]


def zero_(self):
    total = self.numel()
    if total == 0:
        return self
    (cols, col_step), *outer = _nest(self)
    rows = total // cols
    block_cols = min(TILE, triton.next_power_of_2(cols))
    block_rows = min(TILE // block_cols, triton.next_power_of_2(rows))
    col_tiles = triton.cdiv(cols, block_cols)
    tiles = col_tiles * triton.cdiv(rows, block_rows)
    sms = torch.cuda.get_device_properties(self.device).multi_processor_count
    outer = outer or [(1, 0)]
    target = self.view(torch.uint8) if self.dtype == torch.bool else self
    _wipe_tiles[(min(tiles, PROGRAMS_PER_SM * sms),)](
        target,
        rows,
        cols,
        col_step,
        tuple(size for size, _ in outer),
        tuple(step for _, step in outer),
        col_tiles,
        tiles,
        RANK=len(outer),
        ROWS=block_rows,
        COLS=block_cols,
    )
    return self
