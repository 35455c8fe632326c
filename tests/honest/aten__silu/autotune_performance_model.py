# operator: aten::silu
# style: autotune with a performance model, top_k, an early prune, warmup and rep
import torch
import triton
import triton.language as tl


def prune(configs, named_args, **kwargs):
    kept = [c for c in configs if c.kwargs["BLOCK"] <= triton.next_power_of_2(named_args["n"])]
    return kept or configs[:1]


def estimate(BLOCK, n, **kwargs):
    return triton.cdiv(n, BLOCK) * 1e-3 + BLOCK * 1e-6


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w, num_stages=s) for b in (256, 1024, 4096) for w in (4, 8) for s in (1, 2)],
    key=["n"],
    prune_configs_by={"early_config_prune": prune, "perf_model": estimate, "top_k": 2},
)
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_kernel[lambda META: (triton.cdiv(n, META["BLOCK"]),)](x, y, n)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
