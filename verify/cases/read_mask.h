/* SPDX-License-Identifier: MIT */
/** \file
 * Memory that belongs to an argument but must not be read: what lies between the columns of a
 * matrix, its other triangle, blocks of a cache that no sequence has. `read` of a parameter
 * (docs/operator-spec.md) says what is read; every bit of all other elements is set, which is NaN
 * in every floating-point type and -1 in whole numbers (uint8: 255).
 */
#ifndef KGB_VERIFY_CASES_READ_MASK_H
#define KGB_VERIFY_CASES_READ_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kgb_case;

enum kgb_read_shape {
	KGB_READ_ALL,
	/* in the memory that the last dimension is, by columns: */
	KGB_READ_MATRIX,
	KGB_READ_LOWER, /* of n rows and columns, the diagonal with it */
	KGB_READ_UPPER,
	KGB_READ_LOWER_BAND, /* `rows` diagonals of it: row 0 holds the main one */
	KGB_READ_UPPER_BAND, /* the last row holds the main one */
	/* by the data of other arguments: */
	KGB_READ_NAMED, /* items of dimension 0: those whose numbers are there */
	KGB_READ_PAGES, /* the tokens that sequences have, of a cache in blocks */
	KGB_READ_ENTRIES, /* of a table of blocks: those that sequences have */
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

/** Read what argument `i` of the case says of itself into c->args[i].read. All arguments must be
 * expanded. The message names neither case nor argument. */
KGB_MUST_CHECK int kgb_read_parse(struct kgb_case *c, size_t i, const char *text,
				  struct kgb_err *err);

/** Does an argument have parts that must not be read? */
bool kgb_case_has_unread(const struct kgb_case *c);
/** Set every byte of what is not read in the arguments' storages. */
void kgb_read_mask_fill(const struct kgb_case *c, void *const *storages, uint8_t byte);

#endif
