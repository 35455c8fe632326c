/* SPDX-License-Identifier: MIT */
#include "verify/draw/dictionary.h"

#include <math.h>

#include "base/str.h"

enum {
	TURNS_WITH_BORDERS = 2,
	TURNS = 4,
	SIZE_LEAST = 8,
	VARIANT_STREAM = 1 << 26, /* streams of a label beyond those of its decks */
};

uint32_t kgb_dictionary_turns(const struct kgb_dictionary *dictionary)
{
	return dictionary->n_borders > 0 ? TURNS_WITH_BORDERS : TURNS;
}

/* ---- reading ---- */

static bool read_number(const char *text, struct kgb_number *out)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	if (kgb_parse_i64(text, INT64_MIN, INT64_MAX, &out->whole, &ignored) == 0) {
		out->is_whole = true;
		out->value = (double)out->whole;
		return true;
	}
	if (kgb_parse_double(text, &out->value, &ignored) < 0)
		return false;
	/* 1e5 is a size like 100000. */
	out->is_whole = out->value == floor(out->value) && fabs(out->value) <= 0x1p53;
	out->whole = out->is_whole ? (int64_t)out->value : 0;
	return true;
}

static bool is_known(const struct kgb_dictionary *dictionary, const struct kgb_number *number)
{
	for (size_t i = 0; i < dictionary->n; i++) {
		const struct kgb_number *other = &dictionary->items[i];
		if (number->is_whole ? other->is_whole && other->whole == number->whole
				     : !other->is_whole && other->value == number->value)
			return true;
	}
	return false;
}

int kgb_dictionary_read(const cJSON *facts, struct kgb_dictionary *out, struct kgb_err *err)
{
	const cJSON *list = kgb_json_get(facts, "numbers"), *item = NULL;

	*out = (struct kgb_dictionary){.n = 0};
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > KGB_DICTIONARY_MAX)
		return kgb_fail(err, KGB_ERR_INVALID,
				"facts about the kernel: expected a list of up to %d numbers",
				KGB_DICTIONARY_MAX);
	cJSON_ArrayForEach(item, list) {
		struct kgb_number number = {.is_border = kgb_json_bool(item, "is_border", false)};
		const char *text = kgb_json_str(item, "value", NULL);
		if (!text || !read_number(text, &number))
			return kgb_fail(err, KGB_ERR_INVALID,
					"facts about the kernel: '%.40s' is no number",
					text ? text : "");
		number.is_border &= fabs(number.value) > 2 || !number.is_whole;
		if (is_known(out, &number))
			continue;
		out->items[out->n++] = number;
		out->n_borders += number.is_border;
	}
	return 0;
}

/* ---- dealing ---- */

/* Where a draw may take numbers from. */
struct domain {
	bool (*fits)(const struct domain *domain, const struct kgb_number *number);
	struct kgb_whole_range range;
	double lo, hi;
};

/* Shuffled anew when all cards were dealt, like kgb_rng_deal, but for a deck of any size. NULL: no
 * number fits. */
static const struct kgb_number *deal(const struct kgb_dictionary *dictionary,
				     const struct kgb_seed *seed, const char *label, uint32_t turn,
				     const struct domain *domain)
{
	const struct kgb_number *cards[KGB_BORDER_CARDS * KGB_DICTIONARY_MAX];
	struct kgb_rng rng;
	size_t n = 0;

	for (size_t i = 0; i < dictionary->n; i++) {
		const struct kgb_number *number = &dictionary->items[i];
		const size_t copies = number->is_border ? KGB_BORDER_CARDS : 1;
		for (size_t k = 0; k < copies && domain->fits(domain, number); k++)
			cards[n++] = number;
	}
	if (n == 0)
		return NULL;
	kgb_rng_init(&rng, seed, label, turn / (uint32_t)n);
	for (size_t i = n - 1; i > 0; i--) {
		const size_t k = (size_t)kgb_rng_int(&rng, 0, (int64_t)i);
		const struct kgb_number *card = cards[i];
		cards[i] = cards[k];
		cards[k] = card;
	}
	return cards[turn % n];
}

static bool lies_in(struct kgb_whole_range range, int64_t value)
{
	return value >= range.lo && value <= range.hi;
}

/* ---- whole numbers ---- */

static bool fits_exactly(const struct domain *domain, const struct kgb_number *number)
{
	return number->is_whole && lies_in(domain->range, number->whole);
}

static bool fits_nearly(const struct domain *domain, const struct kgb_number *number)
{
	const struct kgb_whole_range range = domain->range;
	const int64_t value = number->whole;

	/* Without overflow: no range reaches the ends of 64 bits by more than 1. */
	if (!number->is_whole || (range.use != KGB_NUMBER_INT && value < SIZE_LEAST))
		return false;
	return lies_in(range, value) || (value < INT64_MAX && lies_in(range, value + 1)) ||
	       (value > INT64_MIN && lies_in(range, value - 1)) ||
	       (range.use == KGB_NUMBER_INT && value > INT64_MIN && lies_in(range, -value));
}

/* A number for a size that the program may not expect: beside the number, or up to twice as large.
 */
static int64_t go_beyond(struct kgb_rng *rng, int64_t value, int64_t hi)
{
	const int64_t by = kgb_rng_int(rng, -1, 2), room = hi - value;

	if (by < 2 || room < 1)
		return value + by;
	return value + kgb_rng_int(rng, 1, room < value ? room : value);
}

/* A number by a card of 8: most cards are the number itself. */
static int64_t vary(struct kgb_rng *rng, const struct kgb_whole_range *range, int64_t value)
{
	const int64_t card = kgb_rng_int(rng, 0, 7);
	int64_t other = value;

	if (range->use == KGB_NUMBER_FAR_SIZE)
		return go_beyond(rng, value, range->hi);
	if (card == 5 || card == 6)
		(void)__builtin_add_overflow(value, card == 5 ? 1 : -1, &other);
	else if (card > 6 && range->use == KGB_NUMBER_INT)
		(void)__builtin_sub_overflow(0, value, &other);
	else if (card > 6 && range->hi / value >= 2)
		other = value * kgb_rng_int(rng, 2, range->hi / value);
	return other;
}

bool kgb_dictionary_deal_whole(const struct kgb_dictionary *dictionary, const struct kgb_seed *seed,
			       const char *label, uint32_t turn, struct kgb_whole_range range,
			       int64_t *out)
{
	const struct domain domain = {.fits = fits_nearly, .range = range};
	const struct kgb_number *number = deal(dictionary, seed, label, turn, &domain);
	struct kgb_rng rng;

	if (!number)
		return false;
	kgb_rng_init(&rng, seed, label, VARIANT_STREAM + turn);
	/* One of the variants lies in the range. */
	do
		*out = vary(&rng, &range, number->whole);
	while (!lies_in(range, *out));
	return true;
}

bool kgb_dictionary_deal_exact(const struct kgb_dictionary *dictionary, const struct kgb_seed *seed,
			       const char *label, uint32_t turn, struct kgb_whole_range range,
			       int64_t *out)
{
	const struct domain domain = {.fits = fits_exactly, .range = range};
	const struct kgb_number *number = deal(dictionary, seed, label, turn, &domain);

	if (number)
		*out = number->whole;
	return number != NULL;
}

/* ---- floats ---- */

static bool fits_float(const struct domain *domain, const struct kgb_number *number)
{
	return (number->value >= domain->lo && number->value <= domain->hi) ||
	       (-number->value >= domain->lo && -number->value <= domain->hi);
}

/* The number next to this one; next to 0 a number that half precision has, too: a routine whose
 * numbers are floats takes the next double for 0. */
static double next_to(double value, bool upwards)
{
	if (fpclassify(value) == FP_ZERO)
		return upwards ? 0x1p-14 : -0x1p-14;
	return nextafter(value, upwards ? (double)INFINITY : -(double)INFINITY);
}

/* A number by a card of 8: most cards are the number itself, two are beside it in the type double
 * and in half precision. */
static double vary_float(struct kgb_rng *rng, double value)
{
	switch (kgb_rng_int(rng, 0, 7)) {
	case 5:
		return next_to(value, kgb_rng_int(rng, 0, 1));
	case 6:
		return value * (kgb_rng_int(rng, 0, 1) ? 1 + 0x1p-10 : 1 - 0x1p-10);
	case 7:
		return -value;
	default:
		return value;
	}
}

bool kgb_dictionary_deal_float(const struct kgb_dictionary *dictionary, const struct kgb_seed *seed,
			       const char *label, uint32_t turn, double lo, double hi, double *out)
{
	const struct domain domain = {.fits = fits_float, .lo = lo, .hi = hi};
	const struct kgb_number *number = deal(dictionary, seed, label, turn, &domain);
	struct kgb_rng rng;

	if (!number)
		return false;
	kgb_rng_init(&rng, seed, label, VARIANT_STREAM + turn);
	do
		*out = vary_float(&rng, number->value);
	while (!(*out >= lo && *out <= hi));
	return true;
}

/* ---- any ---- */

static bool fits_always(KGB_UNUSED const struct domain *domain,
			KGB_UNUSED const struct kgb_number *number)
{
	return true;
}

const struct kgb_number *kgb_dictionary_deal_any(const struct kgb_dictionary *dictionary,
						 const struct kgb_seed *seed, const char *label,
						 uint32_t turn)
{
	const struct domain domain = {.fits = fits_always};

	return deal(dictionary, seed, label, turn, &domain);
}
