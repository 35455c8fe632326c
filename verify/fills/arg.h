/* SPDX-License-Identifier: MIT */
/** \file
 * One argument of a case: its shape, strides and fill, or its literal value.
 */
#ifndef KGB_VERIFY_FILLS_ARG_H
#define KGB_VERIFY_FILLS_ARG_H

#include <stddef.h>
#include <stdint.h>

#include "verify/draw/dictionary.h"
#include "verify/spec/spec.h"
#include "verify/tensor/tensor_view.h"

enum kgb_case_value_kind {
	KGB_CASE_VALUE_NONE,
	KGB_CASE_VALUE_BOOL,
	KGB_CASE_VALUE_INT,
	KGB_CASE_VALUE_FLOAT,
	KGB_CASE_VALUE_COMPLEX,
	KGB_CASE_VALUE_INTS,
	KGB_CASE_VALUE_DTYPE,
	KGB_CASE_VALUE_DEVICE, /* the device of the verification */
	KGB_CASE_VALUE_STR
};
struct kgb_case_value {
	enum kgb_case_value_kind kind;
	bool boolean;
	int64_t integer;
	double number; /* FLOAT; of COMPLEX the real part */
	double imaginary;
	const int64_t *ints; /* arena */
	size_t n_ints;
	enum kgb_dtype dtype;
	const char *str;
};

enum kgb_fill_kind {
	KGB_FILL_NORMAL,
	KGB_FILL_POSITIVE,
	KGB_FILL_UNIFORM,
	KGB_FILL_INT,
	KGB_FILL_BOOL,
	KGB_FILL_ONES,
	KGB_FILL_NAN,
	KGB_FILL_SIGNS, /* -1, -0, 0 or 1 */
	KGB_FILL_TRIANGLE, /* matrices with columns of lo elements and well-conditioned triangles */
	KGB_FILL_CHAIN, /* the same with two diagonals beside the main one and zeros elsewhere, so
			   that each unknown depends on the one before */
	KGB_FILL_LATE, /* 0 before element number lo, normal from there on */
	KGB_FILL_UNIT, /* rows, or complex numbers, with a norm of 1 */
	KGB_FILL_IDENTITY, /* matrices with 1 on the diagonal and 0 elsewhere */
	KGB_FILL_PADDED, /* -inf in the first lo (below 0: the last -lo) elements of rows, else
			  * normal
			  */
	KGB_FILL_BESIDE, /* at lo plus multiples of hi, or near one of these points */
	/* structured (fill_structured.c) */
	KGB_FILL_DISTINCT, /* no number of lo .. hi twice */
	KGB_FILL_SLOTS, /* the same, but about every eighth is -1 */
	KGB_FILL_CHOICE, /* no number twice along the last dimension */
	KGB_FILL_SORTED, /* the same, ascending */
	KGB_FILL_SORTED_DOWN, /* the same, descending */
	KGB_FILL_OFFSETS, /* ascending from 0 to hi, some of them equal */
	KGB_FILL_STEPS, /* element i is i / lo */
	KGB_FILL_BLOCKS, /* blocks of lo random bytes; each begins with a finite float16 */
	KGB_FILL_PAIRS, /* fields of 4 bits; each holds two ascending numbers of 0 .. 3 */
	KGB_FILL_OWNERS, /* element i is the number of the stretch, between the offsets in another
			    argument, that contains i */
};

/** The elements of a tensor that a call may read (read_mask.h). */
enum kgb_read_shape {
	KGB_READ_ALL,
	/* parts of a matrix that lies, by columns, along the last dimension: */
	KGB_READ_MATRIX,
	KGB_READ_LOWER, /* triangle of n rows and columns, with the diagonal */
	KGB_READ_UPPER,
	KGB_READ_LOWER_BAND, /* `rows` diagonals of that triangle; row 0 holds the main diagonal */
	KGB_READ_UPPER_BAND, /* the same; the last row holds the main diagonal */
	/* defined by the data of other arguments: */
	KGB_READ_NAMED, /* items of dimension 0 whose numbers occur in another argument */
	KGB_READ_PAGES, /* the tokens of sequences, in a cache of blocks */
	KGB_READ_ENTRIES, /* the entries of a table of blocks that sequences use */
};
struct kgb_read {
	enum kgb_read_shape shape;
	bool is_unit; /* triangles and bands: the diagonal is not read */
	int64_t rows, columns, ld;
	int64_t stride; /* of a batch of matrices; 0: there is one */
	size_t table; /* NAMED: number of the argument with the numbers; PAGES: of the one with the
			 blocks of each sequence */
	bool has_mask; /* NAMED: only numbers count that are marked in `mask` */
	size_t mask;
	size_t lens; /* PAGES, ENTRIES: number of the one with the lengths of the sequences */
	int64_t dim; /* PAGES: dimension of the places in a block */
	int64_t block; /* ENTRIES: places in a block */
};

/** Regular data of a drawn case (fill_regular.c): all of it is made of elements of the fill. */
enum kgb_pattern {
	KGB_PATTERN_NONE,
	KGB_PATTERN_CONSTANT, /* lines of one number, but for a few elements */
	KGB_PATTERN_TWO_VALUES,
	KGB_PATTERN_ZEROS, /* negative elements, or most elements, are 0 */
	KGB_PATTERN_ZERO_BLOCKS, /* lines or blocks of zeros */
	KGB_PATTERN_ZERO_REGION, /* of matrices (fill_regions.c) */
	KGB_PATTERN_SORTED, /* lines: exactly, with some swapped, or rotated */
	KGB_PATTERN_PERIODIC,
	KGB_PATTERN_RUNS, /* of equal elements */
	KGB_PATTERN_COARSE, /* floats with few bits */
	KGB_PATTERN_POINTS, /* floats as the fill `beside` makes them */
	/* lines whose elements have a relation (fill_relations.c): */
	KGB_PATTERN_SHARES, /* positive, and add up to `points.first` */
	KGB_PATTERN_UNIT, /* with a norm of `points.first` */
	KGB_PATTERN_MIRRORED, /* the same from both ends */
	KGB_PATTERN_EVEN, /* evenly spaced */
	KGB_PATTERN_PEAK, /* up, and down again */
	KGB_PATTERN_OPPOSITE, /* each element beside its negative, or a half line away */
	KGB_N_PATTERNS
};
/** Whether the pattern's elements follow `kgb_values.points`. */
static inline bool kgb_pattern_has_points(enum kgb_pattern pattern)
{
	return pattern == KGB_PATTERN_POINTS || pattern == KGB_PATTERN_SHARES ||
	       pattern == KGB_PATTERN_UNIT;
}
/** Numbers where a function may be 0 or change its form: one, or all at whole multiples of a step
 * from it. */
struct kgb_points {
	double first, step; /* step 0: one point */
};
/** How the elements of a drawn case's tensor differ from independent draws of one size. */
struct kgb_values {
	enum kgb_pattern pattern;
	struct kgb_points points; /* where kgb_pattern_has_points */
	int scale; /* the elements are multiplied by this power of two, */
	bool scales_rows; /* each line by a power between it and 1; or, of complex numbers, */
	bool scales_parts; /* real and imaginary parts by one each */
	bool has_neighbours; /* some elements are next to others, of this tensor or another */
	bool is_wide; /* integers: next to numbers from the whole range of the type */
	bool is_spared; /* mode `special`: it has no special values, as others meet its zeros */
	bool has_sizes; /* mode `special`: some have sizes between the usual and the last ones */
	const struct kgb_dictionary *numbers; /* borrowed; elements are among these numbers of the
						 candidate's text; NULL: not on purpose */
	bool is_beyond_number; /* all elements lie beyond one of these, on one side */
	bool may_be_zero, may_repeat; /* the template allows zeros, and equal elements */
};

struct kgb_arg {
	const struct kgb_param *param; /* borrowed from the spec */
	struct kgb_tensor_view view; /* TENSOR; zero for OUT: the reference defines its sizes */
	bool is_absent; /* TENSOR: its shape is null; None is passed, and `view` has no elements */
	const char *layout; /* TENSOR, OUT: layout name */
	enum kgb_fill_kind fill; /* TENSOR; already fitted to the dtype: integers are never NORMAL,
				    POSITIVE or UNIFORM */
	double lo, hi; /* UNIFORM, INT and structured ones */
	size_t behind; /* TENSOR with param->into: number of the argument with the rows */
	bool is_repeated; /* TENSOR: it has the storage of an earlier argument, and is its very
			     tensor, but for: */
	size_t same_as; /* that argument, which is not repeated itself */
	bool is_transposed; /* of a repeated one: its last two dimensions are swapped, x @ x.T */
	bool is_part; /* of a repeated one: it has other elements of the storage, x[1] beside x[0]
		       */
	bool may_be_other; /* TENSOR: the semantics define what happens where it is an earlier
			      argument: */
	size_t other; /* that argument, although the call changes one of the two */
	bool is_left_out; /* candidates are called without it: it is the default */
	size_t sibling; /* OWNERS: number of the argument with the offsets, an earlier one */
	kgb_specials specials; /* TENSOR: value classes of the mode `special` */
	bool has_nan_bits; /* TENSOR: NaN have random signs and payloads */
	bool has_subnormals; /* TENSOR: the class `smallest` has those of every type */
	bool bounded; /* no mode leaves the spec's range (indices, probabilities, masks) */
	struct kgb_values values; /* TENSOR of a drawn case */
	struct kgb_read read; /* TENSOR */
	struct kgb_case_value value; /* VALUE */
};

#endif
