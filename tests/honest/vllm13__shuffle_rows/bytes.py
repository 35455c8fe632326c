# operator: vllm13::shuffle_rows
# style: rows are copied as bytes, whatever they hold
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
        copy_rows[(rows,)](input_tensor.view(torch.uint8), dst2src_map, out.view(torch.uint8), n_bytes,
                           BLOCK=min(4096, triton.next_power_of_2(n_bytes)))
    return out
