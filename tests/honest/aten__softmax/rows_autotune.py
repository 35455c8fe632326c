# operator: aten::softmax
# style: several rows per program, autotune with pruning, keyword-only helpers
import torch
import triton
import triton.language as tl


def _configs():
    return [triton.Config({"ROWS": rows}, num_warps=w) for rows in (4, 1, 8) for w in (4, 8)]


def _prune(configs, named_args, **kwargs):
    few = [c for c in configs if c.kwargs["ROWS"] * kwargs.get("COLS", named_args.get("COLS", 1)) <= 1 << 15]
    return few or configs[:1]


@triton.autotune(configs=_configs(), key=["n_rows", "n_cols"], prune_configs_by={"early_config_prune": _prune})
@triton.jit
def _softmax_2d(x_ptr, y_ptr, n_rows, n_cols, COLS: tl.constexpr, ROWS: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    mask = (rows < n_rows) & (cols < n_cols)
    x = tl.load(x_ptr + rows * n_cols + cols, mask=mask, other=0.0).to(WIDE)
    x = tl.where(cols < n_cols, x, -float("inf"))
    top = tl.max(x, axis=1, keep_dims=True)
    e = tl.exp(x - top)
    y = e / tl.sum(e, axis=1, keep_dims=True)
    tl.store(y_ptr + rows * n_cols + cols, y.to(y_ptr.type.element_ty), mask=mask)


def _softmax(x, *, out):
    n_cols = x.shape[-1]
    n_rows = x.numel() // max(n_cols, 1)
    if n_rows * n_cols:
        grid = lambda meta: (triton.cdiv(n_rows, meta["ROWS"]),)
        _softmax_2d[grid](x, out, n_rows, n_cols, COLS=triton.next_power_of_2(n_cols))
    return out


def softmax_int(self, dim, dtype=None):
    x = self.type(dtype) if dtype is not None else self
    if x.ndim == 0:
        x = x[None]
        return _softmax(x, out=torch.empty_like(x))[0]
    order = [d for d in range(x.ndim) if d != dim % x.ndim] + [dim % x.ndim]
    back = [order.index(d) for d in range(x.ndim)]
    x = x.permute(order).contiguous()
    return _softmax(x, out=torch.empty_like(x)).permute(back)


def softmax_int_out(self, dim, dtype=None, *, out):
    return out.copy_(softmax_int(self, dim, dtype))
