# operator: vllm13::reshape_and_cache_flash
# style: one program for a token that loops over tiles of its heads, early return for padding, key and value by one helper jit function
import torch
import triton
import triton.language as tl


@triton.jit
def _encode(x, scale, IS_FP8: tl.constexpr):
    if IS_FP8:
        q = tl.clamp(tl.div_rn(x.to(tl.float32), scale), -448.0, 448.0)
        return q.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    else:
        return x


@triton.jit
def _reshape_and_cache_flash_kernel(
    key_ptr,
    value_ptr,
    key_cache_ptr,
    value_cache_ptr,
    slot_mapping_ptr,
    k_scale_ptr,
    v_scale_ptr,
    width,
    block_size,
    key_stride,
    value_stride,
    key_block_stride,
    value_block_stride,
    IS_FP8: tl.constexpr,
    TILE: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping_ptr + token)
    if slot < 0:
        return
    block = slot // block_size
    offset = slot % block_size
    k_scale = 1.0
    v_scale = 1.0
    if IS_FP8:
        k_scale = tl.load(k_scale_ptr)
        v_scale = tl.load(v_scale_ptr)

    key_row = key_ptr + token * key_stride
    value_row = value_ptr + token * value_stride
    key_target = key_cache_ptr + block * key_block_stride + offset * width
    value_target = value_cache_ptr + block * value_block_stride + offset * width
    for start in range(0, width, TILE):
        at = start + tl.arange(0, TILE)
        mask = at < width
        k = tl.load(key_row + at, mask=mask)
        tl.store(key_target + at, _encode(k, k_scale, IS_FP8), mask=mask)
        v = tl.load(value_row + at, mask=mask)
        tl.store(value_target + at, _encode(v, v_scale, IS_FP8), mask=mask)


def reshape_and_cache_flash(
    key,
    value,
    key_cache,
    value_cache,
    slot_mapping,
    kv_cache_dtype,
    k_scale,
    v_scale,
):
    tokens = slot_mapping.shape[0]
    width = key.shape[1] * key.shape[2]
    if tokens == 0 or width == 0:
        return
    if kv_cache_dtype not in ("auto", "fp8", "fp8_e4m3"):
        raise ValueError(f"unsupported kv_cache_dtype: {kv_cache_dtype}")
    _reshape_and_cache_flash_kernel[(tokens,)](
        key,
        value,
        key_cache,
        value_cache,
        slot_mapping,
        k_scale,
        v_scale,
        width,
        key_cache.shape[1],
        key.stride(0),
        value.stride(0),
        key_cache.stride(0),
        value_cache.stride(0),
        IS_FP8=kv_cache_dtype != "auto",
        TILE=min(512, max(16, triton.next_power_of_2(width))),
    )
