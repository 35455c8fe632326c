/* SPDX-License-Identifier: MIT */
#include "verify/cases/value_deck.h"

#include <math.h>

#include "base/formats/json.h"
#include "base/str.h"
#include "verify/fills/fill.h"
#include "verify/fills/values.h"

enum {
	VALUES_STREAM = 4001, /* random streams of a case beside those of its data and calls */
	NUMBERS_STREAM = 4002,
};

/* The cards of the deck of cases: half of the cases have each style. */
enum { SCALED = 1, PATTERNED = 2, PAIRED = 4, N_CARDS = 8 };

static size_t deal(const struct kgb_value_deck *deck, const struct kgb_case *c, const char *what,
		   uint32_t turn, size_t n)
{
	KGB_AUTO(free) char *label = kgb_xasprintf("values %s %s", c->interface->entry, what);

	return kgb_rng_deal(deck->seed, label, turn, n);
}

/* ---- scales ---- */

/* Powers of two for a tensor. The fourth power of its elements keeps its digits in the type, half
 * precision excepted: there the square does. Sizes above the usual ones are those of outliers. */
struct band {
	int lo, hi;
};
enum { N_BANDS = 5 };
static const struct band *bands_of(enum kgb_dtype dtype)
{
	static const struct band half[N_BANDS] = {{-2, -1}, {-4, -3}, {-6, -5}, {1, 3}, {1, 3}};
	static const struct band single[N_BANDS] = {
		{-8, -1}, {-19, -9}, {-30, -20}, {1, 7}, {8, 17}};
	static const struct band wide[N_BANDS] = {
		{-19, -1}, {-60, -20}, {-200, -61}, {1, 7}, {8, 60}};

	dtype = kgb_dtype_part(dtype);
	return dtype == KGB_DTYPE_FLOAT64   ? wide
	       : dtype == KGB_DTYPE_FLOAT16 ? half
	       : kgb_dtype_size(dtype) > 1  ? single
					    : NULL;
}

/* Without a range that the spec declares. */
static bool is_free(const struct kgb_arg *arg)
{
	return arg->fill == KGB_FILL_NORMAL || arg->fill == KGB_FILL_POSITIVE;
}

/* A sum over lines of many sizes may lose the small ones one by one: of more elements they count.
 * Real and imaginary parts have sums of their own. */
enum { ELEMENTS_OF_ROWS = 1000 };

static void deal_scales(struct kgb_value_deck *deck, struct kgb_rng *rng, struct kgb_case *c)
{
	const size_t card = deal(deck, c, "scale", deck->n_scaled++, N_BANDS);
	const double place = kgb_rng_uniform(rng);
	const bool is_common = kgb_rng_int(rng, 0, 1);
	const bool scales_parts = kgb_rng_int(rng, 0, 1);

	for (size_t i = 0; i < c->n_args; i++) {
		struct kgb_arg *arg = &c->args[i];
		const size_t own = (size_t)kgb_rng_int(rng, 0, N_BANDS - 1);
		const double own_place = kgb_rng_uniform(rng);
		const bool scales_rows = kgb_rng_int(rng, 0, 3) == 0;
		const struct band *bands =
			arg->param->kind == KGB_PARAM_TENSOR ? bands_of(arg->view.dtype) : NULL;
		if (!bands || !kgb_dtype_is_float(arg->view.dtype) || !is_free(arg))
			continue;
		const struct band *band = &bands[is_common ? card : own];
		arg->values.scale = band->lo + (int)((is_common ? place : own_place) *
						     (band->hi - band->lo + 1));
		arg->values.scales_parts = scales_parts && kgb_dtype_is_complex(arg->view.dtype);
		arg->values.scales_rows = scales_rows && !arg->values.scales_parts &&
					  kgb_tensor_view_numel(&arg->view) <= ELEMENTS_OF_ROWS;
	}
}

/* ---- patterns ---- */

static bool can_have_pattern(const struct kgb_arg *arg)
{
	return is_free(arg) || arg->fill == KGB_FILL_UNIFORM || arg->fill == KGB_FILL_INT ||
	       arg->fill == KGB_FILL_BOOL;
}

static bool is_of_zeros(enum kgb_pattern pattern)
{
	return pattern == KGB_PATTERN_ZEROS || pattern == KGB_PATTERN_ZERO_BLOCKS ||
	       pattern == KGB_PATTERN_ZERO_REGION;
}

static bool is_possible(const struct kgb_arg *arg, enum kgb_pattern pattern)
{
	const bool is_fraction = kgb_dtype_is_float(arg->view.dtype) && arg->fill != KGB_FILL_INT &&
				 arg->fill != KGB_FILL_BOOL;

	if (pattern == KGB_PATTERN_COARSE)
		return is_fraction;
	if (pattern == KGB_PATTERN_SORTED || !arg->values.may_repeat)
		return pattern == KGB_PATTERN_SORTED;
	if (kgb_pattern_has_points(pattern))
		return is_fraction;
	if (pattern == KGB_PATTERN_OPPOSITE)
		return is_fraction && arg->fill != KGB_FILL_POSITIVE;
	return !is_of_zeros(pattern) || kgb_values_fit(arg, 0);
}

/* A number of the call, which may be a border: a threshold, an exponent. 0: there is none. */
static double choose_number(struct kgb_rng *rng, const struct kgb_case *c)
{
	double numbers[2 * KGB_MAX_ARGS];
	int64_t n = 0;

	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_case_value *value = &c->args[i].value;
		const double number = value->kind == KGB_CASE_VALUE_FLOAT ? value->number
				      : value->kind == KGB_CASE_VALUE_INT ? (double)value->integer
									  : 0;
		if (c->args[i].param->kind == KGB_PARAM_VALUE && number != 0 && isfinite(number)) {
			numbers[n++] = number;
			numbers[n++] = -number;
		}
	}
	return n > 0 ? numbers[kgb_rng_int(rng, 0, n - 1)] : 0;
}

static void keep_size(struct kgb_arg *arg)
{
	arg->values.scale = 0;
	arg->values.scales_rows = arg->values.scales_parts = false;
}

/* Whether elements may lie at the points or on one side of them. */
static bool can_be_near(const struct kgb_arg *arg, const struct kgb_points *points)
{
	if (arg->fill == KGB_FILL_UNIFORM)
		return (points->first >= arg->lo && points->first <= arg->hi) ||
		       (points->step != 0 && arg->hi - arg->lo >= points->step);
	return arg->fill == KGB_FILL_NORMAL || points->first > 0 || points->step != 0;
}

/* Points where functions are 0 or change their form: a number of the call, or one of these. */
static void deal_points(struct kgb_value_deck *deck, struct kgb_rng *rng, const struct kgb_case *c,
			struct kgb_arg *arg)
{
	const struct kgb_points usual[] = {{1, 0},   {0, 1},    {M_PI_2, M_PI}, {-1, 0},
					   {0.5, 1}, {0, M_PI}, {arg->lo, 0},   {arg->hi, 0}};
	const size_t n = KGB_ARRAY_LEN(usual) - (arg->fill == KGB_FILL_UNIFORM ? 0 : 2);
	const size_t card = deal(deck, c, "points", deck->n_points++, n);
	const bool prefers_number = kgb_rng_int(rng, 0, 1);
	struct kgb_points *points = &arg->values.points;

	keep_size(arg);
	*points = (struct kgb_points){.first = choose_number(rng, c)};
	if (prefers_number && points->first != 0 && can_be_near(arg, points))
		return;
	for (size_t i = 0; i < n; i++) {
		*points = usual[(card + i) % n];
		if (can_be_near(arg, points))
			break;
	}
}

/* Lines with a sum or norm of 1, or of a number of the call. */
static void deal_total(struct kgb_rng *rng, const struct kgb_case *c, struct kgb_arg *arg)
{
	const double number = fabs(choose_number(rng, c));

	arg->values.points.first = number != 0 && kgb_rng_int(rng, 0, 2) == 0 ? number : 1;
	keep_size(arg);
}

/* A relation of the elements of lines, in a quarter of the cases: those without patterns and
 * neighbours, which would change sums and norms. */
static void deal_relation(struct kgb_value_deck *deck, struct kgb_rng *rng,
			  const struct kgb_case *c, struct kgb_arg *arg)
{
	static const enum kgb_pattern relations[] = {
		KGB_PATTERN_SHARES,   KGB_PATTERN_UNIT, KGB_PATTERN_SHARES, KGB_PATTERN_UNIT,
		KGB_PATTERN_MIRRORED, KGB_PATTERN_EVEN, KGB_PATTERN_PEAK,   KGB_PATTERN_OPPOSITE};
	const enum kgb_pattern pattern =
		relations[deal(deck, c, "relation", deck->n_relations++, KGB_ARRAY_LEN(relations))];

	arg->values.pattern = is_possible(arg, pattern) ? pattern : KGB_PATTERN_SORTED;
	if (arg->values.pattern == KGB_PATTERN_SHARES || arg->values.pattern == KGB_PATTERN_UNIT)
		deal_total(rng, c, arg);
}

static bool is_index_or_mask(const struct kgb_arg *arg)
{
	return arg->fill == KGB_FILL_BOOL || (arg->fill == KGB_FILL_INT && arg->bounded);
}

/* Indices and masks have no scales, and few other values: they get patterns in all cases. Half of
 * the tensors with tiles have a region of zeros. */
static void deal_patterns(struct kgb_value_deck *deck, bool is_patterned, struct kgb_rng *rng,
			  struct kgb_case *c)
{
	/* Twice those that a kernel may recognise by a few elements. */
	static const enum kgb_pattern patterns[] = {
		KGB_PATTERN_CONSTANT,    KGB_PATTERN_TWO_VALUES,  KGB_PATTERN_ZEROS,
		KGB_PATTERN_ZERO_BLOCKS, KGB_PATTERN_SORTED,      KGB_PATTERN_PERIODIC,
		KGB_PATTERN_RUNS,        KGB_PATTERN_COARSE,      KGB_PATTERN_CONSTANT,
		KGB_PATTERN_SORTED,      KGB_PATTERN_ZERO_REGION, KGB_PATTERN_ZERO_REGION,
		KGB_PATTERN_POINTS};

	for (size_t i = 0; i < c->n_args; i++) {
		struct kgb_arg *arg = &c->args[i];
		const bool is_left = kgb_rng_int(rng, 0, 3) == 0;
		if (arg->param->kind != KGB_PARAM_TENSOR || !can_have_pattern(arg) || is_left)
			continue;
		if (!is_patterned && !is_index_or_mask(arg)) {
			if (!arg->values.has_neighbours)
				deal_relation(deck, rng, c, arg);
			continue;
		}
		enum kgb_pattern pattern = patterns[deal(deck, c, "pattern", deck->n_patterns++,
							 KGB_ARRAY_LEN(patterns))];
		if (kgb_values_have_tiles(arg) && deal(deck, c, "region", deck->n_regions++, 2))
			pattern = KGB_PATTERN_ZERO_REGION;
		if (pattern == KGB_PATTERN_ZERO_REGION && !kgb_values_have_matrix(arg))
			pattern = KGB_PATTERN_ZERO_BLOCKS;
		arg->values.pattern = is_possible(arg, pattern) ? pattern : KGB_PATTERN_SORTED;
		if (arg->values.pattern == KGB_PATTERN_POINTS)
			deal_points(deck, rng, c, arg);
	}
}

/* Three of four tensors with zeros have no special values, if another one has: NaN and infinity
 * times 0 count, also where a whole tile is 0. */
static void spare_zeros(struct kgb_rng *rng, struct kgb_case *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_args; i++)
		n += kgb_fill_has_special_floats(&c->args[i]);
	for (size_t i = 0; i < c->n_args && c->mode == KGB_MODE_SPECIAL; i++) {
		struct kgb_values *values = &c->args[i].values;
		const bool is_chosen = kgb_rng_int(rng, 0, 3);
		if (n < 2 || !is_chosen || !is_of_zeros(values->pattern) ||
		    !kgb_fill_has_special_floats(&c->args[i]))
			continue;
		values->is_spared = true;
		n--;
	}
}

/* ---- numbers of the text ---- */

/* Of the tensors of a case that gets numbers three in four, and of these one in four as a whole. */
static void deal_numbers(struct kgb_value_deck *deck, struct kgb_case *c)
{
	struct kgb_rng rng;

	if (!deck->numbers || deck->numbers->n == 0 ||
	    deal(deck, c, "numbers", deck->n_numbers++, kgb_dictionary_turns(deck->numbers)) > 0)
		return;
	kgb_rng_init(&rng, deck->seed, c->name, NUMBERS_STREAM);
	for (size_t i = 0; i < c->n_args; i++) {
		struct kgb_arg *arg = &c->args[i];
		const int64_t card = kgb_rng_int(&rng, 0, 3);
		const int64_t all = kgb_rng_int(&rng, 0, 3);
		if (arg->param->kind != KGB_PARAM_TENSOR || arg->is_absent || card == 0 ||
		    !can_have_pattern(arg) || arg->fill == KGB_FILL_BOOL || !arg->values.may_repeat)
			continue;
		arg->values.numbers = deck->numbers;
		arg->values.is_beyond_number = all == 0;
	}
}

/* ---- what the spec allows ---- */

/* Whole numbers without a range, which may come from the whole one of their type. */
static bool can_be_wide(const struct kgb_arg *arg, kgb_specials specials)
{
	return arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent &&
	       arg->fill == KGB_FILL_INT && !arg->bounded && arg->lo <= 0 &&
	       specials & 1U << KGB_SPECIAL_WIDE && !kgb_dtype_is_float(arg->view.dtype);
}

/* Half of the cases with such numbers: they are few where a function has many types. */
static void deal_wide(struct kgb_value_deck *deck, kgb_specials specials, struct kgb_case *c)
{
	bool has_wide = false;

	for (size_t i = 0; i < c->n_args; i++)
		has_wide |= can_be_wide(&c->args[i], specials);
	if (!has_wide || deal(deck, c, "wide", deck->n_wide++, 2))
		return;
	for (size_t i = 0; i < c->n_args; i++) {
		if (!can_be_wide(&c->args[i], specials))
			continue;
		c->args[i].values.is_wide = true;
		c->args[i].values.has_neighbours = true;
	}
}

void kgb_case_deal_values(struct kgb_value_deck *deck, const struct kgb_case_vars *from,
			  struct kgb_case *c)
{
	const size_t card = deal(deck, c, "case", deck->n_cases++, N_CARDS);
	const kgb_specials specials = kgb_template_may_be_special(from) ? from->specials : 0;
	struct kgb_rng rng;

	kgb_rng_init(&rng, deck->seed, c->name, VALUES_STREAM);
	for (size_t i = 0; i < c->n_args; i++) {
		struct kgb_arg *arg = &c->args[i];
		if (arg->param->kind != KGB_PARAM_TENSOR || arg->is_absent)
			continue;
		arg->values.may_be_zero = specials & 1U << KGB_SPECIAL_ZEROS;
		arg->values.may_repeat = specials || (arg->bounded && from->specials);
		arg->values.has_neighbours = card & PAIRED && can_have_pattern(arg);
		arg->values.has_sizes = c->mode == KGB_MODE_SPECIAL && kgb_rng_int(&rng, 0, 1);
	}
	deal_wide(deck, specials, c);
	if (card & SCALED)
		deal_scales(deck, &rng, c);
	deal_patterns(deck, card & PATTERNED, &rng, c);
	spare_zeros(&rng, c);
	deal_numbers(deck, c);
}

void kgb_case_copy_values(struct kgb_case *c, const struct kgb_case *from)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *model = &from->args[i];
		struct kgb_arg *arg = &c->args[i];
		if (arg->fill == model->fill && arg->lo == model->lo && arg->hi == model->hi)
			arg->values = model->values;
	}
}
