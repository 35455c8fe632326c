/* SPDX-License-Identifier: MIT */
/** \file
 * Choices of a drawn line that take a number of the dictionary. For draw.c. All return false where
 * the domain has none.
 */
#ifndef KGB_VERIFY_DRAW_DRAW_NUMBERS_H
#define KGB_VERIFY_DRAW_DRAW_NUMBERS_H

#include "verify/draw/draw.h"

/** A choice that takes a number, if one fits. */
struct kgb_number_choice {
	const struct kgb_draw *draw; /* borrowed; it has numbers */
	const char *label; /* of its random streams; of the draw's arena */
	uint32_t turn; /* of this choice */
};
/** Whether a choice takes a number: most choices of some lines, so that one case may have several
 * numbers.
 * \param id of the template
 * \param label of the choice
 * \param number of the line
 * \param always whatever the line is */
bool kgb_number_choice_make(const struct kgb_draw *draw, const char *id, const char *label,
			    uint32_t number, bool always, struct kgb_number_choice *out);

/** Of the values of the form `pick` the first one, from that of a card on, that may be a number of
 * the dictionary; the card itself if none may. */
int kgb_number_pick(const struct kgb_number_choice *choice, const cJSON *values, int card);
/** A size of lo .. hi; in every second turn one beyond, up to `far`, if the text names such a
 * number.
 */
bool kgb_number_size(const struct kgb_number_choice *choice, int64_t lo, int64_t hi, int64_t far,
		     int64_t *out);
bool kgb_number_int(const struct kgb_number_choice *choice, int64_t lo, int64_t hi, int64_t *out);
bool kgb_number_float(const struct kgb_number_choice *choice, double lo, double hi, double *out);

/** The limits of a shape; `far` as above. */
struct kgb_shape_limits {
	int64_t least_dims, most_dims, elements, far;
};
/** A shape with a number as its number of elements, or as the size of a dimension, perhaps with
 * another one beside it. Its number of dimensions, which is above 0, may become one of the
 * dictionary. */
bool kgb_number_shape(const struct kgb_number_choice *choice, const struct kgb_shape_limits *limits,
		      int64_t *ndim, int64_t *sizes);

#endif
