/* SPDX-License-Identifier: MIT */
#include <sched.h>

#include "verify/machine/families.h"
#include "verify/program/hints.h"

enum {
	STORE_TRIES = 64, /* attempts to log a store that races with another program's store */
};

/* ---- checks ---- */

/* Checks the mask of an access to memory: operand k, if there is one. */
static bool check_mask(struct kgb_builder *b, const struct kgb_operation *op, uint32_t k)
{
	const struct kgb_ttir_type *pointer = kgb_builder__type(b, op->in[0]);

	if (k < op->n_in) {
		const struct kgb_ttir_type *mask = kgb_builder__type(b, op->in[k]);
		if (mask->element != KGB_TTIR_I1 || !kgb_ttir_same_shape(mask, pointer)) {
			kgb_builder__fail(b, "a mask of the pointers' shape expected");
			return false;
		}
	}
	return true;
}

/* *out: the type of operand 0 with the elements that its pointers point to. */
static bool pointee(struct kgb_builder *b, const struct kgb_operation *op,
		    struct kgb_ttir_type *out)
{
	const struct kgb_ttir_type *pointer = kgb_builder__type(b, op->in[0]);
	char name[KGB_TTIR_TYPE_NAME_LEN];

	if (pointer->element != KGB_TTIR_POINTER) {
		kgb_builder__fail(b, "pointers expected, not %s",
				  kgb_ttir_type_name(pointer, name));
		return false;
	}
	*out = *pointer;
	if (pointer->depth > 1) {
		out->depth = 1;
	} else {
		out->element = pointer->pointee;
		out->pointee = out->depth = 0;
	}
	uint32_t size = (uint32_t)kgb_ttir_pointee_size(pointer);
	struct kgb_machine_program *program = b->program;
	if (program->least_access == 0 || size < program->least_access)
		program->least_access = size;
	return true;
}

/* One access serves all lanes along a collapsed axis: it then belongs to no single lane. */
static void note_lanes(struct kgb_operation *op, const struct kgb_ttir_type *type,
		       uint32_t collapsed)
{
	op->has_lanes = type->rank > 0;
	op->rows = op->columns = 1;
	for (int i = 0; i < type->rank; i++) {
		if (type->shape[i] > 1 && collapsed >> i & 1)
			op->has_lanes = false;
		op->rows *= op->columns;
		op->columns = (uint32_t)type->shape[i];
	}
}

KGB_BUILD(kgb_load_build)
{
	struct kgb_ttir_type type;

	if (!pointee(b, op, &type) || !check_mask(b, op, 1))
		return;
	if (op->n_in > 2 && !kgb_ttir_same_type(&type, kgb_builder__type(b, op->in[2]))) {
		kgb_builder__fail(b, "other values of the pointers' type expected");
		return;
	}
	kgb_hints__access(b, op, 1);
	if (b->n_loops && kgb_ttir_integer(s, "isVolatile", 0))
		b->program->may_wait = true;
	op->element = type.element;
	uint32_t collapsed = kgb_builder__collapsed(b, op, op->n_in);
	note_lanes(op, &type, collapsed);
	kgb_builder__plan(b, op, op->n_in, &type, collapsed);
	(void)kgb_builder__result(b, op, &type, collapsed);
}

KGB_BUILD(kgb_store_build)
{
	struct kgb_ttir_type type;

	(void)s;
	if (!pointee(b, op, &type) || !check_mask(b, op, 2))
		return;
	if (!kgb_ttir_same_type(&type, kgb_builder__type(b, op->in[1]))) {
		kgb_builder__fail(b, "values of the pointers' type expected");
		return;
	}
	kgb_hints__access(b, op, 2);
	op->element = type.element;
	uint32_t collapsed = kgb_builder__collapsed(b, op, op->n_in);
	note_lanes(op, &type, collapsed);
	kgb_builder__plan(b, op, op->n_in, &type, collapsed);
}

/* ---- one access ---- */

static bool is_visible(const struct kgb_memory_view *view, uint64_t address, size_t bytes)
{
	uint64_t offset = address - view->address;

	return offset < view->bytes && view->bytes - offset >= bytes;
}

/* The bytes at an address; NULL: not all of them are accessible, or they are not aligned. */
static uint8_t *find(struct kgb_execution *x, uint64_t address, size_t bytes, size_t size,
		     enum kgb_access access)
{
	struct kgb_memory_view *view = &x->view;

	if (!is_visible(view, address, bytes)) {
		const struct kgb_memory_range *range = kgb_memory__find(x->memory, address);
		if (!range)
			return NULL;
		*view = (struct kgb_memory_view){range->buffer->address, range->buffer->bytes,
						 range->buffer->data, range};
		if (!is_visible(view, address, bytes))
			return NULL;
	}
	if ((address & (size - 1)) != 0 ||
	    (access != KGB_ACCESS_READ && !view->range->buffer->is_writable))
		return NULL;
	return view->data + (address - view->address);
}

/* The fault of an impossible access. */
static int fault(struct kgb_execution *x, const struct kgb_operation *op, uint64_t address,
		 size_t bytes, size_t size, enum kgb_access access)
{
	const struct kgb_memory_range *range = kgb_memory__find(x->memory, address);

	if (!range || !kgb_memory__holds(range, address, bytes))
		return kgb_execution__fault_at(x, op, KGB_MACHINE_FAULT_ACCESS, address,
					       "in no buffer");
	if ((address & (size - 1)) != 0)
		return kgb_execution__fault_at(x, op, KGB_MACHINE_FAULT_ALIGNMENT, address,
					       "not aligned to its size");
	KGB_ASSERT(access != KGB_ACCESS_READ);
	return kgb_execution__fault_at(x, op, KGB_MACHINE_FAULT_READ_ONLY, address,
				       "written, but read only");
}

static int race(struct kgb_execution *x, const struct kgb_operation *op, uint64_t address,
		const struct kgb_mark *other, const char *how)
{
	const uint32_t *grid = x->grid, program = other->program - 1;
	const uint32_t lanes[] = {(other->lane & ~KGB_LANE_OF_NO_WARP) - 1,
				  (x->thread.lane & ~KGB_LANE_OF_NO_WARP) - 1};
	char what[112];

	if (program == x->thread.program && x->thread.lane == KGB_LANE_OF_ALL_WARPS)
		(void)snprintf(what, sizeof(what),
			       "stored by lane %u of the program and loaded by all its warps %s",
			       lanes[0], how);
	else if (program == x->thread.program)
		(void)snprintf(what, sizeof(what), "touched by lanes %u and %u of the program %s",
			       lanes[0], lanes[1], how);
	else
		(void)snprintf(what, sizeof(what), "touched by program (%u, %u, %u), too",
			       program % grid[0], program / grid[0] % grid[1],
			       program / grid[0] / grid[1]);
	return kgb_execution__fault_at(x, op, KGB_MACHINE_FAULT_RACE, address, what);
}

/* Logs an access in the range that find() returned last; a race is a fault. */
static int note(struct kgb_execution *x, const struct kgb_operation *op, uint64_t address,
		size_t bytes, enum kgb_access access)
{
	struct kgb_mark other;

	if (!x->view.range->shadow || kgb_memory__note(x->memory, x->view.range, address, bytes,
						       access, &x->thread, &other) == 0)
		return 0;
	if (access == KGB_ACCESS_READ && kgb_memory__is_missed(&other, &x->thread))
		return kgb_execution__fault_at(x, op, KGB_MACHINE_FAULT_RACE, address,
					       "stored in an earlier round of the loop, but "
					       "num_stages moves the load before that store");
	return race(x, op, address, &other, "without a barrier");
}

/* Reads an element that another program may be changing. */
static uint64_t load_element(const void *memory, size_t size)
{
	return size == 1   ? __atomic_load_n((const uint8_t *)memory, __ATOMIC_RELAXED)
	       : size == 2 ? __atomic_load_n((const uint16_t *)memory, __ATOMIC_RELAXED)
	       : size == 4 ? __atomic_load_n((const uint32_t *)memory, __ATOMIC_RELAXED)
			   : __atomic_load_n((const uint64_t *)memory, __ATOMIC_RELAXED);
}

static void store_element(void *memory, uint64_t value, size_t size)
{
	if (size == 1)
		__atomic_store_n((uint8_t *)memory, (uint8_t)value, __ATOMIC_RELAXED);
	else if (size == 2)
		__atomic_store_n((uint16_t *)memory, (uint16_t)value, __ATOMIC_RELAXED);
	else if (size == 4)
		__atomic_store_n((uint32_t *)memory, (uint32_t)value, __ATOMIC_RELAXED);
	else
		__atomic_store_n((uint64_t *)memory, value, __ATOMIC_RELAXED);
}

/* Logs a store. A store of the value that memory has already does not race. Another program may
 * have logged its store of the same value and not have stored it yet: hence several attempts. */
static int note_store(struct kgb_execution *x, const struct kgb_operation *op, uint64_t address,
		      const void *memory, uint64_t value, size_t size)
{
	struct kgb_mark other = {0};

	if (!x->view.range->shadow)
		return 0;
	for (size_t i = 0; i < STORE_TRIES; i++) {
		enum kgb_access access =
			load_element(memory, size) == value ? KGB_ACCESS_REPEAT : KGB_ACCESS_WRITE;
		if (kgb_memory__note(x->memory, x->view.range, address, size, access, &x->thread,
				     &other) == 0)
			return 0;
		(void)sched_yield();
	}
	return race(x, op, address, &other,
		    other.store == x->thread.stores ? "in one store" : "without a barrier");
}

uint8_t *kgb_access__check(struct kgb_execution *x, const struct kgb_operation *op,
			   uint64_t address, size_t bytes, size_t size, enum kgb_access access)
{
	uint8_t *data = find(x, address, bytes, size, access);

	x->thread.lane = 0;
	if (!data)
		(void)fault(x, op, address, bytes, size, access);
	return data && note(x, op, address, bytes, access) == 0 ? data : NULL;
}

/* ---- lanes of an access ---- */

/* A run of pointers with its mask and values. Each of the three has one element for each lane
 * (it moves), or one element for all lanes. */
struct lanes {
	const uint64_t *pointers;
	const uint8_t *mask; /* NULL: all lanes */
	uint8_t *values; /* loaded, or to be stored */
	bool pointers_move, mask_moves, values_move;
	size_t size; /* of an element */
	size_t n;
	uint32_t first; /* number of the first lane, as in struct kgb_thread; or of all warps */
};

static uint32_t lane_number(const struct kgb_execution *x, const struct kgb_operation *op,
			    size_t lane)
{
	const bool is_of_warp = op->has_lanes && x->memory->has_warps;

	return ((uint32_t)lane + 1) | (is_of_warp ? 0 : KGB_LANE_OF_NO_WARP);
}

enum coverage {
	COVERS_NONE,
	COVERS_SOME,
	COVERS_ALL,
};

static enum coverage covered(const uint8_t *mask, size_t n)
{
	uint8_t all = 1, any = 0;

	for (size_t i = 0; i < n; i++) {
		all &= mask[i];
		any |= mask[i];
	}
	return all ? COVERS_ALL : any ? COVERS_SOME : COVERS_NONE;
}

/* How many of the first *n lanes a mask permits. If it permits exactly the first ones, *n becomes
 * their number, and all are covered. */
static enum coverage cut(const struct lanes *lanes, size_t *n)
{
	if (!lanes->mask)
		return COVERS_ALL;
	if (!lanes->mask_moves)
		return lanes->mask[0] ? COVERS_ALL : COVERS_NONE;
	enum coverage coverage = covered(lanes->mask, *n);
	if (coverage != COVERS_SOME)
		return coverage;
	size_t last = *n;
	while (!lanes->mask[last - 1])
		last--;
	if (covered(lanes->mask, last) == COVERS_SOME)
		return COVERS_SOME;
	*n = last;
	return COVERS_ALL;
}

/* A lane's number in the program's order of dimensions: in half of the programs the last dimension
 * is the slowest one, because a compiler may give a warp a part of a column as well as of a row. */
static uint32_t in_order(const struct kgb_execution *x, const struct kgb_operation *op,
			 uint32_t lane)
{
	const uint32_t at = lane - 1;

	if (op->rows == 1 || lane & KGB_LANE_OF_NO_WARP || x->reordering & 1)
		return lane;
	return at % op->columns * op->rows + at / op->columns + 1;
}

/* The lane `i` after the first. */
static uint32_t lane_after(uint32_t first, size_t i)
{
	return first == KGB_LANE_OF_ALL_WARPS ? first : first + (uint32_t)i;
}

/* Accesses memory lane by lane. */
static int move_lanes(struct kgb_execution *x, const struct kgb_operation *op,
		      const struct lanes *lanes, bool is_store, size_t n)
{
	const enum kgb_access access = is_store ? KGB_ACCESS_WRITE : KGB_ACCESS_READ;

	KGB_ASSERT(lanes->pointers);
	for (size_t i = 0; i < n; i++) {
		if (lanes->mask && !lanes->mask[lanes->mask_moves ? i : 0])
			continue;
		uint64_t address = lanes->pointers[lanes->pointers_move ? i : 0];
		uint8_t *value = lanes->values + (lanes->values_move ? i * lanes->size : 0);
		void *memory = find(x, address, lanes->size, lanes->size, access);
		if (!memory)
			return fault(x, op, address, lanes->size, lanes->size, access);
		x->thread.lane = in_order(x, op, lane_after(lanes->first, i));
		const uint64_t stored = is_store ? load_element(value, lanes->size) : 0;
		if ((is_store ? note_store(x, op, address, memory, stored, lanes->size)
			      : note(x, op, address, lanes->size, access)) < 0)
			return -1;
		if (is_store)
			store_element(memory, stored, lanes->size);
		else
			store_element(value, load_element(memory, lanes->size), lanes->size);
	}
	return 0;
}

/* Accesses contiguous lanes by one copy. false: they are not contiguous, not accessible, or to be
 * logged lane by lane; nothing is copied then. */
static bool move_together(struct kgb_execution *x, const struct lanes *lanes, bool is_store,
			  size_t n)
{
	KGB_ASSERT(lanes->pointers);
	if (!lanes->pointers_move)
		return false;
	uint8_t *memory = find(x, lanes->pointers[0], n * lanes->size, lanes->size,
			       is_store ? KGB_ACCESS_WRITE : KGB_ACCESS_READ);
	if (!memory || x->view.range->shadow ||
	    !x->lanes->is_contiguous(lanes->pointers, lanes->size, n))
		return false;
	if (!is_store)
		memcpy(lanes->values, memory, n * lanes->size);
	else if (lanes->values_move)
		memcpy(memory, lanes->values, n * lanes->size);
	else
		kgb_execution__fill(memory, lanes->values, lanes->size, n);
	return true;
}

/* Accesses the first n lanes of a chunk: by one copy if the mask permits all of them. */
static int move_chunk(struct kgb_execution *x, const struct kgb_operation *op,
		      const struct lanes *lanes, bool is_store, enum coverage coverage, size_t n)
{
	if (coverage == COVERS_ALL && n && move_together(x, lanes, is_store, n))
		return 0;
	return move_lanes(x, op, lanes, is_store, n);
}

/* ---- loads ---- */

/* Values of lanes that the mask excludes. */
static void fill_masked(struct kgb_execution *x, const struct kgb_operation *op,
			const struct lanes *lanes, const uint8_t *other, bool other_moves)
{
	if (!other)
		kgb_execution__draw_lanes(x, (enum kgb_ttir_element)op->element, lanes->values,
					  lanes->n);
	else if (other_moves)
		memcpy(lanes->values, other, lanes->n * lanes->size);
	else
		kgb_execution__fill(lanes->values, other, lanes->size, lanes->n);
}

/* n lanes from `first` on; `lane` is the number of the first one, as in struct kgb_thread. */
static int load_run(struct kgb_execution *x, const struct kgb_operation *op,
		    const uint8_t *const *operands, unsigned moves, size_t first, size_t n,
		    uint32_t lane)
{
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	uint8_t *d = x->at[op->out[0]] + first * size;

	for (size_t i = 0; i < n; i += KGB_CHUNK) {
		struct lanes lanes = {.pointers = (const void *)operands[0],
				      .mask = operands[1],
				      .values = d + i * size,
				      .pointers_move = moves & 1,
				      .mask_moves = moves >> 1 & 1,
				      .values_move = true,
				      .size = size,
				      .n = n - i < KGB_CHUNK ? n - i : KGB_CHUNK,
				      .first = lane_after(lane, i)};
		const bool other_moves = moves >> 2 & 1;
		const uint8_t *other = operands[2];
		if (lanes.pointers_move)
			lanes.pointers += i;
		if (lanes.mask && lanes.mask_moves)
			lanes.mask += i;
		if (other && other_moves)
			other += i * size;
		size_t some = lanes.n;
		enum coverage coverage = cut(&lanes, &some);
		if (coverage != COVERS_ALL || some < lanes.n)
			fill_masked(x, op, &lanes, other, other_moves);
		if (coverage != COVERS_NONE && move_chunk(x, op, &lanes, false, coverage, some) < 0)
			return -1;
		if (op->element == KGB_TTIR_I1) /* memory may hold bytes other than 0 and 1 */
			for (size_t k = 0; k < lanes.n; k++)
				lanes.values[k] &= 1;
	}
	return 0;
}

static int load_runs(struct kgb_execution *x, const struct kgb_operation *op)
{
	const struct kgb_plan *plan = op->plan;
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	const size_t sizes[3] = {sizeof(uint64_t), 1, size};
	const size_t n = op->is_wide ? x->width : plan->run;
	const uint32_t n_lanes = op->rows * op->columns;
	const bool is_by_all = x->memory->has_warps && !op->has_lanes &&
			       (n_lanes == 1 || n_lanes > KGB_MACHINE_WARP);
	struct kgb_plan_cursor runs = {.plan = plan};

	for (; runs.i < plan->n_runs; kgb_plan_cursor__next(&runs)) {
		const uint8_t *operands[3] = {NULL, NULL, NULL};
		for (uint32_t k = 0; k < 3 && k < op->n_in; k++)
			operands[k] = x->at[op->in[k]] + runs.offset[k] * sizes[k];
		const uint32_t lane =
			is_by_all ? KGB_LANE_OF_ALL_WARPS : lane_number(x, op, runs.i * n);
		if (load_run(x, op, operands, plan->moves, runs.i * n, n, lane) < 0)
			return -1;
	}
	return 0;
}

KGB_RUN(kgb_load_run)
{
	x->thread.is_early = op->is_early;
	const int rc = load_runs(x, op);
	x->thread.is_early = false;
	return rc;
}

/* ---- stores ---- */

static int store_run(struct kgb_execution *x, const struct kgb_operation *op, struct lanes lanes)
{
	const size_t n = lanes.n;

	for (size_t i = 0; i < n; i += KGB_CHUNK) {
		size_t some = n - i < KGB_CHUNK ? n - i : KGB_CHUNK;
		enum coverage coverage = cut(&lanes, &some);
		if (coverage != COVERS_NONE && move_chunk(x, op, &lanes, true, coverage, some) < 0)
			return -1;
		if (lanes.pointers_move)
			lanes.pointers += KGB_CHUNK;
		if (lanes.values_move)
			lanes.values += KGB_CHUNK * lanes.size;
		if (lanes.mask && lanes.mask_moves)
			lanes.mask += KGB_CHUNK;
		lanes.first += KGB_CHUNK;
	}
	return 0;
}

KGB_RUN(kgb_store_run)
{
	const struct kgb_plan *plan = op->plan;
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	struct kgb_plan_cursor runs = {.plan = plan};

	x->thread.stores++;
	for (; runs.i < plan->n_runs; kgb_plan_cursor__next(&runs)) {
		struct lanes lanes = {.pointers = (const uint64_t *)(const void *)x->at[op->in[0]] +
						  runs.offset[0],
				      .values = x->at[op->in[1]] + runs.offset[1] * size,
				      .mask = op->n_in > 2 ? x->at[op->in[2]] + runs.offset[2]
							   : NULL,
				      .pointers_move = plan->moves & 1,
				      .values_move = plan->moves >> 1 & 1,
				      .mask_moves = plan->moves >> 2 & 1,
				      .size = size,
				      .n = op->is_wide ? x->width : plan->run,
				      .first = lane_number(x, op, (size_t)runs.i * plan->run)};
		if (store_run(x, op, lanes) < 0)
			return -1;
	}
	return 0;
}
