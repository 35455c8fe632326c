/* SPDX-License-Identifier: MIT */
/** \file
 * Elements that depend on their row, the last dimension: unit vectors, identities, padding.
 */
#include <math.h>

#include "base/mem.h"
#include "verify/fills/fill.h"

bool kgb_fill_is_of_rows(enum kgb_fill_kind fill)
{
	return fill == KGB_FILL_UNIT || fill == KGB_FILL_IDENTITY || fill == KGB_FILL_PADDED;
}

static void make_unit(double *row, int64_t n)
{
	double sum = 0;

	for (int64_t k = 0; k < n; k++)
		sum += row[k] * row[k];
	for (int64_t k = 0; k < n && sum > 0; k++)
		row[k] /= sqrt(sum);
}

/* Row i of matrices of n_rows rows. The n numbers are elements of n_parts each. */
static void make_identity(double *row, int64_t i, int64_t n_rows, int64_t n, int n_parts)
{
	for (int64_t k = 0; k < n; k++)
		row[k] = k == i % n_rows * n_parts;
}

/* The first elements are padding; with a negative number the last ones. */
static void pad(double *row, int64_t n, double first)
{
	const int64_t length = (int64_t)fmin(fabs(first), (double)n);
	const int64_t from = first < 0 ? n - length : 0;

	for (int64_t k = from; k < from + length; k++)
		row[k] = -(double)INFINITY;
}

void kgb_fill_rows(const struct kgb_arg *arg, int n_parts, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const int64_t n = kgb_tensor_view_numel(view);
	const int last = view->ndim - (n_parts > 1) - 1;

	if (n == 0)
		return;
	/* Unit complex numbers have an absolute value of 1. */
	const bool by_number = arg->fill == KGB_FILL_UNIT && n_parts > 1;
	const int64_t columns = (last < 0 || by_number ? 1 : view->sizes[last]) * n_parts;
	const int64_t n_rows = last < 1 ? 1 : view->sizes[last - 1];
	KGB_AUTO(free)
	char *elements = kgb_xreallocarray(NULL, (size_t)n, kgb_dtype_size(view->dtype));
	KGB_AUTO(free)
	double *values = kgb_xreallocarray(NULL, (size_t)n, sizeof(*values));
	kgb_tensor_view_gather_part(view, storage, 0, n, elements);
	kgb_dtype_load_array(view->dtype, elements, (size_t)n, values);
	for (int64_t i = 0; i < n / columns; i++) {
		double *row = values + i * columns;
		if (arg->fill == KGB_FILL_UNIT)
			make_unit(row, columns);
		else if (arg->fill == KGB_FILL_IDENTITY)
			make_identity(row, i, n_rows, columns, n_parts);
		else
			pad(row, columns, arg->lo * n_parts);
	}
	kgb_dtype_store_array(view->dtype, values, (size_t)n, elements);
	kgb_tensor_view_scatter_part(view, elements, 0, n, storage);
}
