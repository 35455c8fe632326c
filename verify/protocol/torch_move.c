/* SPDX-License-Identifier: MIT */
#include "verify/protocol/torch_move.h"

#include <string.h>

#define refuse(err, ...) kgb_fail((err), KGB_ERR_INVALID, "torch's move: " __VA_ARGS__)

enum { WORD = 8 };

/* Parameters that are taken from the front. */
struct cursor {
	const unsigned char *bytes;
	size_t left; /* words */
};

/* Returns the next word, 0 behind the end. The caller checks `left`. */
static uint64_t take(struct cursor *in)
{
	uint64_t word = 0;

	if (in->left == 0)
		return 0;
	memcpy(&word, in->bytes, WORD);
	in->bytes += WORD;
	in->left--;
	return word;
}

static int take_dtype(struct cursor *in, enum kgb_dtype *out, struct kgb_err *err)
{
	const uint64_t word = take(in);

	if (word >= KGB_N_DTYPES)
		return refuse(err, "unknown type %llu of elements", (unsigned long long)word);
	*out = (enum kgb_dtype)word;
	return 0;
}

static void take_dims(struct cursor *in, uint32_t n, int64_t out[KGB_TORCH_MOVE_DIMS])
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (int64_t)take(in);
}

static int take_move(struct cursor *in, struct kgb_torch_move *out, struct kgb_err *err)
{
	out->dst.address = take(in);
	if (take_dtype(in, &out->dst.dtype, err) < 0)
		return -1;
	if (out->is_copy) {
		out->src.address = take(in);
		if (take_dtype(in, &out->src.dtype, err) < 0)
			return -1;
	} else {
		out->value[0] = take(in);
		out->value[1] = take(in);
	}
	const uint64_t n_dims = take(in);
	if (n_dims > KGB_TORCH_MOVE_DIMS)
		return refuse(err, "%llu dimensions", (unsigned long long)n_dims);
	out->n_dims = (uint32_t)n_dims;
	if (in->left != n_dims * (out->is_copy ? 3 : 2))
		return refuse(err, "%zu words for sizes and strides of %u dimensions", in->left,
			      out->n_dims);
	take_dims(in, out->n_dims, out->sizes);
	take_dims(in, out->n_dims, out->dst.strides);
	if (out->is_copy)
		take_dims(in, out->n_dims, out->src.strides);
	return 0;
}

static int check_sizes(const struct kgb_torch_move *move, struct kgb_err *err)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < move->n_dims; i++)
		if (move->sizes[i] < 0 || __builtin_mul_overflow(n, move->sizes[i], &n) ||
		    n > KGB_TORCH_MOVE_ELEMENTS_MAX)
			return refuse(err, "dimension %u has %lld elements", i,
				      (long long)move->sizes[i]);
	return 0;
}

/* Bytes from the first to the last element; all sizes are at least 1. */
static int measure(const struct kgb_torch_move *move, const struct kgb_torch_side *side,
		   uint64_t *out)
{
	int64_t reach = 1, step;

	for (uint32_t i = 0; i < move->n_dims; i++)
		if (side->strides[i] < 0 ||
		    __builtin_mul_overflow(move->sizes[i] - 1, side->strides[i], &step) ||
		    __builtin_add_overflow(reach, step, &reach))
			return -1;
	return __builtin_mul_overflow((uint64_t)reach, (uint64_t)kgb_dtype_size(side->dtype), out)
		       ? -1
		       : 0;
}

static int check_side(const struct kgb_torch_move *move, const struct kgb_torch_side *side,
		      const char *name, struct kgb_err *err)
{
	uint64_t bytes = 0, end;

	if (kgb_torch_move_elements(move) == 0)
		return 0;
	if (measure(move, side, &bytes) < 0 || __builtin_add_overflow(side->address, bytes, &end))
		return refuse(err, "the %s at 0x%llx has no end", name,
			      (unsigned long long)side->address);
	return 0;
}

/* Refuses bits beyond the type's size, so that a fill has only one form. */
static int check_value(const struct kgb_torch_move *move, struct kgb_err *err)
{
	static const unsigned char zeros[sizeof(move->value)];
	const size_t size = kgb_dtype_size(move->dst.dtype);

	if (memcmp((const char *)move->value + size, zeros, sizeof(move->value) - size) != 0)
		return refuse(err, "a value of more than %zu bytes", size);
	return 0;
}

int kgb_torch_move_parse(const struct kgb_launch *launch, struct kgb_torch_move *out,
			 struct kgb_err *err)
{
	struct cursor in = {.bytes = launch->params, .left = launch->params_bytes / WORD};
	struct kgb_torch_move move = {.is_copy = strcmp(launch->kernel, KGB_TORCH_COPY) == 0};

	if (!move.is_copy && strcmp(launch->kernel, KGB_TORCH_FILL) != 0)
		return refuse(err, "no kernel '%.100s'", launch->kernel);
	for (size_t i = 0; i < 3; i++)
		if (launch->grid[i] != 1 || launch->block[i] != 1)
			return refuse(err, "a grid or block of more than one");
	if (launch->params_bytes % WORD != 0)
		return refuse(err, "%u bytes of parameters", launch->params_bytes);
	if (take_move(&in, &move, err) < 0 || check_sizes(&move, err) < 0 ||
	    check_side(&move, &move.dst, "destination", err) < 0)
		return -1;
	if ((move.is_copy ? check_side(&move, &move.src, "source", err) : check_value(&move, err)) <
	    0)
		return -1;
	*out = move;
	return 0;
}

static size_t put_dims(uint64_t *out, size_t at, const int64_t *dims, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out[at++] = (uint64_t)dims[i];
	return at;
}

size_t kgb_torch_move_words(const struct kgb_torch_move *move,
			    uint64_t out[KGB_TORCH_MOVE_WORDS_MAX])
{
	size_t n = 0;

	out[n++] = move->dst.address;
	out[n++] = (uint64_t)move->dst.dtype;
	out[n++] = move->is_copy ? move->src.address : move->value[0];
	out[n++] = move->is_copy ? (uint64_t)move->src.dtype : move->value[1];
	out[n++] = move->n_dims;
	n = put_dims(out, n, move->sizes, move->n_dims);
	n = put_dims(out, n, move->dst.strides, move->n_dims);
	return move->is_copy ? put_dims(out, n, move->src.strides, move->n_dims) : n;
}

int64_t kgb_torch_move_elements(const struct kgb_torch_move *move)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < move->n_dims; i++)
		n *= move->sizes[i];
	return n;
}

size_t kgb_torch_move_ranges(const struct kgb_torch_move *move,
			     struct kgb_op_range out[KGB_OP_RANGES_MAX])
{
	const bool empty = kgb_torch_move_elements(move) == 0;
	uint64_t bytes = 0;

	if (!empty)
		(void)measure(move, &move->dst, &bytes);
	out[0] = (struct kgb_op_range){"destination", move->dst.address, bytes};
	if (!move->is_copy)
		return 1;
	if (!empty)
		(void)measure(move, &move->src, &bytes);
	out[1] = (struct kgb_op_range){"source", move->src.address, bytes};
	return 2;
}
