/* SPDX-License-Identifier: MIT */
/** \file
 * Case lines drawn from the templates of a case set, by the seed of a verdict. A template is a
 * case line in which forms stand for values ({size: [1, 300]}, {pick: [a, b]}, "$(m * k)"):
 * docs/operator-spec.md.
 *
 * Choices among few values are dealt like cards: n lines in a row that choose among n values get
 * each of them once, in an order drawn by the seed. So a verdict of few cases misses none of
 * them. */
#ifndef KGB_VERIFY_DRAW_DRAW_H
#define KGB_VERIFY_DRAW_DRAW_H

#include "verify/draw/dictionary.h"
#include "verify/spec/spec.h"
#include "verify/tensor/rng.h"

/** This many lines of a template in a row have every card of the modes once. */
enum { KGB_DRAW_MODES = 5 };

/** The context of a draw: the label of the random stream, and the types to choose from. */
struct kgb_draw {
	const struct kgb_spec *spec;
	const struct kgb_interface *interface;
	const struct kgb_case_set *set;
	const struct kgb_seed *seed;
	const struct kgb_dictionary *numbers; /* of kernel.py, for one line in three; NULL: none */
	bool repeats; /* one tensor or storage is to be two arguments: {broadcast: a} gives the
			 shape `a`, and {size: ...} often an earlier size */
	bool is_special; /* in the mode special, with all classes, unless the template has a mode */
	struct kgb_arena *arena; /* owns what is drawn */
	struct kgb_err *err;
};

/** How one variable of a line is drawn otherwise, for a twin of the line, or its layouts are. */
struct kgb_draw_change {
	unsigned twin; /* ends the line's id */
	const char *layout; /* what {layout: ...} and {written: ...} give where it suits the shape,
			       else contiguous; it ends the line's id. NULL: as drawn */
	const char *variable; /* NULL: none */
	uint32_t number; /* draw the variable as in the line of this number */
	double step; /* numbers of {int: ...} and {float: ...} are then moved: a float by so much of
			itself, a whole number by 1; 0: they are not */
	bool has_number; /* take a number of the dictionary for it, if it can have one */
};

/** Kinds of numbers that a value of a template can give, as bits. */
enum kgb_draw_kind { KGB_DRAW_BOOL = 1, KGB_DRAW_WHOLE = 2, KGB_DRAW_FLOAT = 4 };
unsigned kgb_draw_kinds(const cJSON *node);
/** The first number of a list that has a form `int`, too: of gaps the smallest one. -1: no such
 * list. */
int kgb_draw_find_gap(const cJSON *values);

/** Draw line `number` (from 0) of a template; its id is that of the template with the number.
 * `change`, which may be NULL, changes one variable and those that follow from it. Fails at the
 * template's place in its file. */
KGB_MUST_CHECK int kgb_draw_line(const struct kgb_draw *draw, const struct kgb_case_vars *from,
				 uint32_t number, const struct kgb_draw_change *change,
				 struct kgb_case_vars *out);

#endif
