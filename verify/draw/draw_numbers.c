/* SPDX-License-Identifier: MIT */
#include "verify/draw/draw_numbers.h"

#include "base/str.h"
#include "verify/draw/split.h"

enum {
	CHOICES = 4, /* all choices of a line but one in so many take numbers */
	ELEMENTS_LEAST = 32, /* smaller numbers are only sizes of a dimension */
	FAR_TURNS = 2, /* one turn in so many goes beyond the usual range, if the text does */
	CHOICE_STREAM = 1 << 27, /* streams of a label beyond those of the dictionary */
	SHAPE_STREAM = 1 << 28,
	PICK_TRIES = 16, /* numbers for which a form is looked for */
	SHORT_MOST = 3, /* the other sizes of a shape are often not larger */
};

bool kgb_number_choice_make(const struct kgb_draw *draw, const char *id, const char *label,
			    uint32_t number, bool always, struct kgb_number_choice *out)
{
	const uint32_t turns = kgb_dictionary_turns(draw->numbers);
	struct kgb_rng rng;
	KGB_AUTO(free)
	char *line =
		kgb_xasprintf("draw %s %s %s numbers", draw->interface->entry, draw->set->name, id);

	*out = (struct kgb_number_choice){.draw = draw,
					  .label =
						  kgb_arena_printf(draw->arena, "%s/number", label),
					  .turn = number / turns};
	if (always)
		return true;
	kgb_rng_init(&rng, draw->seed, out->label, CHOICE_STREAM + number);
	return kgb_rng_deal(draw->seed, line, number, turns) == 0 &&
	       kgb_rng_int(&rng, 1, CHOICES) > 1;
}

/* Another choice beside this one. */
static struct kgb_number_choice beside(const struct kgb_number_choice *choice, const char *what)
{
	struct kgb_number_choice other = *choice;

	other.label = kgb_arena_printf(choice->draw->arena, "%s/%s", choice->label, what);
	return other;
}

static bool is_far(const struct kgb_number_choice *choice)
{
	return kgb_rng_deal(choice->draw->seed, beside(choice, "far").label, choice->turn,
			    FAR_TURNS) == 0;
}

/* Whether a form {float: [lo, hi]}, {int: ...} or {size: ...} has the number in its range. */
static bool may_have(const cJSON *form, double number)
{
	static const char *const names[] = {"float", "int", "size", NULL};
	const cJSON *range = form->child;

	if (!cJSON_IsObject(form) || !kgb_str_is_one_of(range->string, names))
		return false;
	const cJSON *low = cJSON_GetArrayItem(range, 0), *high = cJSON_GetArrayItem(range, 1);
	return cJSON_IsNumber(low) && cJSON_IsNumber(high) && number >= low->valuedouble &&
	       number <= high->valuedouble;
}

/* The first form, from a card on, that has the number in its range; -1: none has. */
static int find_form(const cJSON *values, int card, double number)
{
	const int n = cJSON_GetArraySize(values);

	for (int i = 0; i < n; i++)
		if (may_have(cJSON_GetArrayItem(values, (card + i) % n), number))
			return (card + i) % n;
	return -1;
}

int kgb_number_pick(const struct kgb_number_choice *choice, const cJSON *values, int card)
{
	const struct kgb_draw *draw = choice->draw;
	const char *label = beside(choice, "pick").label;

	for (uint32_t i = 0; i < PICK_TRIES; i++) {
		const uint32_t turn = choice->turn * PICK_TRIES + i;
		const int found = find_form(
			values, card,
			kgb_dictionary_deal_any(draw->numbers, draw->seed, label, turn)->value);
		if (found >= 0)
			return found;
	}
	return card;
}

static bool deal_range(const struct kgb_number_choice *choice, struct kgb_whole_range range,
		       int64_t *out)
{
	return kgb_dictionary_deal_whole(choice->draw->numbers, choice->draw->seed, choice->label,
					 choice->turn, range, out);
}

static bool deal_size(const struct kgb_number_choice *choice, int64_t lo, int64_t hi, int64_t *out)
{
	const struct kgb_whole_range range = {.lo = lo, .hi = hi, .use = KGB_NUMBER_SIZE};

	return deal_range(choice, range, out);
}

bool kgb_number_size(const struct kgb_number_choice *choice, int64_t lo, int64_t hi, int64_t far,
		     int64_t *out)
{
	const struct kgb_whole_range beyond = {.lo = hi + 1, .hi = far, .use = KGB_NUMBER_FAR_SIZE};

	return (far > hi && is_far(choice) && deal_range(choice, beyond, out)) ||
	       deal_size(choice, lo, hi, out);
}

bool kgb_number_int(const struct kgb_number_choice *choice, int64_t lo, int64_t hi, int64_t *out)
{
	return deal_range(choice, (struct kgb_whole_range){.lo = lo, .hi = hi}, out);
}

bool kgb_number_float(const struct kgb_number_choice *choice, double lo, double hi, double *out)
{
	return kgb_dictionary_deal_float(choice->draw->numbers, choice->draw->seed, choice->label,
					 choice->turn, lo, hi, out);
}

/* ---- shapes ---- */

/* A size for what is left: any, or a short one. */
static int64_t draw_rest(struct kgb_rng *rng, int64_t left)
{
	if (left <= SHORT_MOST || kgb_rng_int(rng, 0, 1))
		return kgb_rng_int(rng, 1, left < SHORT_MOST ? left : SHORT_MOST);
	return kgb_throw_log(rng, 1, left);
}

/* The number is the size of a dimension, more often of the first or the last one, and another
 * number may be that of another one. */
static void split_around(const struct kgb_number_choice *choice, struct kgb_rng *rng,
			 int64_t number, int64_t elements, int64_t ndim, int64_t *sizes)
{
	const int64_t card = kgb_rng_int(rng, 0, 4);
	const int64_t place = card < 2 ? 0 : card < 4 ? ndim - 1 : kgb_rng_int(rng, 0, ndim - 1);
	const int64_t first = kgb_rng_int(rng, 0, ndim - 1);
	const struct kgb_number_choice other = beside(choice, "other");
	int64_t left = elements / number;
	bool has_other = kgb_rng_int(rng, 0, 1);

	sizes[place] = number;
	for (int64_t i = 0; i < ndim; i++) {
		const int64_t k = (first + i) % ndim;
		if (k == place)
			continue;
		if (!has_other || !deal_size(&other, 1, left, &sizes[k]))
			sizes[k] = draw_rest(rng, left);
		has_other = false;
		left /= sizes[k];
	}
}

bool kgb_number_shape(const struct kgb_number_choice *choice, const struct kgb_shape_limits *limits,
		      int64_t *ndim, int64_t *sizes)
{
	const struct kgb_whole_range dims = {.lo = limits->least_dims > 1 ? limits->least_dims : 1,
					     .hi = limits->most_dims};
	struct kgb_rng rng;
	int64_t number = 0;

	if (*ndim == 0 || !kgb_number_size(choice, 1, limits->elements, limits->far, &number))
		return false;
	kgb_rng_init(&rng, choice->draw->seed, choice->label, SHAPE_STREAM + choice->turn);
	if (kgb_rng_int(&rng, 0, 1)) {
		const struct kgb_number_choice other = beside(choice, "dims");
		(void)kgb_dictionary_deal_exact(other.draw->numbers, other.draw->seed, other.label,
						other.turn, dims, ndim);
	}
	if (number >= ELEMENTS_LEAST && kgb_rng_int(&rng, 0, 2) == 0)
		kgb_split_exactly(&rng, number, *ndim, sizes);
	else
		split_around(choice, &rng, number,
			     number > limits->elements ? limits->far : limits->elements, *ndim,
			     sizes);
	return true;
}
