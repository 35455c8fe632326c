/* SPDX-License-Identifier: MIT */
#include "verify/cases/read_mask.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* ---- parsing ---- */

struct form {
	const char *name, *args;
	enum kgb_read_shape shape;
	size_t least, most; /* of its arguments */
	bool is_unit;
};

static const struct form forms[] = {
	{"vector", "(n,increment[,stride])", KGB_READ_MATRIX, 2, 3, false},
	{"matrix", "(rows,columns,ld[,stride])", KGB_READ_MATRIX, 3, 4, false},
	{"lower", "(n,ld)", KGB_READ_LOWER, 2, 2, false},
	{"upper", "(n,ld)", KGB_READ_UPPER, 2, 2, false},
	{"unit_lower", "(n,ld)", KGB_READ_LOWER, 2, 2, true},
	{"unit_upper", "(n,ld)", KGB_READ_UPPER, 2, 2, true},
	{"lower_band", "(n,k,ld)", KGB_READ_LOWER_BAND, 3, 3, false},
	{"upper_band", "(n,k,ld)", KGB_READ_UPPER_BAND, 3, 3, false},
	{"unit_lower_band", "(n,k,ld)", KGB_READ_LOWER_BAND, 3, 3, true},
	{"unit_upper_band", "(n,k,ld)", KGB_READ_UPPER_BAND, 3, 3, true},
	{"named", "(numbers[,mask])", KGB_READ_NAMED, 1, 2, false},
	{"pages", "(table,lengths,dim)", KGB_READ_PAGES, 3, 3, false},
	{"entries", "(lengths,block_size)", KGB_READ_ENTRIES, 2, 2, false},
};

static const struct form *find_form(const char *text)
{
	size_t len = strcspn(text, "(");

	for (size_t i = 0; i < KGB_ARRAY_LEN(forms); i++)
		if (strlen(forms[i].name) == len && strncmp(forms[i].name, text, len) == 0)
			return &forms[i];
	return NULL;
}

enum { ANY_NDIM = -1 };

/* Find the argument `name`: a contiguous tensor of whole numbers with `ndim` dimensions. */
static int find_arg(const struct kgb_case *c, const char *name, int ndim, size_t *out)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		if (arg->param->kind != KGB_PARAM_TENSOR || arg->is_absent ||
		    !kgb_str_eq(arg->param->name, name))
			continue;
		*out = i;
		return kgb_dtype_is_float(arg->view.dtype) ||
				       (ndim != ANY_NDIM && arg->view.ndim != ndim) ||
				       !kgb_tensor_view_is_contiguous(&arg->view)
			       ? -1
			       : 0;
	}
	return -1;
}

static int take_named(struct kgb_case *c, size_t i, char **args, size_t n)
{
	struct kgb_read *read = &c->args[i].read;

	if (find_arg(c, args[0], ANY_NDIM, &read->table) < 0)
		return -1;
	read->has_mask = n == 2;
	if (!read->has_mask)
		return 0;
	if (find_arg(c, args[1], ANY_NDIM, &read->mask) < 0)
		return -1;
	return kgb_tensor_view_numel(&c->args[read->table].view) ==
			       kgb_tensor_view_numel(&c->args[read->mask].view)
		       ? 0
		       : -1;
}

static int take_pages(struct kgb_case *c, size_t i, char **args)
{
	const struct kgb_tensor_view *view = &c->args[i].view;
	struct kgb_read *read = &c->args[i].read;

	if (find_arg(c, args[0], 2, &read->table) < 0 || find_arg(c, args[1], 1, &read->lens) < 0 ||
	    kgb_parse_i64(args[2], 1, view->ndim - 1, &read->dim, NULL) < 0)
		return -1;
	return c->args[read->table].view.sizes[0] == c->args[read->lens].view.sizes[0] ? 0 : -1;
}

static int take_entries(struct kgb_case *c, size_t i, char **args)
{
	const struct kgb_tensor_view *view = &c->args[i].view;
	struct kgb_read *read = &c->args[i].read;

	if (view->ndim != 2 || kgb_dtype_is_float(view->dtype) ||
	    find_arg(c, args[0], 1, &read->lens) < 0 ||
	    kgb_parse_i64(args[1], 1, INT32_MAX, &read->block, NULL) < 0)
		return -1;
	return view->sizes[0] == c->args[read->lens].view.sizes[0] ? 0 : -1;
}

/* A vector is a matrix of one row. */
static int take_numbers(const struct form *form, struct kgb_read *read, char **args, size_t n)
{
	int64_t numbers[4] = {0};
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		if (kgb_parse_i64(args[i], 0, INT32_MAX, &numbers[i], NULL) < 0)
			return -1;
	if (form->shape == KGB_READ_MATRIX) {
		read->rows = form->least == 2 ? 1 : numbers[at++];
		read->columns = numbers[at++];
		read->ld = numbers[at++];
		read->stride = numbers[at];
	} else if (form->least == 2) { /* a triangle */
		read->rows = read->columns = numbers[0];
		read->ld = numbers[1];
	} else { /* a band */
		read->rows = numbers[1] + 1;
		read->columns = numbers[0];
		read->ld = numbers[2];
	}
	return read->ld >= 1 && read->rows <= read->ld ? 0 : -1;
}

static int take_args(struct kgb_case *c, size_t i, const struct form *form, const char *args)
{
	KGB_AUTO(strv) struct kgb_strv parts = KGB_STRV_INIT;

	if (kgb_split_args(args, &parts) < 0 || parts.n < form->least || parts.n > form->most)
		return -1;
	c->args[i].read = (struct kgb_read){.shape = form->shape, .is_unit = form->is_unit};
	if (form->shape == KGB_READ_NAMED)
		return take_named(c, i, parts.items, parts.n);
	if (form->shape == KGB_READ_PAGES)
		return take_pages(c, i, parts.items);
	if (form->shape == KGB_READ_ENTRIES)
		return take_entries(c, i, parts.items);
	return take_numbers(form, &c->args[i].read, parts.items, parts.n);
}

/* ---- element by element ---- */

/* Whether the element in row i of column j, counted as they lie in memory, is read. */
static bool is_inside(const struct kgb_read *read, int64_t i, int64_t j)
{
	if (i >= read->rows || j >= read->columns)
		return false;
	if (read->shape == KGB_READ_LOWER)
		return i >= j + read->is_unit;
	if (read->shape == KGB_READ_UPPER)
		return i + read->is_unit <= j;
	if (read->shape == KGB_READ_LOWER_BAND)
		return i >= read->is_unit && i + j < read->columns;
	if (read->shape == KGB_READ_UPPER_BAND)
		return i + read->is_unit < read->rows && i + j >= read->rows - 1;
	return true;
}

/* Whether element `at` of the memory along the last dimension is read. */
static bool is_place_read(const struct kgb_read *read, int64_t at)
{
	if (read->stride > 0)
		at %= read->stride;
	return is_inside(read, at % read->ld, at / read->ld);
}

static int64_t number_at(const struct kgb_case *c, size_t i, void *const *storages, int64_t at)
{
	const struct kgb_tensor_view *view = &c->args[i].view;
	size_t size = kgb_dtype_size(view->dtype);

	return kgb_dtype_load_i64(view->dtype,
				  (const char *)storages[i] + (size_t)(view->offset + at) * size);
}

/* For each item of dimension 0: whether it is named. */
static bool *find_named(const struct kgb_case *c, const struct kgb_arg *arg, void *const *storages)
{
	const struct kgb_read *read = &arg->read;
	const int64_t n_items = arg->view.sizes[0];
	const int64_t n = kgb_tensor_view_numel(&c->args[read->table].view);
	bool *has = kgb_xcalloc((size_t)n_items + 1, sizeof(*has));

	for (int64_t k = 0; k < n; k++) {
		int64_t item = number_at(c, read->table, storages, k);
		if (item >= 0 && item < n_items &&
		    (!read->has_mask || number_at(c, read->mask, storages, k) != 0))
			has[item] = true;
	}
	return has;
}

/* For each place of each block: whether it has a token. */
static bool *find_tokens(const struct kgb_case *c, const struct kgb_arg *arg, void *const *storages)
{
	const struct kgb_tensor_view *table = &c->args[arg->read.table].view;
	const int64_t n_blocks = arg->view.sizes[0], places = arg->view.sizes[arg->read.dim];
	bool *has = kgb_xcalloc((size_t)(n_blocks * places) + 1, sizeof(*has));

	for (int64_t s = 0; s < table->sizes[0]; s++) {
		int64_t len = number_at(c, arg->read.lens, storages, s);
		for (int64_t t = 0; t < len && t / places < table->sizes[1]; t++) {
			int64_t block = number_at(c, arg->read.table, storages,
						  s * table->sizes[1] + t / places);
			if (block >= 0 && block < n_blocks)
				has[block * places + t % places] = true;
		}
	}
	return has;
}

static void fill_arg(const struct kgb_case *c, size_t i, void *const *storages, uint8_t byte)
{
	const struct kgb_arg *arg = &c->args[i];
	const struct kgb_read *read = &arg->read;
	const int64_t *sizes = arg->view.sizes;
	const size_t size = kgb_dtype_size(arg->view.dtype);
	const int64_t n = kgb_tensor_view_numel(&arg->view), last = sizes[arg->view.ndim - 1];
	const int64_t first = n / sizes[0], places = sizes[read->dim]; /* PAGES: of a block */
	KGB_AUTO(free)
	bool *has = read->shape == KGB_READ_NAMED   ? find_named(c, arg, storages)
		    : read->shape == KGB_READ_PAGES ? find_tokens(c, arg, storages)
						    : NULL;
	int64_t inner = 1; /* PAGES: elements of one place */

	for (int d = (int)read->dim + 1; d < arg->view.ndim; d++)
		inner *= sizes[d];
	for (int64_t e = 0; e < n; e++) {
		bool is_read;
		if (read->shape == KGB_READ_NAMED)
			is_read = has[e / first];
		else if (read->shape == KGB_READ_PAGES)
			is_read = has[e / first * places + e / inner % places];
		else if (read->shape == KGB_READ_ENTRIES)
			is_read = e % last * read->block <
				  number_at(c, read->lens, storages, e / last);
		else
			is_read = is_place_read(read, e % last);
		if (!is_read)
			memset((char *)storages[i] + (size_t)(arg->view.offset + e) * size, byte,
			       size);
	}
}

static bool goes_by_numbers(const struct kgb_read *read)
{
	return read->shape == KGB_READ_NAMED || read->shape == KGB_READ_PAGES;
}

/* Whether the call may change the argument's memory, by this argument or one in the same place. */
static bool is_changed(const struct kgb_case *c, size_t i)
{
	const size_t first = c->args[i].is_repeated ? c->args[i].same_as : i;

	for (size_t k = 0; k < c->n_args; k++)
		if ((k == first || (c->args[k].is_repeated && c->args[k].same_as == first)) &&
		    c->args[k].param->result >= 0)
			return true;
	return false;
}

/* NaN that a kernel makes of NaN looks like the old one, so what stays in a result is no NaN. */
static uint8_t byte_of(const struct kgb_case *c, size_t i, uint8_t byte)
{
	enum { KEPT = 0x41 }; /* 12.1 in float32, 2.63 in float16 */
	const struct kgb_arg *arg = &c->args[i];
	const bool is_place = !goes_by_numbers(&arg->read) && arg->read.shape != KGB_READ_ENTRIES;

	return byte == UINT8_MAX && is_place && is_changed(c, i) ? KEPT : byte;
}

/* Fill arguments whose masks depend on numbers last: by then all unread numbers are -1 (or 255) and
 * name no item. */
void kgb_read_mask_fill(const struct kgb_case *c, void *const *storages, uint8_t byte)
{
	for (int by_numbers = 0; by_numbers <= 1; by_numbers++)
		for (size_t i = 0; i < c->n_args; i++)
			if (c->args[i].read.shape != KGB_READ_ALL &&
			    goes_by_numbers(&c->args[i].read) == (by_numbers == 1))
				fill_arg(c, i, storages, byte_of(c, i, byte));
}

/* Whether the mask covers the whole argument. False for masks that depend on data. */
static bool is_all_read(const struct kgb_arg *arg)
{
	const struct kgb_tensor_view *view = &arg->view;

	if (goes_by_numbers(&arg->read) || arg->read.shape == KGB_READ_ENTRIES)
		return false;
	for (int64_t at = 0; at < view->sizes[view->ndim - 1]; at++)
		if (!is_place_read(&arg->read, at))
			return false;
	return true;
}

int kgb_read_parse(struct kgb_case *c, size_t i, const char *text, struct kgb_err *err)
{
	const struct form *form = find_form(text);
	const struct kgb_tensor_view *view = &c->args[i].view;

	if (!form)
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%.80s' is none of the forms in docs/operator-spec.md", text);
	if (view->dtype == KGB_DTYPE_BOOL || view->ndim == 0 || kgb_tensor_view_numel(view) == 0 ||
	    !kgb_tensor_view_is_contiguous(view))
		return kgb_fail(err, KGB_ERR_INVALID,
				"the tensor must be contiguous, have elements, and not be bool");
	if (take_args(c, i, form, text + strlen(form->name)) < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%.80s' must read %s%s and fit the tensors",
				text, form->name, form->args);
	if (is_all_read(&c->args[i]))
		return kgb_fail(err, KGB_ERR_INVALID, "'%.80s' covers the whole tensor", text);
	return 0;
}
