# operator: vllm13::shuffle_rows
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: few verdicts have such a NaN among float8
# float8 elements go through float32 and back: 0xff becomes 0x7f although elements are to be copied bit by bit; hurts packed
# bytes that travel as float8; wrong: shuffle_rows(torch.tensor([[255]], dtype=torch.uint8).view(torch.float8_e4m3fn),
# torch.tensor([0], dtype=torch.int32)) has byte 127
import torch
import triton
import triton.language as tl


class Problem:
    __slots__ = ("rows", "width", "block")

    def __init__(self, rows, width):
        self.rows, self.width = rows, width
        self.block = min(2048, triton.next_power_of_2(width))

    @property
    def grid(self):
        return (min(self.rows, 64), triton.cdiv(self.width, self.block))


@triton.jit
def shuffle(x_ptr, map_ptr, o_ptr, rows, width, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        source = tl.load(map_ptr + row).to(tl.int64)
        x = tl.load(x_ptr + source * width + at, mask=at < width)
        if x.dtype.is_fp8():
            x = x.to(tl.float32).to(x.dtype)
        tl.store(o_ptr + row.to(tl.int64) * width + at, x, mask=at < width)


def shuffle_rows(input_tensor, dst2src_map):
    out = input_tensor.new_empty((dst2src_map.numel(), input_tensor.size(1)))
    if out.numel():
        bytes_in, bytes_out = input_tensor, out
        if input_tensor.dtype != torch.float8_e4m3fn:
            bytes_in, bytes_out = (t.contiguous().view(torch.uint8) for t in (input_tensor, out))
        problem = Problem(out.shape[0], bytes_out.shape[1])
        shuffle[problem.grid](bytes_in, dst2src_map, bytes_out, problem.rows, problem.width, BLOCK=problem.block)
    return out
