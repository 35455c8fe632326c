/* SPDX-License-Identifier: MIT */
/** \file
 * The numbers that the text of a kernel.py names. Draws take some sizes, arguments and elements
 * from them, so that cases meet the borders that the program itself names: `n == 12347`,
 * `LIMIT = 1 << 16`, `x > 1e30`. Fuzzers call such a list a dictionary.
 *
 * verify/python/reference/ast_numbers.py collects them; docs/operator-spec.md has the rules of the
 * draws. Without a dictionary, or with an empty one, all draws are the same as ever.
 */
#ifndef KGB_VERIFY_DRAW_DICTIONARY_H
#define KGB_VERIFY_DRAW_DICTIONARY_H

#include "base/formats/json.h"
#include "verify/tensor/rng.h"

enum { KGB_DICTIONARY_MAX = 256 };

struct kgb_number {
	double value;
	int64_t whole; /* the exact value, if it is whole and has up to 64 bits */
	bool is_whole;
	bool is_border; /* the program compares with it, and it is not 0, 1 or 2 of either sign */
};
enum { KGB_BORDER_CARDS = 6 }; /* a border is drawn so often as another number once */

struct kgb_dictionary {
	struct kgb_number items[KGB_DICTIONARY_MAX]; /* none of them twice, in a fixed order */
	size_t n;
	size_t n_borders;
};
/** One line in so many takes numbers, if there are any: every second one for a program that
 * compares with numbers, else every fourth one. */
uint32_t kgb_dictionary_turns(const struct kgb_dictionary *dictionary);

/** Read the key `numbers` of the facts about a kernel.py (ast_facts.py). INVALID: it is missing,
 * too long, or has something else than finite numbers. */
KGB_MUST_CHECK int kgb_dictionary_read(const cJSON *facts, struct kgb_dictionary *out,
				       struct kgb_err *err);

/** What a whole number is for. Sizes leave out the numbers below 8, because draws meet them anyway.
 */
enum kgb_number_use {
	KGB_NUMBER_INT, /* a number, one beside it, or its negative */
	KGB_NUMBER_SIZE, /* a number, one beside it, or a multiple */
	KGB_NUMBER_FAR_SIZE, /* a number, one beside it, or up to twice as much: the program may not
				expect that */
};
/** A range for whole numbers, with both ends. */
struct kgb_whole_range {
	int64_t lo, hi;
	enum kgb_number_use use;
};
/** Deal a whole number that lies in the range, from one of the dictionary. `turn` counts the turns
 * of this label, as for kgb_rng_deal. False: there is none. */
bool kgb_dictionary_deal_whole(const struct kgb_dictionary *dictionary, const struct kgb_seed *seed,
			       const char *label, uint32_t turn, struct kgb_whole_range range,
			       int64_t *out);
/** The same, but only numbers of the dictionary themselves. */
bool kgb_dictionary_deal_exact(const struct kgb_dictionary *dictionary, const struct kgb_seed *seed,
			       const char *label, uint32_t turn, struct kgb_whole_range range,
			       int64_t *out);
/** The same for a float: one of the dictionary, one very near to it, or its negative. */
bool kgb_dictionary_deal_float(const struct kgb_dictionary *dictionary, const struct kgb_seed *seed,
			       const char *label, uint32_t turn, double lo, double hi, double *out);
/** Any number of the dictionary, which is not empty. */
const struct kgb_number *kgb_dictionary_deal_any(const struct kgb_dictionary *dictionary,
						 const struct kgb_seed *seed, const char *label,
						 uint32_t turn);

#endif
