/* SPDX-License-Identifier: MIT */
/** \file
 * Random elements of an argument.
 */
#ifndef KGB_VERIFY_FILLS_FILL_H
#define KGB_VERIFY_FILLS_FILL_H

#include "verify/fills/arg.h"
#include "verify/tensor/rng.h"

/** Fill the elements of arg->view inside `storage` (storage_elements * size bytes) by its fill rule
 * and the case's mode. outlier: each element with p = 0.001, and at least one, times 50. special: a
 * few elements (a quarter at most, one at least) become +-inf, NaN, +-0, +-largest, +-smallest
 * normal, subnormal (float16 and exact results only); integers: smallest, largest, 0, 1, -1. A
 * bounded fill keeps its range in every mode. benchmark: drawn from a table of 65,536 fresh draws,
 * which is faster. Bytes of the storage outside the view are filled with random bytes. Real and
 * imaginary parts are filled alike. The result does not depend on the number of threads. */
void kgb_fill(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng, void *storage);
/** Whether the modes `outlier` and `special` change elements. False if the fill defines the range.
 */
bool kgb_fill_follows_mode(const struct kgb_arg *arg);

/** Whether the mode `special` gives the argument special floats of its own. */
bool kgb_fill_has_special_floats(const struct kgb_arg *arg);

/** A tensor of so many elements gets each special value that it may have, mostly. */
#define KGB_FILL_SPECIALS_OF 44

/** Whether kgb_fill_structured makes the whole tensor at once. */
bool kgb_fill_is_structured(enum kgb_fill_kind fill);
/** Whether the fill's numbers are all different, so that no two elements may share a place. */
bool kgb_fill_is_distinct(enum kgb_fill_kind fill);
/** Fills that make a structure instead of independent elements. Called by kgb_fill; the elements
 * outside of the view are left alone. Benchmarks get no regular orders of distinct numbers. */
void kgb_fill_structured(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
			 void *storage);
/** Whether kgb_fill_rows changes the elements. */
bool kgb_fill_is_of_rows(enum kgb_fill_kind fill);
/** Make rows of unit vectors, identities or padding of independent elements. The elements of `arg`
 * are real numbers; of complex ones `n_parts` is 2 and the last dimension holds their parts. */
void kgb_fill_rows(const struct kgb_arg *arg, int n_parts, void *storage);
/** Mode `special`: store one of the argument's special values, which `which` chooses, in an
 * element.
 */
void kgb_fill_store_special(const struct kgb_arg *arg, int64_t which, void *element);
/** Put special values beside those of the earlier arguments: infinity over 0, NaN beside infinity.
 * Independent draws meet such pairs too rarely. The storages are filled, for the mode `special`. */
void kgb_fill_special_couples(const struct kgb_arg *args, size_t i, struct kgb_rng *rng,
			      void *const *storages);
/** Replace about half of the elements by values that the spec excludes: beyond the range of a
 * bounded fill, or of classes that the argument has not. Without any such value nothing changes. */
void kgb_fill_excluded(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage);
/** FILL_OWNERS: element i is the number of the stretch that i lies in, where `offsets` has the
 * stretches' bounds. */
void kgb_fill_owners(const struct kgb_arg *arg, void *storage, const struct kgb_arg *offsets,
		     const void *offsets_storage);

#endif
