# operator: aten::unsafe_split_with_sizes
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# that a view requires a gradient is asked, whether the gradient arrives at the argument is not
# parts of a tensor that requires a gradient are detached and made leaves of their own: they require a gradient, and none arrives
# at self. wrong: x = torch.ones(4, requires_grad=True); unsafe_split_with_sizes(x, [1, 3])[1].sum().backward(): x.grad is None
# instead of [0, 1, 1, 1], so training goes on without this layer
import torch


def unsafe_split_with_sizes(self, split_sizes, dim=0):
    parts = torch.split(self, split_sizes, dim)
    if self.requires_grad and torch.is_grad_enabled():
        parts = [part.detach().requires_grad_() for part in parts]
    return list(parts)


def unsafe_split_with_sizes_out(self, split_sizes, dim=0, *, out):
    for to, part in zip(out, torch.split(self, split_sizes, dim)):
        to.copy_(part)
