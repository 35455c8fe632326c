# operator: vllm13::shuffle_rows
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# class: contiguous slices, which begin behind the start of their storage (parameters without a layout always begin at 0)
# rows are counted from the beginning of the storage; wrong for a chunk of a batch: x = torch.arange(8.).reshape(4, 2);
# shuffle_rows(x[2:], torch.tensor([0], dtype=torch.int32)) gives [[0, 1]] in place of [[4, 5]]
import torch
import triton
import triton.language as tl


@triton.jit
def copy_rows(x_ptr, map_ptr, o_ptr, n_bytes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    source = tl.load(map_ptr + row).to(tl.int64)
    for start in range(0, n_bytes, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + source * n_bytes + at, mask=at < n_bytes, other=0)
        tl.store(o_ptr + row * n_bytes + at, x, mask=at < n_bytes)


def shuffle_rows(input_tensor, dst2src_map):
    rows, cols = dst2src_map.shape[0], input_tensor.shape[1]
    out = torch.empty((rows, cols), dtype=input_tensor.dtype, device=input_tensor.device)
    if rows:
        n_bytes = cols * input_tensor.element_size()
        table = torch.as_strided(input_tensor.view(torch.uint8), (input_tensor.shape[0], n_bytes), (n_bytes, 1), 0)
        copy_rows[(rows,)](table, dst2src_map, out.view(torch.uint8), n_bytes,
                           BLOCK=min(4096, triton.next_power_of_2(n_bytes)))
    return out
