/* SPDX-License-Identifier: MIT */
#include "verify/machine/families.h"

#define OPERANDS_MAX 16
#define FOLD_BITS_MAX 3 /* at most 2^3 elements or parts are combined one after the other */

/* ---- checks ---- */

/* Adds the values of a combine region's arguments: `times` values for each operand. */
static const uint32_t *add_arguments(struct kgb_builder *b, const struct kgb_operation *op,
				     const struct kgb_ttir_region *text, uint32_t times,
				     size_t width)
{
	const struct kgb_ttir_block *block = &text->blocks[0];
	uint32_t *arguments = kgb_builder__list(b, (size_t)op->n_in * times);

	if (block->n_arguments != op->n_in * times) {
		kgb_builder__fail(b, "%u arguments of its region", block->n_arguments);
		return NULL;
	}
	for (uint32_t k = 0; k < block->n_arguments; k++) {
		const struct kgb_ttir_type *operand = kgb_builder__type(b, op->in[k % op->n_in]);
		struct kgb_ttir_type type = *operand;
		type.rank = 0;
		if (!kgb_ttir_same_type(&type, &block->arguments[k].type)) {
			kgb_builder__fail(b, "argument %u of its region has another type", k);
			return NULL;
		}
		arguments[k] = kgb_builder__add_value(b, &type, 0);
		if (b->failed)
			return NULL;
		struct kgb_value *value = &b->values.items[arguments[k]];
		value->is_wide = true;
		value->bytes = width * kgb_ttir_element_size((enum kgb_ttir_element)type.element);
		value->first = op->position;
	}
	return arguments;
}

/* Checks that the operands are blocks of one shape, and makes them dense. */
static bool check_shapes(struct kgb_builder *b, struct kgb_operation *op,
			 const struct kgb_ttir_statement *s)
{
	const struct kgb_ttir_type first = *kgb_builder__type(b, op->in[0]);

	if (s->n_regions != 1 || op->n_in > OPERANDS_MAX || first.rank == 0) {
		kgb_builder__fail(b, "blocks and one region expected");
		return false;
	}
	for (uint32_t k = 0; k < op->n_in; k++) {
		const struct kgb_ttir_type *type = kgb_builder__type(b, op->in[k]);
		if (!kgb_ttir_same_shape(type, &first) || type->element == KGB_TTIR_DESCRIPTOR) {
			kgb_builder__fail(b, "operands of different shapes");
			return false;
		}
	}
	kgb_builder__dense_in(b, op, 0);
	return !b->failed;
}

/* number[0]: the size of the axis; number[1] and number[2]: the products of the sizes of the axes
 * behind and in front of it. */
static bool set_axis(struct kgb_builder *b, struct kgb_operation *op,
		     const struct kgb_ttir_statement *s)
{
	const struct kgb_ttir_type *type = kgb_builder__type(b, op->in[0]);
	const int64_t axis = kgb_ttir_integer(s, "axis", -1);

	if (axis < 0 || axis >= type->rank) {
		kgb_builder__fail(b, "axis %lld", (long long)axis);
		return false;
	}
	op->number[0] = type->shape[axis];
	op->number[1] = op->number[2] = 1;
	for (int i = (int)axis + 1; i < type->rank; i++)
		op->number[1] *= type->shape[i];
	for (int i = 0; i < axis; i++)
		op->number[2] *= type->shape[i];
	return true;
}

/* Whether the order of the elements changes the operation's result only by rounding. */
static bool is_any_order(const char *name)
{
	static const char *const names[] = {
		"arith.addi",  "arith.addf",    "arith.muli",    "arith.mulf",     "arith.andi",
		"arith.ori",   "arith.xori",    "arith.maxsi",   "arith.maxui",    "arith.minsi",
		"arith.minui", "arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf",
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* A region of one such operation, on its two arguments in order, runs as a loop over lanes. */
static void find_loop(struct kgb_operation *op)
{
	const struct kgb_region *region = op->regions[0];
	const uint32_t *arguments = region->blocks[0].arguments;

	if (region->n_operations != 2 || op->n_in != 1)
		return;
	const struct kgb_operation *inner = region->operations[0];
	if (inner->run == kgb_elementwise_run && inner->n_in == 2 &&
	    inner->via == KGB_VIA_NOTHING && is_any_order(inner->name) &&
	    inner->in[0] == arguments[0] && inner->in[1] == arguments[1] &&
	    region->operations[1]->in[0] == inner->out[0])
		op->lanes = inner->lanes;
}

static void build_region(struct kgb_builder *b, struct kgb_operation *op,
			 const struct kgb_ttir_statement *s, size_t width, enum kgb_end end)
{
	const uint32_t times = end == KGB_END_MAP ? 1 : 2;
	const uint32_t n = end == KGB_END_REDUCE ? 2 * op->n_in : op->n_in;
	uint32_t scratch[2 * OPERANDS_MAX] = {0};

	for (uint32_t k = 0; k < n; k++) {
		const struct kgb_ttir_type *type = kgb_builder__type(b, op->in[k % op->n_in]);
		scratch[k] =
			kgb_builder__add_scratch(b, (enum kgb_ttir_element)type->element, width);
	}
	kgb_builder__set_scratch(b, op, n, scratch);
	kgb_builder__place(b, op);
	if (b->failed)
		return;
	const uint32_t *arguments = add_arguments(b, op, &s->regions[0], times, width);
	/* It yields values of the arguments' types, or for a map of the results' types. */
	if (arguments)
		(void)kgb_builder__region_with_end(b, op, &s->regions[0], arguments, width, end,
						   end == KGB_END_MAP ? op->out : arguments,
						   end == KGB_END_MAP ? op->n_out : op->n_in);
	if (!b->failed)
		find_loop(op);
}

KGB_BUILD(kgb_reduce_build)
{
	const int64_t axis = kgb_ttir_integer(s, "axis", -1);
	uint32_t out[OPERANDS_MAX];

	if (!check_shapes(b, op, s) || !set_axis(b, op, s))
		return;
	for (uint32_t k = 0; k < op->n_in; k++) {
		struct kgb_ttir_type type = *kgb_builder__type(b, op->in[k]);
		memmove(type.shape + axis, type.shape + axis + 1,
			(type.rank - (size_t)axis - 1) * sizeof(*type.shape));
		type.shape[--type.rank] = 0;
		out[k] = kgb_builder__add_value(b, &type, 0);
	}
	kgb_builder__set_out(b, op, op->n_in, out);
	size_t lanes = kgb_ttir_lanes(kgb_builder__type(b, op->in[0]));
	op->cost += (uint32_t)(lanes / 16);
	build_region(b, op, s, lanes > 1 ? lanes / 2 : 1, KGB_END_REDUCE);
}

KGB_BUILD(kgb_scan_build)
{
	uint32_t out[OPERANDS_MAX];

	if (!check_shapes(b, op, s) || !set_axis(b, op, s))
		return;
	for (uint32_t k = 0; k < op->n_in; k++) {
		const struct kgb_ttir_type type = *kgb_builder__type(b, op->in[k]);
		out[k] = kgb_builder__add_value(b, &type, 0);
	}
	kgb_builder__set_out(b, op, op->n_in, out);
	op->number[3] = kgb_ttir_integer(s, "reverse", 0);
	size_t lanes = kgb_ttir_lanes(kgb_builder__type(b, op->in[0]));
	op->cost += (uint32_t)(lanes / 4);
	build_region(b, op, s, lanes, KGB_END_SCAN);
}

/* Maps: the region computes each lane of the results from the same lane of the operands. */
KGB_BUILD(kgb_map_build)
{
	uint32_t out[OPERANDS_MAX];

	if (!check_shapes(b, op, s))
		return;
	if (kgb_ttir_integer(s, "pack", 1) != 1 || s->n_out_types > OPERANDS_MAX) {
		kgb_builder__unsupported(b, "several lanes in one call");
		return;
	}
	for (uint32_t k = 0; k < s->n_out_types; k++) {
		if (!kgb_ttir_same_shape(&s->out_types[k], kgb_builder__type(b, op->in[0])))
			kgb_builder__fail(b, "results of another shape");
		out[k] = kgb_builder__add_value(b, &s->out_types[k], 0);
	}
	kgb_builder__set_out(b, op, s->n_out_types, out);
	size_t lanes = kgb_ttir_lanes(kgb_builder__type(b, op->in[0]));
	op->cost += (uint32_t)(lanes / 16);
	build_region(b, op, s, lanes, KGB_END_MAP);
}

/* ---- the region on many combinations ---- */

static size_t size_of(const struct kgb_execution *x, uint32_t value)
{
	return kgb_ttir_element_size(
		(enum kgb_ttir_element)kgb_execution__value(x, value)->type.element);
}

/* Copies n elements of a result of the region; a result that is not wide has the same element for
 * all combinations. */
static void take(struct kgb_execution *x, uint32_t from, size_t n, uint8_t *to)
{
	const size_t size = size_of(x, from);

	KGB_ASSERT(to && x->at[from]);
	if (kgb_execution__value(x, from)->is_wide)
		memcpy(to, x->at[from], n * size);
	else
		kgb_execution__fill(to, x->at[from], size, n);
}

static int run_narrow(struct kgb_execution *x, const struct kgb_operation *op, size_t n,
		      uint8_t *const *to)
{
	const struct kgb_region *region = op->regions[0];
	const struct kgb_machine_block *block = &region->blocks[0];

	x->width = 1;
	for (size_t i = 0; i < n; i++) {
		/* The region reads the first element of an argument: put element i there. */
		for (uint32_t k = 0; i > 0 && k < block->n_arguments; k++) {
			uint8_t *argument = x->at[block->arguments[k]];
			const size_t size = size_of(x, block->arguments[k]);
			memcpy(argument, argument + i * size, size);
		}
		if (kgb_execution__region(x, region) < 0)
			return -1;
		for (uint32_t k = 0; k < x->last->n_in; k++)
			take(x, x->last->in[k], 1, to[k] + i * size_of(x, x->last->in[k]));
	}
	return 0;
}

/* Runs the region on the first n elements of its arguments; to[k] gets n elements of result k. */
static int run_combinations(struct kgb_execution *x, const struct kgb_operation *op, size_t n,
			    uint8_t *const *to)
{
	const struct kgb_region *region = op->regions[0];
	const size_t outer_width = x->width;
	int rc;

	x->fuel -= (int64_t)(n / 64 * region->n_operations);
	if (region->is_narrow) {
		rc = run_narrow(x, op, n, to);
	} else {
		x->width = n;
		rc = kgb_execution__region(x, region);
		for (uint32_t k = 0; rc == 0 && k < x->last->n_in; k++)
			take(x, x->last->in[k], n, to[k]);
	}
	x->width = outer_width;
	return rc;
}

/* ---- reductions: each fold combines the elements whose numbers along the axis differ only in
 * some bits, until one element is left; the seed draws the bits and the left operand ---- */

/* Copies `count` elements of each row, from element `first` on. A row of `from` has `apart`
 * elements. */
static void collect(uint8_t *to, const uint8_t *from, size_t rows, size_t apart, size_t first,
		    size_t count, size_t size)
{
	KGB_ASSERT(to && from);
	for (size_t r = 0; r < rows; r++)
		memcpy(to + r * count * size, from + (r * apart + first) * size, count * size);
}

/* A fold: in each of `rows` rows, `n` parts of `count` elements become one part. */
struct fold {
	size_t rows, n, count;
};

/* Combines part 0 with part 1, the result with part 2, and so on. */
static int fold_parts(struct kgb_execution *x, const struct kgb_operation *op,
		      const struct fold *fold, const uint8_t *const *from, uint8_t *const *to)
{
	const uint32_t *arguments = op->regions[0]->blocks[0].arguments;
	const size_t apart = fold->n * fold->count, n = fold->rows * fold->count;

	for (uint32_t k = 0; k < op->n_in; k++)
		collect(to[k], from[k], fold->rows, apart, 0, fold->count, size_of(x, op->in[k]));
	for (size_t i = 1; i < fold->n; i++) {
		const uint32_t left = kgb_execution__draw(x) & 1 ? op->n_in : 0;
		for (uint32_t k = 0; k < op->n_in; k++) {
			const size_t size = size_of(x, op->in[k]);
			memcpy(x->at[arguments[left + k]], to[k], n * size);
			collect(x->at[arguments[op->n_in - left + k]], from[k], fold->rows, apart,
				i * fold->count, fold->count, size);
		}
		if (run_combinations(x, op, n, to) < 0)
			return -1;
	}
	return 0;
}

/* Draws the bits that a fold removes from the numbers of 2^bits elements: one to three bits side
 * by side, at any place. */
static struct fold draw_fold(struct kgb_execution *x, const struct kgb_operation *op, uint32_t bits)
{
	const uint32_t most = bits < FOLD_BITS_MAX ? bits : FOLD_BITS_MAX;
	const uint64_t drawn = kgb_execution__draw(x);
	const uint32_t n = 1 + (uint32_t)(drawn % most);
	const uint32_t low = (uint32_t)((drawn >> 32) % (bits - n + 1));

	return (struct fold){.rows = (size_t)op->number[2] << (bits - n - low),
			     .n = (size_t)1 << n,
			     .count = (size_t)op->number[1] << low};
}

static int reduce_region(struct kgb_execution *x, const struct kgb_operation *op)
{
	const uint8_t *from[OPERANDS_MAX] = {NULL};
	uint8_t *to[2 * OPERANDS_MAX] = {NULL};
	const size_t n = (size_t)(op->number[1] * op->number[2]);
	uint32_t half = 0;

	for (uint32_t k = 0; k < op->n_in; k++)
		from[k] = x->at[op->in[k]];
	for (uint32_t k = 0; k < op->n_scratch; k++)
		to[k] = x->at[op->scratch[k]];
	for (uint32_t bits = (uint32_t)__builtin_ctzll((uint64_t)op->number[0]); bits > 0;) {
		const struct fold fold = draw_fold(x, op, bits);
		if (fold_parts(x, op, &fold, from, to + half) < 0)
			return -1;
		for (uint32_t k = 0; k < op->n_in; k++)
			from[k] = to[half + k];
		half = op->n_in - half;
		bits -= (uint32_t)__builtin_ctzll(fold.n);
	}
	for (uint32_t k = 0; k < op->n_in; k++)
		memcpy(x->at[op->out[k]], from[k], n * size_of(x, op->in[k]));
	return 0;
}

/* Combines the two halves of the axis until one element is left. */
static void reduce_loop(struct kgb_execution *x, const struct kgb_operation *op)
{
	const size_t inner = (size_t)op->number[1], rows = (size_t)op->number[2];
	const size_t size = size_of(x, op->in[0]);
	uint8_t *const buffers[2] = {x->at[op->scratch[0]], x->at[op->scratch[1]]};
	const uint8_t *from = x->at[op->in[0]];
	unsigned next = 0;

	for (size_t axis = (size_t)op->number[0]; axis > 1; axis /= 2, next ^= 1) {
		const size_t half = axis / 2 * inner;
		for (size_t r = 0; r < rows; r++) {
			const uint8_t *row = from + r * 2 * half * size;
			op->lanes(buffers[next] + r * half * size, row, row + half * size, NULL, 3,
				  half);
		}
		from = buffers[next];
	}
	memcpy(x->at[op->out[0]], from, rows * inner * size);
}

KGB_RUN(kgb_reduce_run)
{
	if (!op->lanes)
		return reduce_region(x, op);
	reduce_loop(x, op);
	return 0;
}

/* ---- scans: the seed draws the number of parts of the axis. In each part, an element is combined
 * with those at distance 1, 2, 4, ... in front of it; then the elements of each part are combined
 * with the last element of the part in front. ---- */

/* The opposite of collect. */
static void spread(uint8_t *to, const uint8_t *from, size_t rows, size_t apart, size_t first,
		   size_t count, size_t size)
{
	KGB_ASSERT(to && from);
	for (size_t r = 0; r < rows; r++)
		memcpy(to + (r * apart + first) * size, from + r * count * size, count * size);
}

/* Copies the elements of the axis, in the opposite order if number[3] is set. */
static void copy_axis(const struct kgb_operation *op, uint8_t *to, const uint8_t *from, size_t size)
{
	const size_t axis = (size_t)op->number[0], rows = (size_t)op->number[2];
	const size_t bytes = (size_t)op->number[1] * size;

	if (!op->number[3]) {
		memcpy(to, from, rows * axis * bytes);
		return;
	}
	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; i < axis; i++)
			memcpy(to + (r * axis + i) * bytes,
			       from + (r * axis + axis - 1 - i) * bytes, bytes);
}

static int scan_step(struct kgb_execution *x, const struct kgb_operation *op, uint8_t *const *at,
		     uint8_t *const *results, size_t part, size_t distance)
{
	const size_t axis = (size_t)op->number[0], inner = (size_t)op->number[1];
	const size_t rows = (size_t)op->number[2] * (axis / part), row = part * inner;
	const size_t shift = distance * inner, count = row - shift;
	const uint32_t *arguments = op->regions[0]->blocks[0].arguments;

	for (uint32_t k = 0; k < op->n_in; k++) {
		const size_t size = size_of(x, op->in[k]);
		collect(x->at[arguments[k]], at[k], rows, row, 0, count, size);
		collect(x->at[arguments[op->n_in + k]], at[k], rows, row, shift, count, size);
	}
	if (op->lanes)
		op->lanes(results[0], x->at[arguments[0]], x->at[arguments[1]], NULL, 3,
			  rows * count);
	else if (run_combinations(x, op, rows * count, results) < 0)
		return -1;
	for (uint32_t k = 0; k < op->n_in; k++)
		spread(at[k], results[k], rows, row, shift, count, size_of(x, op->in[k]));
	return 0;
}

/* Combines each element of part i with the last element of the part in front. */
static int scan_part(struct kgb_execution *x, const struct kgb_operation *op, uint8_t *const *at,
		     uint8_t *const *results, size_t part, size_t i)
{
	const size_t inner = (size_t)op->number[1], rows = (size_t)op->number[2];
	const size_t row = (size_t)op->number[0] * inner, count = part * inner, first = i * count;
	const uint32_t *arguments = op->regions[0]->blocks[0].arguments;

	for (uint32_t k = 0; k < op->n_in; k++) {
		const size_t size = size_of(x, op->in[k]);
		for (size_t j = 0; j < rows * part; j++)
			memcpy(x->at[arguments[k]] + j * inner * size,
			       at[k] + (j / part * row + first - inner) * size, inner * size);
		collect(x->at[arguments[op->n_in + k]], at[k], rows, row, first, count, size);
	}
	if (run_combinations(x, op, rows * count, results) < 0)
		return -1;
	for (uint32_t k = 0; k < op->n_in; k++)
		spread(at[k], results[k], rows, row, first, count, size_of(x, op->in[k]));
	return 0;
}

static size_t draw_part(struct kgb_execution *x, const struct kgb_operation *op)
{
	const size_t axis = (size_t)op->number[0];
	const size_t part = axis >> kgb_execution__draw(x) % (FOLD_BITS_MAX + 1);

	return op->lanes ? axis : part ? part : 1;
}

KGB_RUN(kgb_scan_run)
{
	uint8_t *at[OPERANDS_MAX] = {NULL}, *results[OPERANDS_MAX] = {NULL};
	const size_t axis = (size_t)op->number[0], part = draw_part(x, op);
	const size_t n = (size_t)(op->number[0] * op->number[1] * op->number[2]);

	for (uint32_t k = 0; k < op->n_in; k++) {
		at[k] = x->at[op->out[k]];
		results[k] = x->at[op->scratch[k]];
		copy_axis(op, at[k], x->at[op->in[k]], size_of(x, op->in[k]));
	}
	for (size_t distance = 1; distance < part; distance *= 2)
		if (scan_step(x, op, at, results, part, distance) < 0)
			return -1;
	for (size_t i = 1; i < axis / part; i++)
		if (scan_part(x, op, at, results, part, i) < 0)
			return -1;
	for (uint32_t k = 0; op->number[3] && k < op->n_in; k++) {
		const size_t size = size_of(x, op->in[k]);
		KGB_ASSERT(at[k] && results[k]);
		memcpy(results[k], at[k], n * size);
		copy_axis(op, at[k], results[k], size);
	}
	return 0;
}

KGB_RUN(kgb_map_run)
{
	const size_t n = kgb_ttir_lanes(&kgb_execution__value(x, op->in[0])->type);
	const uint32_t *arguments = op->regions[0]->blocks[0].arguments;
	uint8_t *to[OPERANDS_MAX] = {NULL};

	for (uint32_t k = 0; k < op->n_in; k++)
		memcpy(x->at[arguments[k]], x->at[op->in[k]], n * size_of(x, op->in[k]));
	for (uint32_t k = 0; k < op->n_out; k++)
		to[k] = x->at[op->out[k]];
	return run_combinations(x, op, n, to);
}
