# operator: vllm13::gptq_shuffle
# style: a clone of the words as the source, two-dimensional tiles of rows of words and columns, static_range over the fields of a word
import torch
import triton
import triton.language as tl


@triton.jit
def _gptq_shuffle_kernel(
    old_ptr,
    new_ptr,
    perm_ptr,
    word_rows,
    columns,
    BIT: tl.constexpr,
    HAS_PERM: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    PACK: tl.constexpr = 32 // BIT
    FIELD: tl.constexpr = (1 << BIT) - 1
    row = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    col = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    row_mask = row < word_rows
    mask = row_mask[:, None] & (col < columns)[None, :]

    packed = tl.zeros((BLOCK_R, BLOCK_C), dtype=tl.int32)
    for i in tl.static_range(PACK):
        k = row * PACK + i
        if HAS_PERM:
            k = tl.load(perm_ptr + k, mask=row_mask, other=0)
        source = (k // PACK).to(tl.int64) * columns
        word = tl.load(old_ptr + source[:, None] + col[None, :], mask=mask, other=0)
        value = (word >> ((k % PACK) * BIT)[:, None]) & FIELD
        if BIT == 4:
            packed |= value << ((i // 2 + 4 * (i % 2)) * BIT)
        else:
            packed |= value << (i * BIT)

    target = row.to(tl.int64)[:, None] * columns + col[None, :]
    tl.store(new_ptr + target, packed, mask=mask)


def gptq_shuffle(q_weight, q_perm, bit):
    has_perm = q_perm.numel() > 0
    if q_weight.numel() == 0 or (bit == 8 and not has_perm):
        return
    word_rows, columns = q_weight.shape
    # Rows come from anywhere, so a permutation needs the old words as a whole.
    old = q_weight.clone() if has_perm else q_weight
    block_r = 8
    block_c = min(128, max(16, triton.next_power_of_2(columns)))
    grid = (triton.cdiv(word_rows, block_r), triton.cdiv(columns, block_c))
    _gptq_shuffle_kernel[grid](
        old,
        q_weight,
        q_perm,
        word_rows,
        columns,
        BIT=bit,
        HAS_PERM=has_perm,
        BLOCK_R=block_r,
        BLOCK_C=block_c,
    )
