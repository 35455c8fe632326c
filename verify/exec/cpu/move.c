/* SPDX-License-Identifier: MIT */
#include "verify/exec/cpu/move.h"

#include <string.h>

#include "base/mem.h"
#include "verify/exec/cpu/convert.h"
#include "verify/exec/serve.h"

static void set_elements(char *to, uint32_t value, uint32_t element_bytes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) /* the low bytes */
		memcpy(to + i * element_bytes, &value, element_bytes);
}

static void move_memset(const struct kgb_cpu_memory *memory, const struct kgb_op *op)
{
	for (uint64_t row = 0; row < op->memset.height; row++)
		set_elements(kgb_cpu_memory_at(memory, op->memset.dst + row * op->memset.pitch,
					       op->memset.width * op->memset.element_bytes),
			     op->memset.value, op->memset.element_bytes, op->memset.width);
}

void kgb_cpu_move(const struct kgb_cpu_memory *memory, const struct kgb_op *op)
{
	if (op->kind == KGB_OP_MEMSET)
		move_memset(memory, op);
	else if (op->kind == KGB_OP_COPY)
		memmove(kgb_cpu_memory_at(memory, op->copy.dst, op->copy.bytes),
			kgb_cpu_memory_at(memory, op->copy.src, op->copy.bytes), op->copy.bytes);
	else if (op->upload.bytes > 0)
		memcpy(kgb_cpu_memory_at(memory, op->upload.dst, op->upload.bytes), op->upload.data,
		       op->upload.bytes);
}

/* ---- torch ---- */

/* Join dimensions that both sides traverse like one. */
static void simplify(struct kgb_torch_move *move)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < move->n_dims; i++) {
		if (move->sizes[i] == 1)
			continue;
		const uint32_t k = n ? n - 1 : 0;
		if (n && move->dst.strides[k] == move->dst.strides[i] * move->sizes[i] &&
		    (!move->is_copy ||
		     move->src.strides[k] == move->src.strides[i] * move->sizes[i])) {
			move->sizes[k] *= move->sizes[i];
			move->dst.strides[k] = move->dst.strides[i];
			move->src.strides[k] = move->src.strides[i];
			continue;
		}
		move->sizes[n] = move->sizes[i];
		move->dst.strides[n] = move->dst.strides[i];
		move->src.strides[n++] = move->src.strides[i];
	}
	if (n == 0) { /* one element */
		move->sizes[n] = 1;
		move->dst.strides[n] = move->src.strides[n] = 1;
		n++;
	}
	move->n_dims = n;
}

/* n elements that lie `stride` bytes apart, one behind the other. */
static void gather(const char *from, size_t stride, size_t size, size_t n, char *to)
{
	if (stride == size)
		memcpy(to, from, n * size);
	else
		for (size_t i = 0; i < n; i++)
			memcpy(to + i * size, from + i * stride, size);
}

static void scatter(char *to, size_t stride, size_t size, size_t n, const char *from)
{
	if (stride == size)
		memcpy(to, from, n * size);
	else
		for (size_t i = 0; i < n; i++)
			memcpy(to + i * stride, from + i * size, size);
}

/* Elements of one type, and in another. */
struct elements {
	_Alignas(16) char raw[KGB_CPU_CONVERT_MAX * 16];
	_Alignas(16) char made[KGB_CPU_CONVERT_MAX * 16];
};

/* One row of the last dimension; `src` is NULL for a fill. The compiler clears local variables, so
 * large ones do not belong to a row. */
static void move_row(const struct kgb_torch_move *move, struct elements *elements, char *dst,
		     const char *src)
{
	const uint32_t last = move->n_dims - 1;
	const size_t n = (size_t)move->sizes[last];
	const size_t dst_size = kgb_dtype_size(move->dst.dtype);
	const size_t dst_stride = (size_t)move->dst.strides[last] * dst_size;

	if (!src) {
		for (size_t i = 0; i < n; i++)
			memcpy(dst + i * dst_stride, move->value, dst_size);
		return;
	}
	const size_t src_size = kgb_dtype_size(move->src.dtype);
	const size_t src_stride = (size_t)move->src.strides[last] * src_size;
	for (size_t done = 0; done < n; done += KGB_CPU_CONVERT_MAX) {
		const size_t left = n - done;
		const size_t piece = left < KGB_CPU_CONVERT_MAX ? left : KGB_CPU_CONVERT_MAX;
		const bool same = move->src.dtype == move->dst.dtype;
		gather(src + done * src_stride, src_stride, src_size, piece,
		       same ? elements->made : elements->raw);
		if (!same)
			kgb_cpu_convert(move->dst.dtype, elements->made, move->src.dtype,
					elements->raw, piece);
		scatter(dst + done * dst_stride, dst_stride, dst_size, piece, elements->made);
	}
}

static void move_all(const struct kgb_torch_move *move, char *dst, const char *src)
{
	int64_t at[KGB_TORCH_MOVE_DIMS] = {0};
	struct elements elements;
	const int64_t dst_size = (int64_t)kgb_dtype_size(move->dst.dtype);
	const int64_t src_size = src ? (int64_t)kgb_dtype_size(move->src.dtype) : 0;

	for (;;) {
		int64_t dst_at = 0, src_at = 0;
		for (uint32_t i = 0; i + 1 < move->n_dims; i++) {
			dst_at += at[i] * move->dst.strides[i];
			src_at += at[i] * move->src.strides[i];
		}
		move_row(move, &elements, dst + dst_at * dst_size,
			 src ? src + src_at * src_size : NULL);
		uint32_t i = move->n_dims - 1;
		while (i > 0 && ++at[i - 1] == move->sizes[i - 1])
			at[--i] = 0;
		if (i == 0)
			return;
	}
}

int kgb_cpu_torch_move(const struct kgb_cpu_memory *memory, const struct kgb_torch_move *move,
		       struct kgb_err *err)
{
	struct kgb_op_range ranges[KGB_OP_RANGES_MAX];
	const size_t n = kgb_torch_move_ranges(move, ranges);
	struct kgb_torch_move simple = *move;
	void *places[KGB_OP_RANGES_MAX] = {NULL};

	for (size_t i = 0; i < n; i++) {
		places[i] = kgb_cpu_memory_at(memory, ranges[i].address, ranges[i].bytes);
		if (!places[i])
			return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN,
					     "%s: %llu bytes at 0x%llx are not memory of this plan",
					     ranges[i].name, (unsigned long long)ranges[i].bytes,
					     (unsigned long long)ranges[i].address);
	}
	if (kgb_torch_move_elements(move) == 0)
		return 0;
	KGB_ASSERT(places[0] && (places[1] || !move->is_copy));
	simplify(&simple);
	move_all(&simple, places[0], move->is_copy ? places[1] : NULL);
	return 0;
}
