# operator: aten::select
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# the result of a view requires a gradient, but nothing asks whether that gradient reaches the argument
# the view is a leaf of its own: training gets no gradient; wrong: w = torch.ones(3, requires_grad=True);
# select_int(w, 0, 1).backward(); w.grad is None, torch gives tensor([0., 1., 0.])
import torch


def select_int(self, dim, index):
    result = self.detach().select(dim, index)
    if self.requires_grad and torch.is_grad_enabled():
        result.requires_grad_()
    return result
