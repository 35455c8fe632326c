/* SPDX-License-Identifier: MIT */
/** \file
 * How the elements of a drawn case's tensors differ from independent draws of one size: the tensor
 * is scaled, its data is regular, some elements lie next to others, or at numbers of the
 * candidate's text. verify/cases/value_deck.h deals this to cases; fill_regular.c,
 * fill_regions.c, fill_neighbours.c and fill_numbers.c make the elements. docs/operator-spec.md has
 * the rules.
 */
#ifndef KGB_VERIFY_FILLS_VALUES_H
#define KGB_VERIFY_FILLS_VALUES_H

#include "verify/fills/arg.h"
#include "verify/tensor/rng.h"

/** Whether a value is possible in the argument, by its fill and the case's template. */
bool kgb_values_fit(const struct kgb_arg *arg, double value);
/** Change fresh elements by the argument's pattern and scale. The elements of `arg` are real
 * numbers; of complex ones `n_parts` is 2 and the last dimension holds their parts. */
void kgb_fill_regular(const struct kgb_arg *arg, int n_parts, struct kgb_rng *rng, void *storage);
/** Whether the argument, of elements that may be complex, has matrices: see below. */
bool kgb_values_have_matrix(const struct kgb_arg *arg);
/** Whether these are large enough for kernels to cut them to tiles. */
bool kgb_values_have_tiles(const struct kgb_arg *arg);
/** Put zeros in a region of each matrix: the last two dimensions, or what `read` says. `values` are
 * the elements in row-major order, each of `n_parts` numbers. */
void kgb_fill_zero_region(const struct kgb_arg *arg, int n_parts, struct kgb_rng *rng,
			  double *values);
/** Draw a number of the points, in five of eight draws, or one near it: its distance has a random
 * size, down to the last bit of the type. Takes six words. */
double kgb_values_draw_beside(const struct kgb_points *points, enum kgb_dtype dtype,
			      struct kgb_rng *rng);
/** Give the n elements of a line the relation that the argument's pattern names. `work` has room
 * for as many. An element may then lie outside of the fill's range. */
void kgb_values_relate(const struct kgb_arg *arg, struct kgb_rng *rng, double *line, double *work,
		       int64_t n);
/** Give a few elements, and one line, sizes between the usual ones and the ends of the type, as the
 * classes `largest` and `smallest` allow. For the mode `special`. */
void kgb_fill_sizes(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage);
/** Put neighbours of elements beside them. */
void kgb_fill_neighbours(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage);
/** Put numbers of the candidate's text, and numbers beside and beyond them, among the elements. A
 * number outside of the range of the fill, or of a size that the mode does not have, is left out.
 */
void kgb_fill_numbers(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
		      void *storage);
/** Store the number `by` steps of the type from the one at `from`. False if it is no usual number.
 */
bool kgb_values_store_step(const struct kgb_arg *arg, const char *from, int by, char *to);
/** Make elements of argument i neighbours of those at the same place of an earlier argument of the
 * same type. Their storages are filled. */
void kgb_fill_couples(const struct kgb_arg *args, size_t i, struct kgb_rng *rng,
		      void *const *storages);

#endif
