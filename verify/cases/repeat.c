/* SPDX-License-Identifier: MIT */
#include "verify/cases/repeat.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "verify/fills/fill.h"

enum {
	/* random streams of a case beyond those of its data and calls */
	REPEAT_STREAM = 4000,
	SHARE_STREAM = 5000,
	BEHIND_ONE_IN = 4, /* tensors whose template names no layout */
	ALIGN = 16, /* bytes */
	ALIASES_MAX = 4, /* of a variable whose value is another variable */
};

static bool is_read_only(const struct kgb_param *param)
{
	return param->kind == KGB_PARAM_TENSOR && param->result < 0 && !param->into &&
	       !param->is_behind;
}

/* A structured fill gives a tensor a meaning that depends on other arguments. */
static bool is_plain(const struct kgb_arg *arg)
{
	return arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent &&
	       arg->view.storage_elements > 0 && !kgb_fill_is_structured(arg->fill);
}

bool kgb_interface_can_repeat_tensors(const struct kgb_interface *interface)
{
	size_t n = 0;
	bool has_may_be = false;

	for (size_t i = 0; i < interface->n_params; i++) {
		n += is_read_only(&interface->params[i]);
		has_may_be |= interface->params[i].may_be != NULL;
	}
	return n > 1 || has_may_be;
}

/* Whether the argument can have the view `b`: any layout, where its own is a variable. */
static bool can_have_view(const struct kgb_arg *arg, const struct kgb_tensor_view *b)
{
	const struct kgb_tensor_view *a = &arg->view;
	const size_t bytes = (size_t)a->ndim * sizeof(a->sizes[0]);

	return a->dtype == b->dtype && a->ndim == b->ndim &&
	       memcmp(a->sizes, b->sizes, bytes) == 0 &&
	       (arg->param->layout[0] == '$' ||
		(a->offset == b->offset && a->storage_elements == b->storage_elements &&
		 memcmp(a->strides, b->strides, bytes) == 0));
}

static bool is_same_read(const struct kgb_read *a, const struct kgb_read *b)
{
	return a->shape == b->shape && a->is_unit == b->is_unit && a->rows == b->rows &&
	       a->columns == b->columns && a->ld == b->ld && a->stride == b->stride &&
	       a->table == b->table && a->has_mask == b->has_mask && a->mask == b->mask &&
	       a->lens == b->lens && a->dim == b->dim && a->block == b->block;
}

bool kgb_arg_has_same_fill(const struct kgb_arg *arg, const struct kgb_arg *first)
{
	return arg->fill == first->fill && arg->lo == first->lo && arg->hi == first->hi &&
	       arg->specials == first->specials && arg->bounded == first->bounded;
}

/* Whether argument i can be the tensor of argument k: both are only read, or the spec allows it.
 * Then a changed argument may have any fill, but no two elements may share a place. */
static bool can_be(const struct kgb_case *c, size_t i, size_t k)
{
	const struct kgb_arg *arg = &c->args[i], *first = &c->args[k];
	const bool is_allowed = arg->may_be_other && arg->other == k;

	if (!is_plain(arg) || !is_plain(first) || first->is_repeated ||
	    !is_same_read(&arg->read, &first->read))
		return false;
	if (!is_allowed)
		return is_read_only(arg->param) && is_read_only(first->param) &&
		       kgb_arg_has_same_fill(arg, first);
	return (arg->param->result >= 0 || kgb_arg_has_same_fill(arg, first)) &&
	       !kgb_tensor_view_may_overlap(&first->view);
}

/* Make argument i the tensor of an earlier one, or its transpose: half of square matrices are. */
static bool repeat_earlier(struct kgb_case *c, size_t i, struct kgb_rng *rng)
{
	struct kgb_arg *arg = &c->args[i];

	for (size_t k = 0; k < i; k++) {
		const struct kgb_tensor_view *view = &c->args[k].view;
		const bool is_matrix = view->ndim >= 2 && is_read_only(c->args[k].param);
		const struct kgb_tensor_view other =
			is_matrix ? kgb_tensor_view_transposed(view) : *view;
		if (!can_be(c, i, k))
			continue;
		const bool is_same = can_have_view(arg, view);
		const bool is_turned =
			is_matrix && is_read_only(arg->param) && can_have_view(arg, &other);
		if (!is_same && !is_turned)
			continue;
		arg->is_transposed = is_turned && (!is_same || kgb_rng_int(rng, 0, 1));
		arg->view = arg->is_transposed ? other : *view;
		arg->layout = c->args[k].layout;
		arg->is_repeated = true;
		arg->same_as = k;
		return true;
	}
	return false;
}

bool kgb_case_repeat_tensors(struct kgb_case *c, const struct kgb_seed *seed, bool by_chance)
{
	struct kgb_rng rng;
	size_t n = 0;

	kgb_rng_init(&rng, seed, c->name, REPEAT_STREAM);
	if (kgb_rng_int(&rng, 0, 1) == 0 && by_chance)
		return false;
	for (size_t i = 1; i < c->n_args; i++) {
		/* Of a list's tensors not all need be the same. */
		if (n == 0 || kgb_rng_int(&rng, 0, 1) == 1)
			n += repeat_earlier(c, i, &rng);
	}
	return n > 0;
}

/* ---- parts of one storage ---- */

/* Tensors of one type that get one storage. */
struct group {
	struct kgb_case *c;
	const cJSON *template; /* of the case */
	int64_t granule; /* elements: parts whose layout the template fixes begin at multiples */
	size_t members[KGB_MAX_ARGS];
	size_t order[KGB_MAX_ARGS]; /* of the members in memory */
	size_t n;
};

static struct kgb_arg *member(const struct group *group, size_t m)
{
	return &group->c->args[group->members[m]];
}

/* The member that lies at place k in memory. */
static struct kgb_arg *placed(const struct group *group, size_t k)
{
	return member(group, group->order[k]);
}

/* The data of other arguments determines what a structured fill and a mask of reads mean. */
static bool can_be_part(const struct kgb_arg *arg)
{
	return arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent && !arg->param->into &&
	       !arg->param->is_behind && kgb_tensor_view_numel(&arg->view) > 0 &&
	       arg->read.shape == KGB_READ_ALL && !kgb_fill_is_structured(arg->fill);
}

/* The tensors of the first type, from a random argument on, that at least two have. */
static bool find_group(struct kgb_case *c, const cJSON *template, struct kgb_rng *rng,
		       struct group *group)
{
	const size_t start = (size_t)kgb_rng_int(rng, 0, (int64_t)c->n_args - 1);

	for (size_t k = 0; k < c->n_args; k++) {
		const struct kgb_arg *first = &c->args[(start + k) % c->n_args];
		*group = (struct group){.c = c, .template = template};
		for (size_t i = 0; i < c->n_args && can_be_part(first); i++)
			if (can_be_part(&c->args[i]) && c->args[i].view.dtype == first->view.dtype)
				group->members[group->n++] = i;
		if (group->n >= 2)
			return true;
	}
	return false;
}

static bool repeats_a_tensor(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].is_repeated)
			return true;
	return false;
}

static bool is_any_layout(const cJSON *form)
{
	return cJSON_HasObjectItem(form, "layout") || cJSON_HasObjectItem(form, "written");
}

/* Whether the template lets the argument's layout, "$name" or "$name|...", be any: it has the form
 * `layout` or `written`, or the layout comes from such a branch of the form `if`. */
static bool has_free_layout(const struct group *group, const struct kgb_arg *arg)
{
	const char *text = arg->param->layout;
	const cJSON *node = NULL, *branch = NULL;

	for (int depth = 0; depth < ALIASES_MAX && text && text[0] == '$'; depth++) {
		KGB_AUTO(free) char *name = kgb_xstrndup(text + 1, strcspn(text + 1, "|"));
		node = cJSON_GetObjectItemCaseSensitive(group->template, name);
		text = cJSON_IsString(node) ? node->valuestring : NULL;
	}
	cJSON_ArrayForEach(branch, cJSON_GetObjectItemCaseSensitive(node, "if"))
		if (is_any_layout(branch) && !kgb_str_eq(arg->layout, "contiguous"))
			return true;
	return is_any_layout(node);
}

static bool has_same_sizes(const struct kgb_tensor_view *a, const struct kgb_tensor_view *b)
{
	return a->ndim == b->ndim &&
	       memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof(a->sizes[0])) == 0;
}

/* Give an argument the strides of the first part, or of its transpose. False: it may not. */
static bool align_layout(const struct group *group, struct kgb_arg *arg)
{
	const struct kgb_arg *first = member(group, 0);
	const struct kgb_tensor_view turned =
		first->view.ndim >= 2 ? kgb_tensor_view_transposed(&first->view) : first->view;

	if (!has_free_layout(group, arg) ||
	    (arg->param->result >= 0 && kgb_tensor_view_may_overlap(&first->view)))
		return false;
	if (has_same_sizes(&arg->view, &first->view))
		arg->view = first->view;
	else if (has_same_sizes(&arg->view, &turned))
		arg->view = turned;
	else
		return false;
	arg->layout = first->layout;
	return true;
}

/* Make tensors dense whose layout may be any, as chunks and slices of a dense tensor are. */
static void make_dense(const struct group *group)
{
	for (size_t m = 0; m < group->n; m++) {
		struct kgb_arg *arg = member(group, m);
		struct kgb_err err = KGB_ERR_INIT;
		const struct kgb_tensor_view old = arg->view;
		if (has_free_layout(group, arg) &&
		    kgb_tensor_view_layout(&arg->view, old.dtype, old.sizes, old.ndim, "contiguous",
					   &err) == 0)
			arg->layout = "contiguous";
	}
}

/* ---- one behind the other ---- */

static int64_t round_up(int64_t n, int64_t granule)
{
	return (n + granule - 1) / granule * granule;
}

/* Kernels may read single bytes as larger elements, which torch allows at their multiples only. */
static int64_t granule_of(const struct group *group, bool is_aligned)
{
	const int64_t size = (int64_t)kgb_dtype_size(member(group, 0)->view.dtype);

	return size == 1 || is_aligned ? ALIGN / size : 1;
}

/* Returns the elements of the storage. */
static int64_t put_behind(const struct group *group)
{
	int64_t used = 0;

	for (size_t m = 0; m < group->n; m++) {
		struct kgb_arg *arg = placed(group, m);
		if (!has_free_layout(group, arg))
			used = round_up(used, group->granule);
		arg->view.offset += used;
		used += arg->view.storage_elements;
	}
	return used;
}

/* ---- beside each other ---- */

/* Whether all are dense, of free layout, and differ in the size of this dimension at most. */
static bool can_be_slices(const struct group *group, int dim)
{
	const struct kgb_tensor_view *first = &member(group, 0)->view;

	for (size_t m = 0; m < group->n; m++) {
		const struct kgb_tensor_view *view = &member(group, m)->view;
		if (!has_free_layout(group, member(group, m)) ||
		    !kgb_tensor_view_is_contiguous(view) || view->ndim != first->ndim)
			return false;
		for (int d = 0; d < view->ndim; d++)
			if (d != dim && view->sizes[d] != first->sizes[d])
				return false;
	}
	return true;
}

/* The last dimension along which they can be slices of one tensor; 0: none. */
static int find_dim(const struct group *group)
{
	int dim = member(group, 0)->view.ndim - 1;

	while (dim > 0 && !can_be_slices(group, dim))
		dim--;
	return dim < 0 ? 0 : dim;
}

static int64_t put_beside(const struct group *group, int dim)
{
	struct kgb_tensor_view whole = member(group, 0)->view;
	int64_t used = 0, n = 1;

	whole.sizes[dim] = 0;
	for (size_t m = 0; m < group->n; m++)
		whole.sizes[dim] += member(group, m)->view.sizes[dim];
	for (int d = whole.ndim - 1; d >= 0; d--) {
		whole.strides[d] = n;
		n *= whole.sizes[d];
	}
	for (size_t m = 0; m < group->n; m++) {
		struct kgb_arg *arg = placed(group, m);
		memcpy(arg->view.strides, whole.strides, sizeof(whole.strides));
		arg->view.offset = used * whole.strides[dim];
		arg->layout = "sliced";
		used += arg->view.sizes[dim];
	}
	return n;
}

/* ---- windows ---- */

static bool can_be_windows(const struct group *group)
{
	const struct kgb_arg *first = member(group, 0);

	for (size_t m = 0; m < group->n; m++) {
		const struct kgb_arg *arg = member(group, m);
		if (arg->param->result >= 0 || !kgb_arg_has_same_fill(arg, first))
			return false;
	}
	return true;
}

/* Each begins `step` elements behind the one in front. */
static int64_t put_in_windows(const struct group *group, int64_t step)
{
	int64_t used = 0;

	for (size_t m = 0; m < group->n; m++) {
		struct kgb_arg *arg = placed(group, m);
		const bool is_free = has_free_layout(group, arg);
		const int64_t at = round_up((int64_t)m * step, is_free ? 1 : group->granule);
		arg->view.offset += at;
		used = used > at + arg->view.storage_elements ? used
							      : at + arg->view.storage_elements;
	}
	return used;
}

/* ---- order in memory ---- */

static void exchange(struct group *group, size_t a, size_t b)
{
	const size_t k = group->order[a];

	group->order[a] = group->order[b];
	group->order[b] = k;
}

/* Most lie in their order; else two neighbours are exchanged, or all are turned or in any order. */
static void draw_order(struct group *group, struct kgb_rng *rng)
{
	enum { KEPT = 5, EXCHANGED = 6, TURNED = 7, ORDERS = 8 };
	const int64_t card = kgb_rng_int(rng, 0, ORDERS - 1), last = (int64_t)group->n - 1;
	const size_t k = (size_t)kgb_rng_int(rng, 1, last);

	for (size_t m = 0; m < group->n; m++)
		group->order[m] = card == TURNED - 1 ? group->n - 1 - m : m;
	if (card >= KEPT && card < EXCHANGED)
		exchange(group, k - 1, k);
	for (size_t m = group->n - 1; m > 0 && card >= TURNED; m--)
		exchange(group, m, (size_t)kgb_rng_int(rng, 0, (int64_t)m));
}

/* What users do, by the cards of a deck. */
enum way {
	CHUNKS, /* dense tensors without gaps between them */
	SLICES, /* dense ones beside each other, or else chunks */
	WINDOWS, /* or else chunks */
	LOOSE, /* tensors as they were drawn, in any order */
};

/* Put the parts into one storage; returns its elements. */
static int64_t put(const struct group *group, enum way way, struct kgb_rng *rng)
{
	const struct kgb_tensor_view *first = &member(group, 0)->view;
	const bool is_row = kgb_rng_int(rng, 0, 1) == 0 && first->ndim > 0;
	const int dim = find_dim(group);

	if (way == WINDOWS && can_be_windows(group))
		return put_in_windows(group,
				      is_row && first->strides[0] > 0 ? first->strides[0] : 1);
	if (way == SLICES && dim > 0)
		return put_beside(group, dim);
	return put_behind(group);
}

bool kgb_interface_can_share_storage(const struct kgb_interface *interface)
{
	size_t n = 0;

	for (size_t i = 0; i < interface->n_params; i++)
		n += interface->params[i].kind == KGB_PARAM_TENSOR && !interface->params[i].into &&
		     !interface->params[i].is_behind;
	return n > 1;
}

bool kgb_case_share_storage(struct kgb_case *c, const cJSON *template, const struct kgb_seed *seed,
			    enum kgb_share which)
{
	static const enum way ways[] = {CHUNKS, CHUNKS, SLICES, SLICES, WINDOWS, LOOSE};
	struct group group;
	struct kgb_rng rng;
	size_t n_alike = 0;

	kgb_rng_init(&rng, seed, c->name, SHARE_STREAM);
	if ((which == KGB_SHARE_HALF && kgb_rng_int(&rng, 0, 1) == 0) || c->n_args < 2 ||
	    repeats_a_tensor(c) || !find_group(c, template, &rng, &group))
		return false;
	const enum way way = ways[kgb_rng_int(&rng, 0, KGB_ARRAY_LEN(ways) - 1)];
	group.granule = granule_of(&group, way == LOOSE && kgb_rng_int(&rng, 0, 1) == 0);
	if (way == CHUNKS || way == SLICES || (way == WINDOWS && kgb_rng_int(&rng, 0, 1) == 0))
		make_dense(&group);
	if (which != KGB_SHARE_HALF || kgb_rng_int(&rng, 0, 1) == 0)
		for (size_t m = 1; m < group.n; m++)
			n_alike += align_layout(&group, member(&group, m));
	if (which == KGB_SHARE_ALIKE && n_alike == 0)
		return false;
	draw_order(&group, &rng);
	const int64_t elements = put(&group, way, &rng);
	for (size_t m = 0; m < group.n; m++) {
		struct kgb_arg *arg = member(&group, m);
		arg->view.storage_elements = elements;
		arg->is_repeated = arg->is_part = m > 0;
		arg->same_as = m > 0 ? group.members[0] : 0;
	}
	return true;
}

/* ---- parts of larger tensors ---- */

int kgb_case_begin_behind(struct kgb_case *c, const struct kgb_seed *seed, uint32_t stream,
			  struct kgb_err *err)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, seed, c->interface->entry, stream);
	for (size_t i = 0; i < c->n_args; i++) {
		struct kgb_arg *arg = &c->args[i];
		const bool is_drawn = kgb_rng_int(&rng, 0, BEHIND_ONE_IN - 1) == 0;
		if (!is_drawn || arg->param->kind != KGB_PARAM_TENSOR || arg->is_absent ||
		    arg->param->layout[0] == '$' || arg->is_repeated || arg->param->into ||
		    arg->param->is_behind || !kgb_str_eq(arg->layout, "contiguous"))
			continue;
		const struct kgb_tensor_view view = arg->view;
		arg->layout = "behind";
		if (kgb_tensor_view_layout(&arg->view, view.dtype, view.sizes, view.ndim,
					   arg->layout, err) < 0)
			return -1;
	}
	return 0;
}
