/* SPDX-License-Identifier: MIT */
/** \file
 * Elements of drawn cases that are numbers of the candidate's text, or lie beside or beyond them.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "verify/fills/values.h"

enum {
	CARDS_MAX = 2 * KGB_BORDER_CARDS * KGB_DICTIONARY_MAX, /* with both signs */
	ONE_IN = 8, /* elements of the tensor that are numbers, or only FEW of them */
	FEW = 3,
	SPRINKLED_MOST = 4096,
	PLACES_TRIED = 4,
	STEPS_LEAST = 8, /* whole numbers go up to so far beyond, or farther */
};

/* Numbers of the usual sizes: outliers and scaled tensors have such elements, too. */
static double usual_max(enum kgb_dtype dtype)
{
	return kgb_dtype_size(dtype) > 2 || dtype == KGB_DTYPE_BFLOAT16 ? 256 : 32;
}

static bool is_usual(const struct kgb_arg *arg, enum kgb_mode mode, double value)
{
	const enum kgb_dtype dtype = arg->view.dtype;
	const kgb_specials specials = mode == KGB_MODE_SPECIAL ? arg->specials : 0;
	const double size = fabs(value);

	if (size > usual_max(dtype))
		return specials & 1U << KGB_SPECIAL_LARGEST;
	if (size > 0 && size < 1 / usual_max(dtype))
		return specials & 1U << KGB_SPECIAL_SMALLEST && size >= kgb_dtype_tiny(dtype);
	return true;
}

/* A number in the type of the elements. */
struct card {
	double value;
	int64_t whole;
};

static bool fits(const struct kgb_arg *arg, enum kgb_mode mode, const struct card *card)
{
	const enum kgb_dtype dtype = arg->view.dtype;

	if (!isfinite(card->value))
		return false;
	if (!kgb_dtype_is_float(dtype))
		return card->whole >= kgb_dtype_min_i64(dtype) &&
		       card->whole <= kgb_dtype_max_i64(dtype) &&
		       (arg->values.is_wide || kgb_values_fit(arg, card->value));
	return (arg->bounded || arg->fill == KGB_FILL_UNIFORM || arg->fill == KGB_FILL_INT ||
		is_usual(arg, mode, card->value)) &&
	       kgb_values_fit(arg, card->value);
}

static void store(const struct kgb_arg *arg, const struct card *card, char *to)
{
	if (kgb_dtype_is_float(arg->view.dtype))
		kgb_dtype_store(arg->view.dtype, to, card->value);
	else
		kgb_dtype_store_i64(arg->view.dtype, to, card->whole);
}

/* The numbers that the tensor may have, in random order. */
static size_t collect(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
		      struct card *cards)
{
	const struct kgb_dictionary *numbers = arg->values.numbers;
	const bool is_float = kgb_dtype_is_float(arg->view.dtype);
	size_t n = 0;

	for (size_t i = 0; i < numbers->n; i++) {
		const struct kgb_number *number = &numbers->items[i];
		for (int sign = 1; sign >= -1; sign -= 2) {
			const struct card card = {
				.value = is_float ? kgb_dtype_round(arg->view.dtype,
								    sign * number->value)
						  : sign * number->value,
				.whole = number->whole == INT64_MIN ? INT64_MIN
								    : sign * number->whole};
			if ((!is_float && !number->is_whole) || !fits(arg, mode, &card))
				continue;
			for (int k = 0; k < (number->is_border && sign > 0 ? KGB_BORDER_CARDS : 1);
			     k++)
				cards[n++] = card;
		}
	}
	for (size_t i = n; i > 1; i--) {
		const size_t k = (size_t)kgb_rng_int(rng, 0, (int64_t)i - 1);
		const struct card card = cards[i - 1];
		cards[i - 1] = cards[k];
		cards[k] = card;
	}
	return n;
}

static char *place(const struct kgb_tensor_view *view, void *storage, int64_t i)
{
	return (char *)storage +
	       (size_t)kgb_tensor_view_element(view, i) * kgb_dtype_size(view->dtype);
}

/* A number beyond another one on a side: up to twice as far from 0, or as near as 0. */
static struct card go_beyond(const struct kgb_arg *arg, struct kgb_rng *rng, struct card card,
			     bool is_above)
{
	const double share = kgb_rng_uniform(rng);
	const double by = share * (card.value != 0 ? fabs(card.value) : 1);
	struct card other = {.value = is_above ? card.value + by : card.value - by};

	if (kgb_dtype_is_float(arg->view.dtype)) {
		other.value = kgb_dtype_round(arg->view.dtype, other.value);
		return other;
	}
	const int64_t step = 1 + (int64_t)fmin(fmax(by, share * STEPS_LEAST), 0x1p53);
	if (__builtin_add_overflow(card.whole, is_above ? step : -step, &other.whole))
		other.whole = card.whole;
	other.value = (double)other.whole;
	return other;
}

/* The number, one beside it, or one beyond it. */
static void put(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
		const struct card *card, char *to)
{
	const int64_t which = kgb_rng_int(rng, 0, 7);

	store(arg, card, to);
	if (which == 4 || which == 5) {
		char number[sizeof(int64_t)];
		memcpy(number, to, kgb_dtype_size(arg->view.dtype));
		(void)kgb_values_store_step(arg, number, which == 4 ? 1 : -1, to);
	} else if (which > 5) {
		const struct card other = go_beyond(arg, rng, *card, which == 6);
		if (fits(arg, mode, &other))
			store(arg, &other, to);
	}
}

static void sprinkle(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
		     const struct card *cards, size_t n_cards, void *storage)
{
	const int64_t n = kgb_tensor_view_numel(&arg->view);
	const bool is_few = kgb_rng_int(rng, 0, 2) == 0;
	int64_t left = is_few ? kgb_rng_int(rng, 1, FEW) : n / ONE_IN + 1;

	for (left = left < SPRINKLED_MOST ? left : SPRINKLED_MOST; left > 0; left--)
		put(arg, mode, rng, &cards[(size_t)left % n_cards],
		    place(&arg->view, storage, kgb_rng_int(rng, 0, n - 1)));
}

/* All elements lie beyond the number on one side, but for those that find no place there. No line
 * becomes constant, which some operators' semantics exclude. */
static void move_beyond(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
			const struct card *card, void *storage)
{
	const int64_t n = kgb_tensor_view_numel(&arg->view);
	const bool is_above = kgb_rng_int(rng, 0, 1);

	for (int64_t i = 0; i < n; i++) {
		for (int tried = 0; tried < PLACES_TRIED; tried++) {
			const struct card other = go_beyond(arg, rng, *card, is_above);
			if (!fits(arg, mode, &other))
				continue;
			store(arg, &other, place(&arg->view, storage, i));
			break;
		}
	}
}

void kgb_fill_numbers(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
		      void *storage)
{
	if (!arg->values.numbers || kgb_tensor_view_numel(&arg->view) == 0)
		return;
	struct card *cards = kgb_xcalloc(CARDS_MAX, sizeof(*cards));
	const size_t n = collect(arg, mode, rng, cards);
	if (n > 0 && arg->values.is_beyond_number)
		move_beyond(arg, mode, rng, &cards[0], storage);
	else if (n > 0)
		sprinkle(arg, mode, rng, cards, n, storage);
	kgb_free(cards);
}
