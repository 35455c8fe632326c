/* SPDX-License-Identifier: MIT */
#include "verify/draw/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/str.h"
#include "verify/draw/draw_numbers.h"
#include "verify/draw/split.h"
#include "verify/spec/expr.h"
#include "verify/tensor/tensor_view.h"

enum {
	SHARED = 1 << 24, /* streams of draws that are no deals begin here */
	NARROW = 1 << 16, /* in ranges up to this width all numbers are equally likely */
	SMALL_BITS = 30, /* small floats are up to so many powers of two below the others */
	DIMS_USUAL = 6, /* more dimensions are possible, but seldom */
	PACKED_TURNS = 4, /* one line in this many is packed */
	LONG_TURNS = 10, /* one line in this many is long */
	ONES_TURNS = 10, /* in one line in this many, shapes have a size of 1 */
	LONG_FACTOR = 32, /* a long shape has up to this many times the usual elements, */
	LONG_ELEMENTS = 1 << 18, /* but not more than this */
	LONG_LEAST = 1000, /* shapes with a lower limit on their elements are never long */
	EARLIER_MAX = 16, /* sizes of a line that are considered again */
	STORAGE_MOST = 1 << 20, /* elements between the first and the last one of a named layout */
};

/* One line being drawn. */
struct drawer {
	const struct kgb_draw *draw;
	const struct kgb_case_vars *from;
	uint32_t number;
	double step; /* of a change, while its variable is drawn */
	bool has_number; /* likewise: it takes a number of the dictionary, if it can */
	const char *layout; /* of a change; NULL: layouts are drawn */
	const cJSON *longer; /* the form that is drawn beyond its usual range; NULL: none */
	bool is_packed; /* sizes are equal, and nothing has gaps */
	bool has_ones; /* shapes have a size of 1, and dense layouts any stride there */
	cJSON *line; /* variables drawn so far */
	struct kgb_buf path; /* names the choice at hand: it labels the random stream */
};

KGB_PRINTF(3, 4)
static int fail_form(const struct drawer *d, const cJSON *node, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return kgb_yaml_fail(&d->draw->set->doc, node, d->draw->err, "drawn '%s': %s: %s",
			     d->from->id, d->path.ptr, text);
}

/* ---- chance ---- */

/* Append the label of the random stream of the choice at hand. */
static void add_label(const struct drawer *d, struct kgb_buf *out)
{
	kgb_buf_addf(out, "draw %s %s %s %s", d->draw->interface->entry, d->draw->set->name,
		     d->from->id, d->path.ptr);
}

static size_t deal_turn(const struct drawer *d, uint32_t turn, size_t n)
{
	KGB_AUTO(buf) struct kgb_buf label = KGB_BUF_INIT(0);

	add_label(d, &label);
	return kgb_rng_deal(d->draw->seed, label.ptr, turn, n);
}

/* Deal one of n cards; each line is a turn. */
static size_t deal(const struct drawer *d, size_t n)
{
	return deal_turn(d, d->number, n);
}

static void open_throw(const struct drawer *d, struct kgb_rng *rng)
{
	KGB_AUTO(buf) struct kgb_buf label = KGB_BUF_INIT(0);

	add_label(d, &label);
	kgb_rng_init(rng, d->draw->seed, label.ptr, SHARED + d->number);
}

/* ---- numbers of the dictionary ---- */

/* Whether the choice at hand takes a number of the dictionary. */
static bool takes_number(const struct drawer *d, struct kgb_number_choice *out)
{
	KGB_AUTO(buf) struct kgb_buf label = KGB_BUF_INIT(0);

	if (!d->draw->numbers || d->draw->numbers->n == 0)
		return false;
	add_label(d, &label);
	return kgb_number_choice_make(d->draw, d->from->id, label.ptr, d->number, d->has_number,
				      out);
}

/* ---- variables and expressions ---- */

static const cJSON *variable(const struct drawer *d, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(d->line, name);
}

static bool read_whole(const cJSON *node, int64_t *out)
{
	if (cJSON_IsBool(node)) {
		*out = cJSON_IsTrue(node);
		return true;
	}
	return kgb_yaml_whole(node, out);
}

static int ask_list(enum kgb_expr_ask ask, const cJSON *list, int64_t k, int64_t *out)
{
	const int64_t n = cJSON_GetArraySize(list);
	const cJSON *item = NULL;
	int64_t size = 0;

	if (ask == KGB_EXPR_NDIM) {
		*out = n;
		return 0;
	}
	if (ask == KGB_EXPR_DIM) {
		k += k < 0 ? n : 0;
		return k >= 0 && k < n && read_whole(cJSON_GetArrayItem(list, (int)k), out) ? 0
											    : -1;
	}
	*out = 1;
	cJSON_ArrayForEach(item, list) {
		if (!read_whole(item, &size) || __builtin_mul_overflow(*out, size, out))
			return -1;
	}
	return ask == KGB_EXPR_NUMEL ? 0 : -1;
}

static int answer(void *payload, enum kgb_expr_ask ask, const char *name, int64_t k, int64_t *out,
		  struct kgb_err *err)
{
	const struct drawer *d = payload;
	const cJSON *node = variable(d, name);
	const bool is_plain = ask == KGB_EXPR_VALUE || ask == KGB_EXPR_VARIABLE;

	if (!node)
		return kgb_fail(err, KGB_ERR_INVALID, "no variable '%s' before this one", name);
	if (is_plain ? read_whole(node, out)
		     : cJSON_IsArray(node) && ask_list(ask, node, k, out) == 0)
		return 0;
	return kgb_fail(err, KGB_ERR_INVALID, "variable '%s' has no such number", name);
}

static int evaluate(struct drawer *d, const cJSON *node, const char *text, int64_t *out)
{
	const struct kgb_expr *expr = NULL;
	struct kgb_err why = KGB_ERR_INIT;

	if (kgb_expr_parse(text, d->draw->arena, &expr, &why) < 0 ||
	    kgb_expr_eval(expr, answer, d, out, &why) < 0)
		return fail_form(d, node, "'%.80s': %s", text, why.msg);
	return 0;
}

/* Behind "$(": the text before the bracket that closes it; NULL: none does. */
static char *take_expression(const char **at)
{
	const char *from = *at;
	int depth = 1;

	for (; **at; ++*at) {
		depth += (**at == '(') - (**at == ')');
		if (depth == 0)
			return kgb_xstrndup(from, (size_t)((*at)++ - from));
	}
	return NULL;
}

/* ---- values ---- */

/* The text decides whether a number is whole, as in a document. */
static cJSON *new_number(const char *text)
{
	cJSON *node = cJSON_CreateNumber(strtod(text, NULL));
	node->valuestring = kgb_xstrdup(text);
	return node;
}

static cJSON *new_whole(int64_t value)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("%lld", (long long)value);

	return new_number(text);
}

static int draw_value(struct drawer *d, const cJSON *node, cJSON **out);

/* A part of a form, with its own stream. */
static int draw_part(struct drawer *d, const cJSON *node, const char *name, int number, cJSON **out)
{
	const size_t len = d->path.len;

	kgb_buf_addf(&d->path, ".%s%d", name, number);
	int rc = draw_value(d, node, out);
	kgb_buf_truncate(&d->path, len);
	return rc;
}

static int part_whole(struct drawer *d, const cJSON *node, const char *name, int number,
		      int64_t *out)
{
	cJSON *value = NULL;

	if (draw_part(d, node, name, number, &value) < 0)
		return -1;
	bool good = read_whole(value, out);
	cJSON_Delete(value);
	return good ? 0 : fail_form(d, node, "expected a whole number");
}

/* The n whole numbers of a form's list. */
static int form_wholes(struct drawer *d, const cJSON *form, int n, int64_t *out)
{
	if (!cJSON_IsArray(form) || cJSON_GetArraySize(form) != n)
		return fail_form(d, form, "expected a list of %d numbers", n);
	for (int i = 0; i < n; i++)
		if (part_whole(d, cJSON_GetArrayItem(form, i), "bound", i, &out[i]) < 0)
			return -1;
	return 0;
}

/* A size of lo .. hi, by 8 cards: one is lo, one lies in the highest quarter, two lie beside a
 * power of two, four have a uniformly distributed logarithm. */
static int64_t size_between(const struct drawer *d, int64_t lo, int64_t hi)
{
	const size_t card = deal(d, 8);
	struct kgb_rng rng;

	open_throw(d, &rng);
	if (card == 0)
		return lo;
	if (card == 1)
		return kgb_rng_int(&rng, hi - hi / 4 > lo ? hi - hi / 4 : lo, hi);
	int64_t value = kgb_throw_log(&rng, lo > 0 ? lo : 1, hi > 0 ? hi : 1);
	if (card <= 3) {
		int64_t power = INT64_C(1) << (63 - __builtin_clzll((uint64_t)value));
		value = power + kgb_rng_int(&rng, -1, 1);
	}
	return value < lo ? lo : value > hi ? hi : value;
}

/* For tensors that are to be alike, with a half's chance, and for packed lines: a size of the line
 * that was drawn before and lies within the bounds. */
static bool is_earlier_size(struct drawer *d, int64_t lo, int64_t hi, int64_t *out)
{
	int64_t found[EARLIER_MAX];
	const size_t len = d->path.len;
	const cJSON *node = NULL;
	struct kgb_rng rng;
	int n = 0;

	cJSON_ArrayForEach(node, d->from->node) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(d->line, node->string);
		int64_t size;
		if (n < EARLIER_MAX && cJSON_HasObjectItem(node, "size") &&
		    kgb_yaml_whole(value, &size) && size >= lo && size <= hi)
			found[n++] = size;
	}
	kgb_buf_adds(&d->path, "/earlier");
	open_throw(d, &rng);
	kgb_buf_truncate(&d->path, len);
	if (n == 0 || (kgb_rng_int(&rng, 0, 1) == 0 && !d->is_packed))
		return false;
	*out = found[kgb_rng_int(&rng, 0, n - 1)];
	return true;
}

static bool take_size(const struct drawer *d, const int64_t bounds[3], int64_t *out)
{
	struct kgb_number_choice choice;

	return takes_number(d, &choice) &&
	       kgb_number_size(&choice, bounds[0], bounds[1], bounds[2], out);
}

/* {size: [low, high]}, or [low, high, highest of a long line] */
static int draw_size(struct drawer *d, const cJSON *form, cJSON **out)
{
	const int n = cJSON_GetArraySize(form) == 3 ? 3 : 2;
	int64_t bounds[3] = {0}, size;
	struct kgb_rng rng;

	if (form_wholes(d, form, n, bounds) < 0)
		return -1;
	if (bounds[0] < 0 || bounds[0] > bounds[1] || (n == 3 && bounds[1] > bounds[2]))
		return fail_form(d, form, "expected 0 <= low <= high (<= long)");
	if (form == d->longer) {
		open_throw(d, &rng);
		size = kgb_throw_log(&rng, bounds[1] > 0 ? bounds[1] : 1, bounds[2]);
	} else if (!((d->draw->repeats || d->is_packed) &&
		     is_earlier_size(d, bounds[0], bounds[1], &size)) &&
		   !take_size(d, bounds, &size)) {
		size = size_between(d, bounds[0], bounds[1]);
	}
	*out = new_whole(size);
	return 0;
}

/* {int: [low, high]}: one of the bounds, or a number between them. In a narrow range all numbers
 * are equally likely, in a wide one all numbers of bits. */
static int draw_int(struct drawer *d, const cJSON *form, cJSON **out)
{
	int64_t bounds[2] = {0};
	struct kgb_number_choice choice;
	struct kgb_rng rng;

	if (form_wholes(d, form, 2, bounds) < 0)
		return -1;
	const int64_t lo = bounds[0], hi = bounds[1];
	if (lo > hi)
		return fail_form(d, form, "expected low <= high");
	const bool is_narrow = (uint64_t)hi - (uint64_t)lo < NARROW;
	size_t card = is_narrow && (uint64_t)hi - (uint64_t)lo < 6 ? 2 : deal(d, 6);
	open_throw(d, &rng);
	int64_t value =
		is_narrow ? kgb_rng_int(&rng, lo, hi) : kgb_rng_int(&rng, INT64_MIN, INT64_MAX);
	if (!is_narrow)
		value >>= kgb_rng_int(&rng, 0, 62);
	value = card == 0 ? lo : card == 1 ? hi : value;
	value = value < lo ? lo : value > hi ? hi : value;
	if (takes_number(d, &choice))
		(void)kgb_number_int(&choice, lo, hi, &value);
	if (d->step > 0)
		value += value < hi ? 1 : value > lo ? -1 : 0;
	*out = new_whole(value);
	return 0;
}

/* {float: [low, high]}: uniform, with all bits of a double. One in four is a whole number, and
 * one in eight of the others is far smaller, if the range has such numbers. */
static int draw_float(struct drawer *d, const cJSON *form, cJSON **out)
{
	const cJSON *low = cJSON_GetArrayItem(form, 0);
	const cJSON *high = cJSON_GetArrayItem(form, 1);
	struct kgb_number_choice choice;
	struct kgb_rng rng;

	if (cJSON_GetArraySize(form) != 2 || !cJSON_IsNumber(low) || !cJSON_IsNumber(high) ||
	    low->valuedouble > high->valuedouble)
		return fail_form(d, form, "expected [low, high]");
	open_throw(d, &rng);
	double value =
		low->valuedouble + kgb_rng_uniform(&rng) * (high->valuedouble - low->valuedouble);
	const double small = exp2(-kgb_rng_uniform(&rng) * SMALL_BITS);
	const bool is_small = kgb_rng_int(&rng, 0, 7) == 0;
	if (deal(d, 4) == 0 && ceil(low->valuedouble) <= floor(high->valuedouble))
		value = fmin(fmax(round(value), ceil(low->valuedouble)), floor(high->valuedouble));
	else if (is_small && value * small >= low->valuedouble &&
		 value * small <= high->valuedouble)
		value *= small;
	if (takes_number(d, &choice))
		(void)kgb_number_float(&choice, low->valuedouble, high->valuedouble, &value);
	const double step = d->step * (value != 0 ? value : high->valuedouble - low->valuedouble);
	const bool is_inside =
		value + step >= low->valuedouble && value + step <= high->valuedouble;
	KGB_AUTO(free)
	char *text = kgb_xasprintf("%#.17g", is_inside ? value + step : value - step);
	*out = new_number(text);
	return 0;
}

/* {pick: [value, ...]}: where the line takes numbers of the dictionary, rather a form than a
 * value. */
static int draw_pick(struct drawer *d, const cJSON *form, cJSON **out)
{
	const int n = cJSON_GetArraySize(form);
	struct kgb_number_choice choice;

	if (!cJSON_IsArray(form) || n < 1 || n > KGB_DECK_MAX)
		return fail_form(d, form, "expected a list of 1 to %d values", KGB_DECK_MAX);
	int card = (int)deal(d, (size_t)n);
	if (d->is_packed && kgb_draw_find_gap(form) >= 0)
		card = kgb_draw_find_gap(form);
	else if (takes_number(d, &choice))
		card = kgb_number_pick(&choice, form, card);
	return draw_part(d, cJSON_GetArrayItem(form, card), "pick", card, out);
}

/* {at: [number, [value, ...]]} */
static int draw_at(struct drawer *d, const cJSON *form, cJSON **out)
{
	const cJSON *list = cJSON_GetArrayItem(form, 1);
	int64_t k = 0;

	if (cJSON_GetArraySize(form) != 2 || !cJSON_IsArray(list))
		return fail_form(d, form, "expected [number, [value, ...]]");
	if (part_whole(d, cJSON_GetArrayItem(form, 0), "number", 0, &k) < 0)
		return -1;
	if (k < 0 || k >= cJSON_GetArraySize(list))
		return fail_form(d, form, "no value has the number %lld", (long long)k);
	return draw_part(d, cJSON_GetArrayItem(list, (int)k), "at", (int)k, out);
}

/* {if: [number, then, else]}: `then` where the number is above 0. */
static int draw_if(struct drawer *d, const cJSON *form, cJSON **out)
{
	int64_t condition = 0;

	if (cJSON_GetArraySize(form) != 3)
		return fail_form(d, form, "expected [number, value if above 0, other value]");
	if (part_whole(d, cJSON_GetArrayItem(form, 0), "number", 0, &condition) < 0)
		return -1;
	int which = condition > 0 ? 1 : 2;
	return draw_part(d, cJSON_GetArrayItem(form, which), "if", which, out);
}

/* ---- shapes ---- */

static cJSON *new_list(const int64_t *items, int64_t n)
{
	cJSON *list = cJSON_CreateArray();

	for (int64_t i = 0; i < n; i++)
		(void)cJSON_AddItemToArray(list, new_whole(items[i]));
	return list;
}

static bool has_form(const cJSON *node, const char *name)
{
	const cJSON *item = NULL;

	cJSON_ArrayForEach(item, node) {
		if ((item->string && kgb_str_eq(item->string, name)) || has_form(item, name))
			return true;
	}
	return false;
}

static bool take_shape(const struct drawer *d, const int64_t bounds[4], int64_t *ndim,
		       int64_t *sizes)
{
	const struct kgb_shape_limits limits = {bounds[0], bounds[1], bounds[2], bounds[3]};
	struct kgb_number_choice choice;

	return takes_number(d, &choice) && kgb_number_shape(&choice, &limits, ndim, sizes);
}

/* {shape: [fewest dims, most dims, elements at most]}; a fourth number is the limit of a long
 * line. */
static int draw_shape(struct drawer *d, const cJSON *form, cJSON **out)
{
	const int n = cJSON_GetArraySize(form) == 4 ? 4 : 3;
	int64_t bounds[4] = {0}, sizes[KGB_MAX_DIMS];
	struct kgb_rng rng;

	if (form_wholes(d, form, n, bounds) < 0)
		return -1;
	if (n == 3 && bounds[2] >= LONG_LEAST && !has_form(d->from->node, "resized"))
		bounds[3] = bounds[2] < LONG_ELEMENTS / LONG_FACTOR ? bounds[2] * LONG_FACTOR
								    : LONG_ELEMENTS;
	if (bounds[0] < 0 || bounds[0] > bounds[1] || bounds[1] > KGB_MAX_DIMS || bounds[2] < 1)
		return fail_form(d, form,
				 "expected [fewest dims, most dims, elements], at most %d dims",
				 KGB_MAX_DIMS);
	/* All numbers of dimensions above the usual ones have one card. */
	const int64_t most = bounds[1] > DIMS_USUAL ? DIMS_USUAL + 1 : bounds[1];
	int64_t ndim = bounds[0] + (int64_t)deal(d, (size_t)(most - bounds[0] + 1));
	kgb_buf_adds(&d->path, ".elements");
	open_throw(d, &rng);
	ndim = ndim > DIMS_USUAL ? kgb_rng_int(&rng, ndim, bounds[1]) : ndim;
	if (form == d->longer && ndim > 0 && bounds[3] > bounds[2])
		kgb_split_long(&rng, bounds[3], ndim, sizes);
	else if (d->has_ones && ndim >= 2)
		kgb_split_with_one(&rng, size_between(d, 1, bounds[2]), ndim, sizes);
	else if (!take_shape(d, bounds, &ndim, sizes))
		kgb_split_elements(&rng, size_between(d, 1, bounds[2]), ndim, sizes);
	/* One matrix and its transpose can be two arguments where they are square. */
	if (d->draw->repeats && ndim >= 2 && kgb_rng_int(&rng, 0, 1))
		sizes[ndim - 2] = sizes[ndim - 1] =
			(int64_t)sqrt((double)(sizes[ndim - 2] * sizes[ndim - 1]));
	*out = new_list(sizes, ndim);
	return 0;
}

/* The list of sizes of the variable that a form names. */
static int form_shape(struct drawer *d, const cJSON *form, int64_t *sizes, int64_t *ndim)
{
	const cJSON *list = cJSON_IsString(form) ? variable(d, form->valuestring) : NULL;
	const cJSON *item = NULL;

	*ndim = 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > KGB_MAX_DIMS)
		return fail_form(d, form, "expected the name of an earlier shape");
	cJSON_ArrayForEach(item, list) {
		if (!read_whole(item, &sizes[(*ndim)++]))
			return fail_form(d, form, "expected the name of an earlier shape");
	}
	return 0;
}

/* {broadcast: a}: a shape that broadcasts to that of `a`: the same, or with sizes of 1, or without
 * its first dimensions. */
static int draw_broadcast(struct drawer *d, const cJSON *form, cJSON **out)
{
	int64_t sizes[KGB_MAX_DIMS], ndim;
	struct kgb_rng rng;

	if (form_shape(d, form, sizes, &ndim) < 0)
		return -1;
	open_throw(d, &rng);
	const size_t card = d->draw->repeats ? 0 : deal(d, 4);
	for (int64_t k = 0; k < ndim && card >= 2; k++)
		sizes[k] = kgb_rng_int(&rng, 0, 1) ? sizes[k] : 1;
	const int64_t dropped = card == 1 || card == 3 ? kgb_rng_int(&rng, 0, ndim) : 0;
	*out = new_list(sizes + dropped, ndim - dropped);
	return 0;
}

/* What a form asks of a layout. */
enum layout_use {
	READ,
	WRITTEN, /* no elements that overlap */
	SCATTERED, /* not row-major */
};

static bool suits(const char *name, const int64_t *sizes, int ndim, enum layout_use use)
{
	struct kgb_tensor_view view;
	struct kgb_err ignored = KGB_ERR_INIT;

	return kgb_layout_check(name, use == WRITTEN, &ignored) == 0 &&
	       kgb_tensor_view_layout(&view, KGB_DTYPE_FLOAT32, sizes, ndim, name, &ignored) == 0 &&
	       view.storage_elements <= STORAGE_MOST &&
	       (use != SCATTERED || !kgb_tensor_view_is_contiguous(&view));
}

/* One of the names that suit the shape; the first one only where no other does. */
static const char *deal_layout_name(const struct drawer *d, const int64_t *sizes, int ndim,
				    enum layout_use use)
{
	const char *fit[KGB_N_LAYOUTS] = {kgb_layout_name(0)};
	size_t n = 0;

	for (size_t i = 1; i < KGB_N_LAYOUTS; i++)
		if (suits(kgb_layout_name(i), sizes, ndim, use))
			fit[n++] = kgb_layout_name(i);
	return fit[n > 0 ? deal(d, n) : 0];
}

static bool has_sizes(const cJSON *list, const int64_t *sizes, int64_t ndim)
{
	int64_t size = 0, k = 0;
	const cJSON *item = NULL;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != ndim)
		return false;
	cJSON_ArrayForEach(item, list) {
		if (!read_whole(item, &size) || size != sizes[k++])
			return false;
	}
	return true;
}

/* The layout that the line has drawn for an earlier tensor of the same sizes; NULL: none. */
static const char *earlier_layout(const struct drawer *d, const int64_t *sizes, int64_t ndim)
{
	const cJSON *node = NULL;

	cJSON_ArrayForEach(node, d->from->node) {
		const cJSON *form = cJSON_GetObjectItemCaseSensitive(node, "layout");
		const cJSON *name = variable(d, node->string);
		form = form ? form : cJSON_GetObjectItemCaseSensitive(node, "written");
		if (cJSON_IsString(form) && cJSON_IsString(name) &&
		    has_sizes(variable(d, form->valuestring), sizes, ndim))
			return name->valuestring;
	}
	return NULL;
}

static bool has_one(const int64_t *sizes, int64_t ndim)
{
	for (int64_t k = 0; k < ndim && ndim > 1; k++)
		if (sizes[k] == 1)
			return true;
	return false;
}

/* {layout: a}: a layout that suits the shape `a`. One in four is contiguous, as most listed ones
 * are; of the others half have a name, half are any view. Two tensors of the same sizes have the
 * same layout more often than chance has it. {written: a}: one that a result may have.
 * {scattered: a}: one that is not contiguous, if the shape has such. */
static int draw_layout(struct drawer *d, const cJSON *form, enum layout_use use, cJSON **out)
{
	int64_t sizes[KGB_MAX_DIMS] = {0}, ndim;

	if (form_shape(d, form, sizes, &ndim) < 0)
		return -1;
	const size_t card = deal(d, 8);
	const char *earlier = earlier_layout(d, sizes, ndim);
	KGB_AUTO(buf) struct kgb_buf name = KGB_BUF_INIT(0);
	struct kgb_rng rng;

	kgb_buf_adds(&d->path, ".name");
	open_throw(d, &rng);
	const bool is_any = use == WRITTEN || kgb_rng_int(&rng, 0, 2) > 0;
	const uint32_t number = kgb_rng_u32(&rng);
	if (d->layout)
		kgb_buf_adds(&name, suits(d->layout, sizes, (int)ndim, use) ? d->layout
									    : kgb_layout_name(0));
	else if (earlier && kgb_rng_int(&rng, 0, 3) == 0 && suits(earlier, sizes, (int)ndim, use))
		kgb_buf_adds(&name, earlier);
	else if (has_one(sizes, ndim) && use != SCATTERED &&
		 (d->has_ones || (card < 2 && number % 2)))
		kgb_buf_addf(&name, "ones(%u)", number);
	else if (card < 2 && use != SCATTERED)
		kgb_buf_adds(&name, kgb_layout_name(0));
	else if (card < 5 || ndim == 0)
		kgb_buf_adds(&name, deal_layout_name(d, sizes, (int)ndim, use));
	else
		kgb_buf_addf(&name, "%s(%u)", is_any ? "view" : "overlapping", number);
	if (use == SCATTERED && !suits(name.ptr, sizes, (int)ndim, use)) {
		kgb_buf_clear(&name);
		kgb_buf_adds(&name, deal_layout_name(d, sizes, (int)ndim, use));
	}
	*out = cJSON_CreateString(name.ptr);
	return 0;
}

/* {resized: [a, dim, size]}: the shape `a`, but for the size of one dimension. */
static int draw_resized(struct drawer *d, const cJSON *form, cJSON **out)
{
	int64_t sizes[KGB_MAX_DIMS], ndim, dim = 0, size = 0;

	if (cJSON_GetArraySize(form) != 3)
		return fail_form(d, form, "expected [shape, dimension, size]");
	if (form_shape(d, cJSON_GetArrayItem(form, 0), sizes, &ndim) < 0 ||
	    part_whole(d, cJSON_GetArrayItem(form, 1), "dim", 0, &dim) < 0 ||
	    part_whole(d, cJSON_GetArrayItem(form, 2), "size", 0, &size) < 0)
		return -1;
	dim += dim < 0 ? ndim : 0;
	if (dim < 0 || dim >= ndim)
		return fail_form(d, form, "the shape has no such dimension");
	sizes[dim] = size;
	*out = new_list(sizes, ndim);
	return 0;
}

/* {dim: a}: a dimension of `a`, counted from either end; of a shape without any, 0 or -1. In half
 * of the lines with a size of 1 before the last one it is the last one: rows that follow each other
 * at any stride. */
static int draw_dim(struct drawer *d, const cJSON *form, cJSON **out)
{
	int64_t sizes[KGB_MAX_DIMS], ndim;
	struct kgb_rng rng;

	if (form_shape(d, form, sizes, &ndim) < 0)
		return -1;
	ndim = ndim > 0 ? ndim : 1;
	int64_t dim = (int64_t)deal(d, 2 * (size_t)ndim) - ndim;
	open_throw(d, &rng);
	if (d->has_ones && ndim > 1 && sizes[ndim - 2] == 1 && kgb_rng_int(&rng, 0, 1))
		dim = dim < 0 ? -1 : ndim - 1;
	*out = new_whole(dim);
	return 0;
}

/* {dims: a}: some dimensions of `a`, in any order and counted from either end; at least one, of a
 * shape without any 0 or -1. */
static int draw_dims(struct drawer *d, const cJSON *form, cJSON **out)
{
	int64_t sizes[KGB_MAX_DIMS], dims[KGB_MAX_DIMS], ndim;
	struct kgb_rng rng;

	if (form_shape(d, form, sizes, &ndim) < 0)
		return -1;
	ndim = ndim > 0 ? ndim : 1;
	open_throw(d, &rng);
	for (int64_t k = 0; k < ndim; k++) {
		const int64_t other = kgb_rng_int(&rng, 0, k);
		dims[k] = dims[other];
		dims[other] = k;
	}
	const int64_t n = 1 + (int64_t)deal(d, (size_t)ndim);
	for (int64_t k = 0; k < n; k++)
		dims[k] -= kgb_rng_int(&rng, 0, 1) ? ndim : 0;
	*out = new_list(dims, n);
	return 0;
}

/* ---- forms ---- */

static int draw_a_layout(struct drawer *d, const cJSON *form, cJSON **out)
{
	return draw_layout(d, form, READ, out);
}

static int draw_written(struct drawer *d, const cJSON *form, cJSON **out)
{
	return draw_layout(d, form, WRITTEN, out);
}

static int draw_scattered(struct drawer *d, const cJSON *form, cJSON **out)
{
	return draw_layout(d, form, SCATTERED, out);
}

static const struct form {
	const char *name;
	int (*draw)(struct drawer *d, const cJSON *form, cJSON **out);
} forms[] = {
	{"size", draw_size},       {"int", draw_int},
	{"float", draw_float},     {"pick", draw_pick},
	{"at", draw_at},           {"if", draw_if},
	{"shape", draw_shape},     {"broadcast", draw_broadcast},
	{"layout", draw_a_layout}, {"written", draw_written},
	{"dim", draw_dim},         {"dims", draw_dims},
	{"resized", draw_resized}, {"scattered", draw_scattered},
};

static int draw_form(struct drawer *d, const cJSON *node, cJSON **out)
{
	const char *names[KGB_ARRAY_LEN(forms)];
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);
	const char *name = node->child ? node->child->string : "";

	if (cJSON_GetArraySize(node) != 1)
		return fail_form(d, node, "expected one form, as {size: [1, 300]}");
	for (size_t i = 0; i < KGB_ARRAY_LEN(forms); i++) {
		names[i] = forms[i].name;
		if (kgb_str_eq(name, names[i]))
			return forms[i].draw(d, node->child, out);
	}
	kgb_suggest(&hint, name, names, KGB_ARRAY_LEN(forms));
	return fail_form(d, node, "no form is called '%.40s'%s", name, hint.ptr);
}

static int draw_list(struct drawer *d, const cJSON *node, cJSON **out)
{
	const cJSON *item = NULL;
	cJSON *list = cJSON_CreateArray(), *value = NULL;
	int number = 0;

	cJSON_ArrayForEach(item, node) {
		if (draw_part(d, item, "", number++, &value) < 0) {
			cJSON_Delete(list);
			return -1;
		}
		(void)cJSON_AddItemToArray(list, value);
	}
	*out = list;
	return 0;
}

/* "matrix($(m),$(k),$(m + pad))"; where one expression is the whole text: its number. "$a" is the
 * value of an earlier variable. */
static int draw_text(struct drawer *d, const cJSON *node, cJSON **out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	const char *at = node->valuestring;
	const cJSON *copied = at[0] == '$' ? variable(d, at + 1) : NULL;
	int64_t value = 0;

	if (copied) {
		*out = cJSON_Duplicate(copied, true);
		return 0;
	}
	while (*at) {
		if (!kgb_str_starts(at, "$(")) {
			kgb_buf_addc(&text, *at++);
			continue;
		}
		const bool is_first = at == node->valuestring;
		at += 2;
		KGB_AUTO(free) char *expression = take_expression(&at);
		if (!expression)
			return fail_form(d, node, "'%.80s': expected ')'", node->valuestring);
		if (evaluate(d, node, expression, &value) < 0)
			return -1;
		if (is_first && *at == '\0') {
			*out = new_whole(value);
			return 0;
		}
		kgb_buf_addf(&text, "%lld", (long long)value);
	}
	*out = cJSON_CreateString(text.len ? text.ptr : "");
	return 0;
}

static int draw_value(struct drawer *d, const cJSON *node, cJSON **out)
{
	const size_t len = d->path.len;
	int rc = 0;

	if (cJSON_IsObject(node))
		rc = draw_form(d, node, out);
	else if (cJSON_IsArray(node))
		rc = draw_list(d, node, out);
	else if (cJSON_IsString(node))
		rc = draw_text(d, node, out);
	else if (cJSON_IsNumber(node))
		*out = new_number(node->valuestring);
	else
		*out = cJSON_Duplicate(node, true);
	kgb_buf_truncate(&d->path, len);
	return rc;
}

/* ---- lines ---- */

/* A mode, and which of the allowed value classes a special case has: all of them (but the wide
 * one), or one. */
struct mode_card {
	enum kgb_mode mode;
	bool one_class;
};

/* The modes of a template that gives none: */
static const struct mode_card mode_deck[KGB_DRAW_MODES] = {{KGB_MODE_STANDARD, false},
							   {KGB_MODE_SPECIAL, false},
							   {KGB_MODE_STANDARD, false},
							   {KGB_MODE_SPECIAL, true},
							   {KGB_MODE_OUTLIER, false}};

static int draw_mode(struct drawer *d, struct mode_card *out)
{
	const cJSON *node = kgb_json_get(d->from->node, "mode");
	const cJSON *drawn = variable(d, "mode");

	kgb_buf_adds(&d->path, "mode");
	*out = d->draw->is_special ? (struct mode_card){KGB_MODE_SPECIAL, false}
				   : mode_deck[deal(d, KGB_ARRAY_LEN(mode_deck))];
	kgb_buf_clear(&d->path);
	if (!node)
		return 0;
	for (out->mode = 0; out->mode < KGB_N_JUDGED_MODES; ++out->mode)
		if (cJSON_IsString(drawn) &&
		    kgb_str_eq(drawn->valuestring, kgb_mode_name(out->mode)))
			return 0;
	return fail_form(d, node, "mode: expected standard, outlier or special");
}

static void draw_dtype(struct drawer *d, struct kgb_strs *out)
{
	const struct kgb_strs *dtypes =
		d->from->dtypes.n ? &d->from->dtypes : &d->draw->spec->dtypes;

	kgb_buf_adds(&d->path, "dtypes");
	*out = (struct kgb_strs){.items = &dtypes->items[deal(d, dtypes->n)], .n = 1};
	kgb_buf_clear(&d->path);
}

/* All allowed classes but the wide one, or one class that the type has. */
static kgb_specials draw_specials(struct drawer *d, const char *dtype_name, bool one_class)
{
	kgb_specials deck[KGB_N_SPECIALS] = {0};
	struct kgb_err ignored = KGB_ERR_INIT;
	enum kgb_dtype dtype = KGB_DTYPE_FLOAT32;
	size_t n = 0;

	/* The loader has checked the name. */
	const bool is_float =
		kgb_dtype_parse(dtype_name, &dtype, &ignored) == 0 && kgb_dtype_is_float(dtype);
	for (unsigned i = 0; one_class && i < KGB_N_SPECIALS; i++)
		if (d->from->specials & 1U << i && is_float != (i == KGB_SPECIAL_WIDE))
			deck[n++] = (kgb_specials)(1U << i);
	if (n == 0)
		return d->from->specials & KGB_SPECIALS_LISTED;
	kgb_buf_adds(&d->path, "specials");
	/* One line of each deck of modes draws one class, so the deck's number is the turn. */
	kgb_specials drawn = deck[deal_turn(d, d->number / KGB_DRAW_MODES, n)];
	kgb_buf_clear(&d->path);
	return drawn;
}

static bool is_setting(const char *key)
{
	static const char *const keys[] = {"id", "dtypes", "tier", "specials"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++)
		if (kgb_str_eq(key, keys[i]))
			return true;
	return false;
}

/* Choose one of the forms below a node that may be long, each as likely. In a template with
 * `resized` a shape is long only within a limit of its own: resizing would multiply its
 * elements. */
static void choose_longer(struct drawer *d, const cJSON *node, struct kgb_rng *rng, int64_t *n)
{
	const cJSON *item = NULL;
	const int size = cJSON_GetArraySize(node);

	cJSON_ArrayForEach(item, node)
		choose_longer(d, item, rng, n);
	if (!cJSON_IsArray(node) || !node->string)
		return;
	const bool is_shape = kgb_str_eq(node->string, "shape");
	if ((is_shape && (size == 4 || !has_form(d->from->node, "resized"))) ||
	    (size == 3 && kgb_str_eq(node->string, "size")))
		d->longer = kgb_rng_int(rng, 0, (*n)++) == 0 ? node : d->longer;
}

/* Decide whether the line is packed or has sizes of 1, and choose the form of a long line that goes
 * beyond its usual range. */
static void make_some_special(struct drawer *d)
{
	struct kgb_rng rng;
	int64_t n = 0;

	kgb_buf_adds(&d->path, "packed");
	d->is_packed = deal(d, PACKED_TURNS) == 0;
	kgb_buf_clear(&d->path);
	kgb_buf_adds(&d->path, "ones");
	d->has_ones = deal(d, ONES_TURNS) == 0;
	kgb_buf_clear(&d->path);
	kgb_buf_adds(&d->path, "long");
	if (deal(d, LONG_TURNS) == 0) {
		open_throw(d, &rng);
		choose_longer(d, d->from->node, &rng, &n);
	}
	kgb_buf_clear(&d->path);
}

static int draw_variable(struct drawer *d, const cJSON *node, const struct kgb_draw_change *change,
			 cJSON **out)
{
	const uint32_t number = d->number;

	if (change && kgb_str_eq(change->variable, node->string)) {
		d->number = change->number;
		d->step = change->step;
		d->has_number = change->has_number;
	}
	kgb_buf_clear(&d->path);
	kgb_buf_adds(&d->path, node->string);
	int rc = draw_value(d, node, out);
	d->number = number;
	d->step = 0;
	d->has_number = false;
	return rc;
}

static int draw_variables(struct drawer *d, const struct kgb_draw_change *change)
{
	const cJSON *node = NULL;
	cJSON *value = NULL;

	cJSON_ArrayForEach(node, d->from->node) {
		if (is_setting(node->string))
			continue;
		if (draw_variable(d, node, change, &value) < 0)
			return -1;
		(void)cJSON_AddItemToObject(d->line, node->string, value);
	}
	kgb_buf_clear(&d->path);
	return 0;
}

static const char *line_id(const struct kgb_draw *draw, const struct kgb_case_vars *from,
			   uint32_t number, const struct kgb_draw_change *change)
{
	if (change && change->layout)
		return kgb_arena_printf(draw->arena, "%s.%u.%s.%u", from->id, number,
					change->layout, change->twin);
	if (change)
		return kgb_arena_printf(draw->arena, "%s.%u.%u", from->id, number, change->twin);
	return kgb_arena_printf(draw->arena, "%s.%u", from->id, number);
}

int kgb_draw_line(const struct kgb_draw *draw, const struct kgb_case_vars *from, uint32_t number,
		  const struct kgb_draw_change *change, struct kgb_case_vars *out)
{
	KGB_AUTO(json) cJSON *line = cJSON_CreateObject();
	struct drawer d = {.draw = draw,
			   .from = from,
			   .number = number,
			   .layout = change ? change->layout : NULL,
			   .line = line,
			   .path = KGB_BUF_INIT(0)};
	struct mode_card mode = {0};

	*out = (struct kgb_case_vars){
		.id = line_id(draw, from, number, change),
		.tier = from->tier,
		.node = from->node,
	};
	make_some_special(&d);
	int rc = draw_variables(&d, change) < 0 || draw_mode(&d, &mode) < 0 ? -1 : 0;
	if (rc == 0) {
		draw_dtype(&d, &out->dtypes);
		out->mode = mode.mode;
		out->specials = draw_specials(&d, out->dtypes.items[0], mode.one_class);
		out->vars = kgb_json_copy(draw->arena, line);
	}
	kgb_buf_release(&d.path);
	return rc;
}
