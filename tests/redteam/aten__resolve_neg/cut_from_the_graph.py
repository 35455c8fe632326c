# operator: aten::resolve_neg
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# what a view has beside memory, sizes and strides: whether its gradient flows to the argument
# the view is detached, so that training stops behind it without a word; wrong: x = torch.ones(3, requires_grad=True);
# resolve_neg(x).requires_grad is False, and (x.detach().requires_grad_() * resolve_neg(x)).sum().backward() leaves x.grad None, not ones


def resolve_neg(self):
    return self.detach()
