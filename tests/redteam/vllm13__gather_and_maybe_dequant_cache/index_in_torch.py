# operator: vllm13::gather_and_maybe_dequant_cache
# expect: l1\..*
# catalogue: 86, 88
# rows are gathered by torch's indexing
import torch
import triton
import triton.language as tl


@triton.jit
def nothing(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr))


def gather_and_maybe_dequant_cache(src_cache, dst, block_table, cu_seq_lens, token_to_seq, num_tokens, kv_cache_dtype, scale,
                                   seq_starts=None):
    nothing[(1,)](dst)
    rows = torch.index_select(src_cache.view(-1, 576), 0, block_table.view(-1))
    dst.copy_(rows)
