/* SPDX-License-Identifier: MIT */
#include "verify/ablation/result_origin.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
	LENGTH = 4, /* of a group of neighbours, in elements */
	LENGTH_OF_BYTES = 8, /* for elements so small that four would match by chance */
	LEAST_DISTINCT = 3, /* least different elements of a group, because fills are common */
	LEAST_GROUPS = 8,
	PIECE = 4096, /* bytes of memory that are compared at once with what they were */
	REACH = 512, /* more than a group spans, in bytes: LENGTH_OF_BYTES elements of 16, 4 apart
		      */
	LEAST_VALUES = 8, /* least different elements of a result, because signs and flags are
			     common in any order */
};

/* Distances in memory between neighbours of a result, in elements. */
static const int64_t steps[] = {1, 2, 3, 4, -1};

/* A set of groups by their hashes; 0 is an empty slot. */
struct groups {
	uint64_t *hashes;
	unsigned char *seen; /* in an input, or in memory */
	size_t mask;
	size_t n; /* that no input has */
};

struct kgb_neighbours {
	enum kgb_dtype dtype;
	size_t size, length; /* of an element, in bytes; of a group, in elements */
	bool as_is; /* do not compare elements in another type: for copies, if copying is the work,
		       because the input lies in memory; for fills, because random floats convert to
		       0 */
	size_t weight; /* of a group: its multiplicity */
	struct groups groups; /* of the result */
};

/* ---- sets ---- */

static void groups_init(struct groups *groups, size_t n_max)
{
	size_t slots = 64;

	while (slots < 2 * n_max + 2)
		slots *= 2;
	*groups = (struct groups){
		.hashes = kgb_xcalloc(slots, sizeof(*groups->hashes)),
		.seen = kgb_xcalloc(slots, 1),
		.mask = slots - 1,
	};
}

static void groups_release(struct groups *groups)
{
	kgb_free(groups->hashes);
	kgb_free(groups->seen);
}

/* The slot of a hash, or the empty slot for it. */
static size_t slot_of(const struct groups *groups, uint64_t hash)
{
	size_t i = (size_t)(hash >> 20) & groups->mask;

	while (groups->hashes[i] != 0 && groups->hashes[i] != hash)
		i = (i + 1) & groups->mask;
	return i;
}

static void groups_add(struct groups *groups, uint64_t hash)
{
	const size_t i = slot_of(groups, hash);

	if (groups->hashes[i] == hash)
		return;
	groups->hashes[i] = hash;
	groups->n++;
}

/* Whether the set has this hash, and sees it for the first time. */
static bool groups_see(struct groups *groups, uint64_t hash)
{
	const size_t slot = slot_of(groups, hash);

	if (groups->hashes[slot] == 0 || groups->seen[slot])
		return false;
	groups->seen[slot] = 1;
	return true;
}

/* ---- groups ---- */

static uint64_t element_hash(const char *at, size_t size)
{
	uint64_t words[2] = {0};
	uint32_t four;
	uint16_t two;

	if (size == sizeof(four)) { /* a copy of a known size is one instruction */
		memcpy(&four, at, sizeof(four));
		words[0] = four;
	} else if (size == sizeof(two)) {
		memcpy(&two, at, sizeof(two));
		words[0] = two;
	} else {
		memcpy(words, at, size);
	}
	return (words[0] ^ words[1] * UINT64_C(0x9e3779b97f4a7c15)) + 1;
}

/* Hash of `length` elements from `at` on, `step` elements apart. Never 0. */
static uint64_t group_hash(const struct kgb_neighbours *of, const char *at, int64_t step)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < of->length; i++) {
		hash ^= element_hash(at + (int64_t)i * step * (int64_t)of->size, of->size);
		hash *= UINT64_C(0xff51afd7ed558ccd); /* the finalizer of MurmurHash3 */
		hash ^= hash >> 32;
	}
	return hash != 0 ? hash : 1;
}

static bool is_varied(const struct kgb_neighbours *of, const char *at)
{
	size_t n_distinct = 0;

	for (size_t i = 0; i < of->length; i++) {
		bool is_new = true;
		for (size_t k = 0; k < i && is_new; k++)
			is_new = memcmp(at + i * of->size, at + k * of->size, of->size) != 0;
		n_distinct += is_new;
	}
	return n_distinct >= LEAST_DISTINCT;
}

/* Whether enough elements differ, so that no group matches by chance. */
static bool is_rich(const struct kgb_neighbours *of, const char *elements, size_t n)
{
	const char *values[LEAST_VALUES];
	size_t n_values = 0;

	for (size_t i = 0; i < n && n_values < LEAST_VALUES; i++) {
		const char *at = elements + i * of->size;
		bool is_new = true;
		for (size_t k = 0; k < n_values && is_new; k++)
			is_new = memcmp(values[k], at, of->size) != 0;
		if (is_new)
			values[n_values++] = at;
	}
	return n_values == LEAST_VALUES;
}

static size_t n_groups_of(const struct kgb_neighbours *of, size_t n_elements)
{
	return n_elements < of->length ? 0 : n_elements - of->length + 1;
}

/* ---- elements in another type ---- */

static bool is_convertible(enum kgb_dtype from, enum kgb_dtype to)
{
	return from == to || (!kgb_dtype_is_complex(from) && !kgb_dtype_is_complex(to));
}

/* n elements in the result's type; NULL: no conversion. The caller frees *converted. */
static const char *as_result(const struct kgb_neighbours *of, enum kgb_dtype from,
			     const void *elements, size_t n, char **converted)
{
	*converted = NULL;
	if (from == of->dtype)
		return elements;
	if (!is_convertible(from, of->dtype))
		return NULL;
	KGB_AUTO(free) double *values = kgb_xreallocarray(NULL, n + 1, sizeof(*values));
	*converted = kgb_xreallocarray(NULL, n + 1, of->size);
	kgb_dtype_load_array(from, elements, n, values);
	kgb_dtype_store_array(of->dtype, values, n, *converted);
	return *converted;
}

/* ---- groups that are new in a result ---- */

/* Call `fn` with the hash of each group among n elements, at each of the distances. */
static void each_group(const struct kgb_neighbours *of, const char *elements, size_t n,
		       void (*fn)(uint64_t hash, void *payload), void *payload)
{
	for (size_t k = 0; k < KGB_ARRAY_LEN(steps); k++) {
		const int64_t reach = (int64_t)(of->length - 1) * steps[k];
		const int64_t first = reach < 0 ? -reach : 0;
		const int64_t end = (int64_t)n - (reach > 0 ? reach : 0);
		for (int64_t i = first; i < end; i++)
			fn(group_hash(of, elements + (size_t)i * of->size, steps[k]), payload);
	}
}

static void leave_out(uint64_t hash, void *groups)
{
	if (groups_see(groups, hash))
		((struct groups *)groups)->n--;
}

/* Leave out the groups that the input's elements have in their order in memory, and in row-major
 * order unless producing that order is the operator's work. */
static void leave_out_input(struct kgb_neighbours *of, const struct kgb_tensor_view *view,
			    const char *storage, const struct kgb_truth *truth, bool alone)
{
	const size_t n = (size_t)kgb_tensor_view_numel(view);
	const size_t n_stored = (size_t)view->storage_elements;
	KGB_AUTO(free)
	char *logical = kgb_xreallocarray(NULL, n + 1, kgb_dtype_size(view->dtype));

	kgb_tensor_view_gather(view, storage, logical);
	KGB_AUTO(free) char *converted = NULL;
	KGB_AUTO(free) char *converted_too = NULL;
	const char *stored = as_result(of, view->dtype, storage, n_stored, &converted);
	const char *ordered = as_result(of, view->dtype, logical, n, &converted_too);
	const bool is_result = ordered && n == (size_t)kgb_tensor_view_numel(&truth->view) &&
			       memcmp(ordered, truth->native, n * of->size) == 0;
	if (alone && is_result) {
		of->as_is = true;
		if (view->dtype == of->dtype)
			each_group(of, stored, n_stored, leave_out, &of->groups);
		return;
	}
	const bool is_stored_in_order =
		stored && ordered && n == n_stored && memcmp(stored, ordered, n * of->size) == 0;
	if (stored)
		each_group(of, stored, n_stored, leave_out, &of->groups);
	if (ordered && !is_stored_in_order)
		each_group(of, ordered, n, leave_out, &of->groups);
}

static struct kgb_neighbours *neighbours_new(const struct kgb_case_data *data,
					     const struct kgb_truth *truth, bool alone)
{
	const size_t n = (size_t)kgb_tensor_view_numel(&truth->view);
	struct kgb_neighbours *of = kgb_xcalloc(1, sizeof(*of));

	of->dtype = truth->view.dtype;
	of->size = kgb_dtype_size(of->dtype);
	of->length = of->size == 1 ? LENGTH_OF_BYTES : LENGTH;
	groups_init(&of->groups, n);
	const bool is_fill = alone && n >= of->length && kgb_truth_is_filled(truth);
	const bool tells = is_fill || is_rich(of, truth->native, n);
	of->weight = is_fill ? LEAST_GROUPS : 1;
	of->as_is |= is_fill;
	for (size_t i = 0; tells && i < n_groups_of(of, n); i++) {
		const char *at = (const char *)truth->native + i * of->size;
		if (is_fill || is_varied(of, at))
			groups_add(&of->groups, group_hash(of, at, 1));
	}
	for (size_t i = 0; i < data->kase->n_args && of->groups.n > 0; i++)
		if (data->storages[i])
			leave_out_input(of, &data->kase->args[i].view, data->storages[i], truth,
					alone);
	return of;
}

static void add_dtype(struct kgb_result_origin *origin, enum kgb_dtype dtype)
{
	for (size_t i = 0; i < origin->n_dtypes; i++)
		if (origin->dtypes[i] == dtype)
			return;
	origin->dtypes[origin->n_dtypes++] = dtype;
}

void kgb_result_origin_init(struct kgb_result_origin *origin, const struct kgb_case_data *data,
			    bool alone)
{
	*origin = (struct kgb_result_origin){.data = data};
	kgb_random(&origin->poison, sizeof(origin->poison));
	for (size_t i = 0; i < data->kase->n_args; i++)
		if (data->storages[i])
			add_dtype(origin, data->kase->args[i].view.dtype);
	for (size_t i = 0; i < data->n_results; i++) {
		const struct kgb_truth *truth = &data->results[i];
		if (!truth->native || truth->view.dtype == KGB_DTYPE_BOOL)
			continue;
		origin->results[i] = neighbours_new(data, truth, alone);
		origin->n += origin->results[i]->groups.n * origin->results[i]->weight;
	}
}

void kgb_result_origin_release(struct kgb_result_origin *origin)
{
	for (size_t i = 0; i < origin->memories.n; i++)
		kgb_buf_release(&origin->memories.items[i]);
	KGB_VEC_RELEASE(&origin->memories);
	for (size_t i = 0; i < KGB_MAX_RESULTS; i++) {
		if (!origin->results[i])
			continue;
		groups_release(&origin->results[i]->groups);
		kgb_free(origin->results[i]);
		origin->results[i] = NULL;
	}
}

bool kgb_result_origin_suffices(const struct kgb_result_origin *origin)
{
	return origin->n >= LEAST_GROUPS;
}

bool kgb_result_origin_by_host(const struct kgb_result_origin *origin)
{
	return kgb_result_origin_suffices(origin) && 2 * origin->n_by_host >= origin->n;
}

/* ---- memory ---- */

struct look {
	struct kgb_neighbours *of;
	enum kgb_origin_writer by;
	size_t *n_by_host;
};

static void look_for(uint64_t hash, void *payload)
{
	struct look *look = payload;

	if (!groups_see(&look->of->groups, hash))
		return;
	if (look->by == KGB_ORIGIN_HOST)
		*look->n_by_host += look->of->weight;
}

static void see_as(struct kgb_neighbours *of, enum kgb_dtype dtype, const void *bytes,
		   size_t n_bytes, enum kgb_origin_writer by, size_t *n_by_host)
{
	const size_t n = n_bytes / kgb_dtype_size(dtype);
	KGB_AUTO(free) char *converted = NULL;
	const char *elements = as_result(of, dtype, bytes, n, &converted);

	struct look look = {.of = of, .by = by, .n_by_host = n_by_host};

	if (elements)
		each_group(of, elements, n, look_for, &look);
}

void kgb_result_origin_add(struct kgb_result_origin *origin, const void *bytes, size_t n_bytes,
			   enum kgb_origin_writer by)
{
	for (size_t i = 0; i < origin->data->n_results; i++) {
		struct kgb_neighbours *of = origin->results[i];
		if (!of || of->groups.n == 0)
			continue;
		see_as(of, of->dtype, bytes, n_bytes, by, &origin->n_by_host);
		for (size_t k = 0; k < origin->n_dtypes; k++)
			if (origin->dtypes[k] != of->dtype && !of->as_is)
				see_as(of, origin->dtypes[k], bytes, n_bytes, by,
				       &origin->n_by_host);
	}
}

/* Whether the piece at `at` has other bytes than before. */
static bool has_changed(const struct kgb_buf *before, const char *bytes, size_t n_bytes, size_t at)
{
	const size_t n = n_bytes - at < PIECE ? n_bytes - at : PIECE;

	return before->len != n_bytes || memcmp(before->ptr + at, bytes + at, n) != 0;
}

void kgb_result_origin_see(struct kgb_result_origin *origin, size_t place, const char *bytes,
			   size_t n_bytes, enum kgb_origin_writer by)
{
	KGB_ASSERT(place <= origin->memories.n);
	if (place == origin->memories.n)
		KGB_VEC_ADD(&origin->memories, (struct kgb_buf)KGB_BUF_INIT(0));
	struct kgb_buf *before = &origin->memories.items[place];

	for (size_t at = 0; at < n_bytes; at += PIECE) {
		const size_t first = at;
		while (at < n_bytes && has_changed(before, bytes, n_bytes, at))
			at += PIECE;
		if (at == first)
			continue;
		const size_t begin = first < REACH ? 0 : first - REACH;
		const size_t end = at + REACH < n_bytes ? at + REACH : n_bytes;
		kgb_result_origin_add(origin, bytes + begin, end - begin, by);
	}
	kgb_buf_clear(before);
	(void)kgb_buf_add(before, bytes, n_bytes);
}
