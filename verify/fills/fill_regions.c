/* SPDX-License-Identifier: MIT */
/** \file
 * Regions of zeros in matrices of drawn cases: tiles, a rectangle, all outside of a band, above or
 * below a diagonal. Whole tiles of a product are zero then.
 */
#include "verify/fills/values.h"

enum {
	MATRIX_LEAST = 2, /* rows and columns of one that has regions, */
	TILED_LEAST = 32, /* and of one that kernels cut to tiles */
};

/* All matrices of a tensor have the same sizes and steps. */
struct matrices {
	int64_t n_rows, n_columns, row_step, column_step;
	int64_t n_items, item_step; /* matrices in one memory, */
	int64_t n_memories, n; /* and these memories, one behind the other, of n elements each */
	int n_parts;
};

/* Matrices by columns along the last dimension, as BLAS has them, or the last two dimensions. */
static struct matrices matrices_of(const struct kgb_arg *arg, int n_parts)
{
	const struct kgb_tensor_view *view = &arg->view;
	const struct kgb_read *read = &arg->read;
	const int ndim = view->ndim - (n_parts > 1);
	const bool by_columns = read->shape == KGB_READ_MATRIX || read->shape == KGB_READ_LOWER ||
				read->shape == KGB_READ_UPPER;
	struct matrices m = {.n_parts = n_parts, .n_items = 1};

	if (by_columns && ndim > 0) {
		m.n = view->sizes[ndim - 1];
		m.n_rows = read->rows;
		m.n_columns = read->columns;
		m.row_step = 1;
		m.column_step = read->ld;
		m.item_step = read->stride;
		m.n_items = read->stride > 0 ? (m.n + read->stride - 1) / read->stride : 1;
	} else if (ndim > 1) {
		m.n_rows = view->sizes[ndim - 2];
		m.n_columns = m.row_step = view->sizes[ndim - 1];
		m.column_step = 1;
		m.n = m.n_rows * m.n_columns;
	}
	m.n_memories = m.n > 0 ? kgb_tensor_view_numel(view) / n_parts / m.n : 0;
	return m;
}

bool kgb_values_have_matrix(const struct kgb_arg *arg)
{
	const struct matrices m = matrices_of(arg, 1);

	return m.n_rows >= MATRIX_LEAST && m.n_columns >= MATRIX_LEAST;
}

static bool is_tiled(const struct matrices *m)
{
	return m->n_rows >= TILED_LEAST && m->n_columns >= TILED_LEAST;
}

bool kgb_values_have_tiles(const struct kgb_arg *arg)
{
	const struct matrices m = matrices_of(arg, 1);

	return is_tiled(&m);
}

struct filled {
	struct matrices m;
	struct kgb_rng *rng;
	double *matrix, *end; /* first element of the matrix that is changed; end of its memory */
};

static double *element(const struct filled *f, int64_t i, int64_t j)
{
	double *p = f->matrix + (i * f->m.row_step + j * f->m.column_step) * f->m.n_parts;

	return p < f->end ? p : NULL;
}

/* Clear rows and columns from the first to before the last, as far as they exist. */
static void clear(const struct filled *f, int64_t top, int64_t bottom, int64_t left, int64_t right)
{
	bottom = bottom < f->m.n_rows ? bottom : f->m.n_rows;
	right = right < f->m.n_columns ? right : f->m.n_columns;
	for (int64_t i = top > 0 ? top : 0; i < bottom; i++) {
		for (int64_t j = left > 0 ? left : 0; j < right; j++) {
			double *p = element(f, i, j);
			for (int part = 0; p && part < f->m.n_parts; part++)
				p[part] = 0;
		}
	}
}

/* ---- the form of a region, the same in all matrices of a tensor ---- */

enum form { TILES, RECTANGLE, BAND, LOWER, UPPER, DIAGONAL, IDENTITY };

struct region {
	enum form form;
	int64_t top, bottom, left, right; /* RECTANGLE */
	int64_t tile; /* TILES: rows and columns */
	int64_t lowest, highest; /* diagonals that are kept: the number of one is column less row */
	bool is_solid; /* what is kept is 1 */
};

static int64_t choose_tile(struct kgb_rng *rng)
{
	static const int64_t tiles[] = {32, 64, 64, 128};

	return tiles[kgb_rng_int(rng, 0, KGB_ARRAY_LEN(tiles) - 1)];
}

/* Two edges, most of them multiples of a tile; often the zeros begin or end with the matrix. */
static void choose_edges(struct kgb_rng *rng, int64_t size, int64_t *first, int64_t *end)
{
	const int64_t tile = kgb_rng_int(rng, 0, 3) ? choose_tile(rng) : 1;
	const int64_t grain = tile < size ? tile : 1;
	const int64_t at = kgb_rng_int(rng, 0, 3);
	const int64_t a = kgb_rng_int(rng, 0, size / grain) * grain;
	const int64_t b = kgb_rng_int(rng, 0, size / grain) * grain;

	*first = at == 0 ? 0 : a < b ? a : b;
	*end = at == 1 ? size : a < b ? b : a;
	if (*first >= *end) {
		*first = 0;
		*end = size;
	}
}

/* The main diagonal in most cases. */
static int64_t choose_diagonal(struct kgb_rng *rng, const struct matrices *m)
{
	const int64_t card = kgb_rng_int(rng, 0, 7);

	return card < 3    ? 0
	       : card == 3 ? 1
	       : card == 4 ? -1
	       : card == 5 ? m->n_columns - m->n_rows
	       : card == 6 ? kgb_rng_int(rng, 1 - m->n_rows, m->n_columns - 1)
			   : choose_tile(rng);
}

static enum form choose_form(struct kgb_rng *rng, const struct matrices *m)
{
	static const enum form tiled[] = {TILES, RECTANGLE, BAND,  LOWER,
					  UPPER, DIAGONAL,  TILES, IDENTITY};
	static const enum form small[] = {RECTANGLE, LOWER, UPPER, DIAGONAL, IDENTITY, IDENTITY};

	return is_tiled(m) ? tiled[kgb_rng_int(rng, 0, KGB_ARRAY_LEN(tiled) - 1)]
			   : small[kgb_rng_int(rng, 0, KGB_ARRAY_LEN(small) - 1)];
}

static struct region choose_region(struct kgb_rng *rng, const struct kgb_arg *arg,
				   const struct matrices *m)
{
	const enum form form = choose_form(rng, m);
	struct region region = {.form = form,
				.tile = choose_tile(rng),
				.lowest = -m->n_rows,
				.highest = m->n_columns};

	choose_edges(rng, m->n_rows, &region.top, &region.bottom);
	choose_edges(rng, m->n_columns, &region.left, &region.right);
	const int64_t diagonal = choose_diagonal(rng, m), width = choose_tile(rng);
	const bool is_narrow = kgb_rng_int(rng, 0, 1), is_random = kgb_rng_int(rng, 0, 3) == 0;
	if (form == BAND) {
		region.lowest = diagonal - (is_narrow ? 1 : width);
		region.highest = diagonal + (is_narrow ? 1 : width);
	} else if (form == LOWER) {
		region.highest = diagonal;
	} else if (form == UPPER) {
		region.lowest = diagonal;
	} else if (form == DIAGONAL || form == IDENTITY) {
		region.lowest = region.highest = is_random ? diagonal : 0;
	}
	region.is_solid = kgb_values_fit(arg, 1) &&
			  (form == IDENTITY || (arg->fill == KGB_FILL_BOOL && !is_random));
	return region;
}

/* ---- its zeros ---- */

static void make_solid(const struct filled *f)
{
	for (int64_t i = 0; i < f->m.n_rows; i++) {
		for (int64_t j = 0; j < f->m.n_columns; j++) {
			double *p = element(f, i, j);
			for (int part = 0; p && part < f->m.n_parts; part++)
				p[part] = part == 0;
		}
	}
}

static void clear_tiles(const struct filled *f, int64_t tile)
{
	for (int64_t i = 0; i < f->m.n_rows; i += tile)
		for (int64_t j = 0; j < f->m.n_columns; j += tile)
			if (kgb_rng_int(f->rng, 0, 1))
				clear(f, i, i + tile, j, j + tile);
}

static void change_matrix(const struct filled *f, const struct region *region)
{
	if (region->is_solid)
		make_solid(f);
	if (region->form == TILES) {
		clear_tiles(f, region->tile);
	} else if (region->form == RECTANGLE) {
		clear(f, region->top, region->bottom, region->left, region->right);
	} else {
		for (int64_t i = 0; i < f->m.n_rows; i++) {
			clear(f, i, i + 1, 0, i + region->lowest);
			clear(f, i, i + 1, i + region->highest + 1, f->m.n_columns);
		}
	}
}

void kgb_fill_zero_region(const struct kgb_arg *arg, int n_parts, struct kgb_rng *rng,
			  double *values)
{
	struct filled f = {.m = matrices_of(arg, n_parts), .rng = rng};
	const struct region region = choose_region(rng, arg, &f.m);

	for (int64_t k = 0; k < f.m.n_memories; k++) {
		double *memory = values + k * f.m.n * n_parts;
		f.end = memory + f.m.n * n_parts;
		for (int64_t item = 0; item < f.m.n_items; item++) {
			f.matrix = memory + item * f.m.item_step * n_parts;
			change_matrix(&f, &region);
		}
	}
}
