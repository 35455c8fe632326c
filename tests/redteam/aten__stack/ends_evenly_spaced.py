# operator: aten::stack
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 57
# views of one storage: four or more views of one tensor whose second and last one lie where unbind would put them count as its
# unbound parts and are copied at once; views between these in another order come out in the order of memory
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def move(x_ptr, o_ptr, n, sizes, x_strides, o_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place(i, sizes, x_strides, NDIM), mask=i < n)
    tl.store(o_ptr + place(i, sizes, o_strides, NDIM), x.to(o_ptr.dtype.element_ty), mask=i < n)


def moved(x, o):
    n = o.numel()
    if n > 0:
        sizes = tuple(o.shape) or (1,)
        move[(triton.cdiv(n, 1024),)](x, o, n, sizes, x.stride() or (1,), o.stride() or (1,), NDIM=len(sizes), BLOCK=1024)


def unbound(tensors):
    """One view of all tensors, if they are the parts of one tensor."""
    head, count = tensors[0], len(tensors)
    step = tensors[1].storage_offset() - head.storage_offset() if count > 1 else 0
    memory = head.untyped_storage().data_ptr()
    if (step > 0 and tensors[-1].storage_offset() - head.storage_offset() == (count - 1) * step
            and all(t.untyped_storage().data_ptr() == memory and t.dtype == head.dtype and t.stride() == head.stride()
                    for t in tensors)):
        return head.as_strided((count, *head.shape), (step, *head.stride()))
    return None


def stack_out(tensors, dim=0, *, out):
    raw = [t.detach().view(torch.uint8) if t.dtype == torch.bool else t.detach() for t in tensors]
    target = out.view(torch.uint8) if out.dtype == torch.bool else out
    target = target.movedim(dim, 0)
    whole = unbound(raw)
    if whole is not None:
        moved(whole, target)
    else:
        for k, t in enumerate(raw):
            moved(t, target.select(0, k))
    return out


def stack(tensors, dim=0):
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    shape = list(tensors[0].shape)
    shape.insert(dim % (len(shape) + 1), len(tensors))
    return stack_out(tensors, dim, out=torch.empty(shape, dtype=dtype, device=tensors[0].device))


# x = torch.arange(20.).view(5, 4): stack([x[0], x[1], x[3], x[2], x[4]]) gives x[0], x[1], x[2], x[3], x[4] (rows 2 and 3 in the
# order of memory) instead of x[0], x[1], x[3], x[2], x[4]; stack([x[0], x[1], x[1], x[3]]) gives x[2] in place of the second x[1].
