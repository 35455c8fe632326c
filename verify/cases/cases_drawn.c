/* SPDX-License-Identifier: MIT */
#include "verify/cases/cases_drawn.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "verify/cases/call_style.h"
#include "verify/cases/repeat.h"
#include "verify/cases/tier.h"
#include "verify/cases/value_deck.h"
#include "verify/draw/draw.h"
#include "verify/fills/fill.h"

enum {
	DRAWN_SHARE = 40, /* % of the cases of an interface */
	REPEATED_CASES = 4, /* at most, with one tensor for two arguments */
	SHARED_CASES = 3, /* at most, with one storage for several arguments */
	SHARED_LISTS = 8, /* the same, if a list of tensors is an argument */
	REPEATED_TRIES = 32, /* lines of templates that are tried for these, each */
	MODELS_TRIED = 6, /* for a twin OTHER: its value may follow from sizes */
	VIEWS_STREAM = 1 << 16, /* random stream of a function, beyond those of twins */
	HASHES_STREAM = 1 << 17,
	BEHIND_STREAM = 1 << 18,
	CHANGES_TRIED = 3, /* a variable is given up after so many changes that change a tensor */
};

/* Use the standard mode if the mode changes no tensor of the case. */
static void drop_idle_mode(struct kgb_case_expander *x, struct kgb_cases *cases)
{
	struct kgb_case *c = &cases->items[cases->n - 1];

	if (kgb_case_follows_mode(c))
		return;
	c->mode = KGB_MODE_STANDARD;
	c->tier = kgb_case_tier(x->spec, c);
}

/* A line of a template; for a twin also the difference from its model. */
struct drawn {
	const struct kgb_case_vars *from;
	uint32_t number;
	const struct kgb_draw_change *change; /* or NULL */
	bool repeats, is_special; /* as in kgb_draw */
};

static int draw_case(struct kgb_case_expander *x, const struct kgb_seed *seed,
		     const struct drawn *drawn, struct kgb_cases *cases)
{
	const struct kgb_draw draw = {.spec = x->spec,
				      .interface = x->interface,
				      .set = x->set,
				      .seed = seed,
				      .numbers = x->numbers,
				      .repeats = drawn->repeats,
				      .is_special = drawn->is_special,
				      .arena = &cases->arena,
				      .err = x->err};
	struct kgb_case_vars *line = kgb_arena_alloc(&cases->arena, sizeof(*line));

	if (kgb_draw_line(&draw, drawn->from, drawn->number, drawn->change, line) < 0)
		return -1;
	x->line = line;
	if (kgb_cases__expand_line(x, cases) < 0)
		return -1;
	cases->items[cases->n - 1].is_drawn = true;
	drop_idle_mode(x, cases);
	return kgb_case_begin_behind(&cases->items[cases->n - 1], seed,
				     BEHIND_STREAM + drawn->number, x->err);
}

static size_t count_templates(const struct kgb_interface *interface)
{
	size_t n = 0;

	for (size_t i = 0; i < interface->n_sets; i++)
		n += interface->sets[i]->n_drawn;
	return n;
}

/* Template number k of the interface, which exists; its set becomes that of the expansion. */
static const struct kgb_case_vars *take_template(struct kgb_case_expander *x, size_t k)
{
	size_t s = 0;

	for (; k >= x->interface->sets[s]->n_drawn; s++)
		k -= x->interface->sets[s]->n_drawn;
	x->set = x->interface->sets[s];
	return &x->set->drawn[k];
}

/* The number of the line that is drawn case k of the interface: its templates take turns. */
static uint32_t line_number(const struct kgb_case_expander *x, size_t k)
{
	const size_t n = count_templates(x->interface);

	KGB_ASSERT(n > 0);
	return x->first_line + (uint32_t)(k / n);
}

/* The number of drawn cases: DRAWN_SHARE percent of the interface's cases, at least each template
 * in every mode, and at least two cases of each mode. */
static size_t count_drawn(size_t n_listed, size_t n_templates)
{
	const size_t share = (n_listed * DRAWN_SHARE + 99 - DRAWN_SHARE) / (100 - DRAWN_SHARE);
	const size_t decks = KGB_DRAW_MODES * (n_templates > 2 ? n_templates : 2);

	return share > decks ? share : decks;
}

/* Whether a tensor of at least so many elements may have NaN. */
static bool has_nan(const struct kgb_case *c, int64_t least)
{
	for (size_t i = 0; c->mode == KGB_MODE_SPECIAL && i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent &&
		    kgb_dtype_is_float(c->args[i].view.dtype) &&
		    c->args[i].specials & 1U << KGB_SPECIAL_NAN &&
		    kgb_tensor_view_numel(&c->args[i].view) >= least)
			return true;
	return false;
}

struct decks {
	struct kgb_call_deck calls;
	struct kgb_value_deck values;
};

static void deal_styles(const struct kgb_case_expander *x, struct decks *decks,
			const struct kgb_case_vars *from, struct kgb_case *c)
{
	kgb_case_deal_call_style(&decks->calls, c);
	kgb_case_deal_values(&decks->values, from, c);
	c->tier = kgb_case_tier(x->spec, c);
}

/* Draw up to REPEATED_CASES further cases in which one tensor is two arguments. The first three
 * quarters of the tries accept only tensors with NaN: for all other numbers x - x is zero and x ==
 * x true. The first half wants so many elements that NaN is certainly among their special values.
 */
static int draw_repeated(struct kgb_case_expander *x, struct decks *decks, size_t n_drawn,
			 struct kgb_cases *cases)
{
	const size_t n_templates = count_templates(x->interface);
	size_t n = 0;

	if (n_templates == 0 || !kgb_interface_can_repeat_tensors(x->interface))
		return 0;
	/* All templates are tried equally often. */
	for (size_t tried = 0; tried < REPEATED_TRIES || tried % n_templates > 0; tried++) {
		const bool is_special = tried < REPEATED_TRIES / 4 * 3;
		const int64_t least = tried < REPEATED_TRIES / 2 ? KGB_FILL_SPECIALS_OF : 1;
		const struct drawn line = {.from = take_template(x, tried % n_templates),
					   .number = line_number(x, n_drawn + tried) + 1,
					   .repeats = true,
					   .is_special = is_special};
		if (draw_case(x, decks->calls.seed, &line, cases) < 0)
			return -1;
		struct kgb_case *c = &cases->items[cases->n - 1];
		if ((has_nan(c, least) || !is_special) &&
		    kgb_case_repeat_tensors(c, decks->calls.seed, false)) {
			deal_styles(x, decks, line.from, c);
			n++;
		} else {
			cases->n--;
		}
		if (n == REPEATED_CASES)
			break;
	}
	return 0;
}

/* Cases in which tensors have one storage; of a list of tensors more differ. */
static size_t n_shared_cases(const struct kgb_interface *interface)
{
	for (size_t i = 0; i < interface->n_params; i++)
		if (interface->params[i].list)
			return SHARED_LISTS;
	return SHARED_CASES;
}

/* Draw up to n_shared_cases further cases in which tensors have one storage. The first half of the
 * tries accepts only tensors that look alike, and leaves room for one other case. */
static int draw_shared(struct kgb_case_expander *x, struct decks *decks, size_t n_drawn,
		       struct kgb_cases *cases)
{
	const size_t n_templates = count_templates(x->interface);
	size_t n = 0;

	if (n_templates == 0 || !kgb_interface_can_share_storage(x->interface))
		return 0;
	/* Behind the lines that draw_repeated has tried. */
	const size_t first = (REPEATED_TRIES + n_templates - 1) / n_templates * n_templates;
	const size_t most = n_shared_cases(x->interface);
	for (size_t tried = 0; n < most && tried < REPEATED_TRIES; tried++) {
		const size_t k = first + tried;
		const bool is_alike = tried < REPEATED_TRIES / 2;
		const struct drawn line = {.from = take_template(x, k % n_templates),
					   .number = line_number(x, n_drawn + k) + 1,
					   .repeats = true};
		if (draw_case(x, decks->calls.seed, &line, cases) < 0)
			return -1;
		struct kgb_case *c = &cases->items[cases->n - 1];
		const enum kgb_share which = is_alike ? KGB_SHARE_ALIKE : KGB_SHARE_ALL;
		if (n + is_alike < most &&
		    kgb_case_share_storage(c, line.from->node, decks->calls.seed, which)) {
			deal_styles(x, decks, line.from, c);
			n++;
		} else {
			cases->n--;
		}
	}
	return 0;
}

/* ---- twins ---- */

/* How the argument of a twin differs from that of its model. */
enum twin {
	OTHER,
	OTHER_AGAIN,
	NEAR,
	NEARER,
	NEAREST, /* in the last digits that a text of the number may leave out */
	ALMOST_EQUAL, /* behind these */
	/* values that are equal as keys of a Python dict: */
	OTHER_KIND, /* 1 and 1.0 and True */
	THIRD_KIND, /* the one that the model and its twin OTHER_KIND have not */
	OTHER_SIGN, /* 0.0 and -0.0 */
	N_TWINS
};

/* A variable of a template, and how often a change of it changed a tensor. */
struct changed {
	const cJSON *node;
	unsigned n;
};

struct twin_search {
	struct kgb_case_expander *x;
	const struct kgb_seed *seed;
	struct kgb_cases *cases;
	size_t first, n; /* the models */
	size_t arg;
	enum twin twin;
	size_t from; /* number of the model's template; SIZE_MAX: any */
	enum level {
		ORDINARY, /* only this argument differs, the type shows it, no special values */
		ALONE, /* the same with special values */
		WITH_OTHERS,
		N_LEVELS
	} level; /* what is tried, one after the other */
	KGB_VEC(struct changed) with_tensors; /* variables whose changes changed a tensor */
	unsigned n_found;
	uint32_t changed; /* arguments that differ between a model and its twin, as bits */
	size_t kinds_of; /* the model that has a twin OTHER_KIND, of the template; SIZE_MAX: none */
	enum kgb_case_value_kind second_kind; /* of that twin */
	uint32_t hashed; /* arguments that have twins with the same hash already */
};

static bool is_same_tensor(const struct kgb_arg *a, const struct kgb_arg *b)
{
	const size_t bytes = (size_t)a->view.ndim * sizeof(a->view.sizes[0]);

	if (a->param->kind != KGB_PARAM_TENSOR)
		return kgb_str_eq(a->layout, b->layout);
	return a->is_absent == b->is_absent && a->view.dtype == b->view.dtype &&
	       a->view.ndim == b->view.ndim && a->view.offset == b->view.offset &&
	       memcmp(a->view.sizes, b->view.sizes, bytes) == 0 &&
	       memcmp(a->view.strides, b->view.strides, bytes) == 0;
}

static bool is_same_value(const struct kgb_case_value *a, const struct kgb_case_value *b)
{
	KGB_AUTO(buf) struct kgb_buf text_a = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf text_b = KGB_BUF_INIT(0);

	kgb_case_value_describe(a, &text_a);
	kgb_case_value_describe(b, &text_b);
	return kgb_str_eq(text_a.ptr, text_b.ptr);
}

static bool read_number(const struct kgb_case_value *value, double *out)
{
	*out = value->kind == KGB_CASE_VALUE_BOOL  ? (double)value->boolean
	       : value->kind == KGB_CASE_VALUE_INT ? (double)value->integer
						   : value->number;
	return value->kind == KGB_CASE_VALUE_BOOL || value->kind == KGB_CASE_VALUE_INT ||
	       value->kind == KGB_CASE_VALUE_FLOAT;
}

static bool is_equal_in_python(const struct kgb_case_value *a, const struct kgb_case_value *b)
{
	double number_a = 0, number_b = 0;

	return read_number(a, &number_a) && read_number(b, &number_b) && number_a == number_b;
}

/* Give `to`, a value of another kind, the number of `from`, if that kind has it. */
static void give_number(const struct kgb_case_value *from, struct kgb_case_value *to)
{
	double number = 0;

	if (!read_number(from, &number) || fabs(number) > 0x1p53 || number != floor(number))
		return;
	if (to->kind == KGB_CASE_VALUE_BOOL && (number == 0 || number == 1))
		to->boolean = number > 0;
	else if (to->kind == KGB_CASE_VALUE_INT)
		to->integer = (int64_t)number;
	else if (to->kind == KGB_CASE_VALUE_FLOAT)
		to->number = number;
}

static bool has_same_tensors(const struct kgb_case *model, const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind != KGB_PARAM_VALUE &&
		    !is_same_tensor(&model->args[i], &c->args[i]))
			return false;
	return true;
}

/* The values that differ, as bits by argument. */
static uint32_t compare_values(const struct kgb_case *model, const struct kgb_case *c)
{
	uint32_t changed = 0;

	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_VALUE &&
		    !is_same_value(&model->args[i].value, &c->args[i].value))
			changed |= 1U << i;
	return changed;
}

static bool is_of_kinds(enum twin twin)
{
	return twin == OTHER_KIND || twin == THIRD_KIND;
}

static bool is_twin(const struct twin_search *search, const struct kgb_case *model,
		    const struct kgb_case *c, uint32_t changed)
{
	const uint32_t wanted = 1U << search->arg;
	const enum kgb_case_value_kind kind = c->args[search->arg].value.kind;

	if (is_of_kinds(search->twin) &&
	    (kind == model->args[search->arg].value.kind ||
	     (search->twin == THIRD_KIND && kind == search->second_kind)))
		return false;
	return (search->level < WITH_OTHERS ? changed == wanted : (changed & wanted) != 0) &&
	       (search->twin >= OTHER_KIND) == is_equal_in_python(&model->args[search->arg].value,
								  &c->args[search->arg].value);
}

/* How precise a type is. */
enum width { HALF, SINGLE, DOUBLE, N_WIDTHS };

/* The steps of twins that are near their models, as parts of a number, by the precision of the
 * type that has to show them. 0: it does not. */
static const double steps[N_TWINS][N_WIDTHS] = {
	[NEAR] = {0x1p-5, 0x1p-10, 0x1p-10},
	[NEARER] = {0x1p-6, 0x1p-16, 0x1p-16},
	[NEAREST] = {0, 0x1p-19, 0x1p-22},
	[ALMOST_EQUAL] = {0, 0, 0x1p-40},
};

static enum width width_of(const struct kgb_case *c)
{
	const size_t parts = kgb_dtype_is_complex(c->dtype) ? 2 : 1;
	const size_t size = kgb_dtype_is_float(c->dtype) ? kgb_dtype_size(c->dtype) / parts : 0;

	return size >= 8 ? DOUBLE : size >= 4 ? SINGLE : HALF;
}

/* Whether no tensor is repeated or empty. */
static bool has_plain_tensors(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		if (arg->is_repeated || (arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent &&
					 kgb_tensor_view_numel(&arg->view) == 0))
			return false;
	}
	return true;
}

/* Whether a value can have a twin of this kind. */
static bool is_tried(enum twin twin, const struct kgb_case_value *value)
{
	double number = 0;

	if (is_of_kinds(twin))
		return read_number(value, &number) && number == floor(number);
	if (twin == OTHER_SIGN)
		return value->kind == KGB_CASE_VALUE_FLOAT && value->number == 0;
	return twin == OTHER || value->kind == KGB_CASE_VALUE_FLOAT ||
	       value->kind == KGB_CASE_VALUE_COMPLEX;
}

/* Whether the last digits of a number show in the result: neither it nor the elements of a tensor
 * are of an unusual size, beside which others drown. */
static bool shows_last_digits(const struct kgb_case *c, const struct kgb_case_value *value)
{
	const double size = fabs(value->number);

	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].values.scale != 0)
			return false;
	return size >= 0x1p-10 && size <= 0x1p10;
}

static bool is_model(const struct twin_search *search, const struct kgb_case *c)
{
	if (!has_plain_tensors(c) || !is_tried(search->twin, &c->args[search->arg].value))
		return false;
	const bool is_near = search->twin >= NEAR && search->twin < OTHER_KIND;
	const enum width width = width_of(c);
	if (is_near && steps[search->twin][width] <= 0)
		return false;
	if (search->level == WITH_OTHERS)
		return true;
	return (search->level == ALONE) == (c->mode == KGB_MODE_SPECIAL) &&
	       (!is_near ||
		(width > HALF &&
		 (search->twin < NEAREST || shows_last_digits(c, &c->args[search->arg].value)))) &&
	       (search->twin != OTHER_SIGN || kgb_dtype_is_float(c->dtype));
}

static bool is_part_of_name(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static bool mentions(const char *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
		if ((at == text || !is_part_of_name(at[-1])) && !is_part_of_name(at[len]))
			return true;
	return false;
}

/* Whether the argument's value refers to this variable, or to one whose form refers to it. */
static bool feeds(const struct kgb_case_vars *from, const char *variable, const char *value)
{
	const cJSON *node = NULL;

	if (mentions(value, variable))
		return true;
	cJSON_ArrayForEach(node, from->node) {
		KGB_AUTO(free)
		char *text = mentions(value, node->string) ? cJSON_PrintUnformatted(node) : NULL;
		if (text && mentions(text, variable))
			return true;
	}
	return false;
}

static unsigned *count_changes(struct twin_search *search, const cJSON *node)
{
	KGB_VEC_FOREACH(changed, &search->with_tensors)
		if (changed->node == node)
			return &changed->n;
	KGB_VEC_ADD(&search->with_tensors, (struct changed){.node = node});
	return &search->with_tensors.items[search->with_tensors.n - 1].n;
}

/* Make a case the twin of a model. */
static void follow(struct kgb_case *c, const struct kgb_case *model)
{
	c->model = model->line;
	kgb_case_copy_call_style(c, model);
	kgb_case_copy_values(c, model);
}

/* Draw the model's line again with another value of the variable. 1: its twin was added. */
static int try_twin(struct twin_search *search, size_t k, const struct drawn *line,
		    unsigned *n_changes)
{
	struct kgb_cases *cases = search->cases;

	if (draw_case(search->x, search->seed, line, cases) < 0)
		return -1;
	const struct kgb_case *model = &cases->items[search->first + k];
	struct kgb_case *c = &cases->items[cases->n - 1];
	const struct kgb_case_value *from = &model->args[search->arg].value;
	struct kgb_case_value *value = &c->args[search->arg].value;
	if (is_of_kinds(search->twin) && value->kind != from->kind)
		give_number(from, value);
	else if (search->twin == OTHER_SIGN)
		value->number = -value->number;
	const bool is_alike = has_same_tensors(model, c);
	const uint32_t changed = is_alike ? compare_values(model, c) : 0;
	*n_changes += !is_alike;
	if (!is_alike || !is_twin(search, model, c, changed)) {
		cases->n--;
		return 0;
	}
	if (search->twin == OTHER_KIND) {
		search->kinds_of = k;
		search->second_kind = value->kind;
	}
	search->changed |= changed;
	follow(c, model);
	search->n_found++;
	return 1;
}

/* Whether the variables that the argument's value refers to can give numbers of several kinds. */
static bool has_kinds(const struct kgb_case_vars *from, const struct kgb_param *param)
{
	const cJSON *node = NULL;
	unsigned kinds = 0;

	cJSON_ArrayForEach(node, from->node)
		if (mentions(param->value->valuestring, node->string))
			kinds |= kgb_draw_kinds(node);
	return param->as != KGB_AS_FLOAT && (kinds & (kinds - 1)) != 0;
}

/* Whether the type has room for another case, besides those of one storage that may follow. */
static bool has_room(const struct kgb_case_expander *x, const struct kgb_cases *cases,
		     enum kgb_dtype dtype)
{
	size_t n = 0;

	if (kgb_interface_can_repeat_tensors(x->interface))
		n += REPEATED_CASES;
	if (kgb_interface_can_share_storage(x->interface))
		n += n_shared_cases(x->interface);
	for (size_t i = cases->n; i > 0; i--) {
		const struct kgb_case *c = &cases->items[i - 1];
		if (c->interface != x->interface)
			break;
		n += c->dtype == dtype && c->mode != KGB_MODE_BENCHMARK;
	}
	return n < KGB_CASES_PER_TYPE;
}

/* Draw a twin of model number k. 1: one was added. */
static int draw_twin_of(struct twin_search *search, size_t k)
{
	/* By kind of twin: the lines, from the model's on, that the variable is drawn from. */
	static const struct {
		uint32_t first, n;
	} lines[N_TWINS] = {{1, 3}, {4, 3}, {0, 1},  {0, 1}, {0, 1},
			    {0, 1}, {1, 8}, {1, 16}, {0, 1}};
	const struct kgb_param *param = &search->x->interface->params[search->arg];
	const size_t n_templates = count_templates(search->x->interface);
	const struct kgb_case_vars *from = take_template(search->x, k % n_templates);
	const uint32_t number = line_number(search->x, k);
	struct kgb_draw_change change = {.twin = search->n_found};
	const struct drawn line = {.from = from, .number = number, .change = &change};
	const cJSON *node = NULL;
	int rc = 0;

	const struct kgb_case *model = &search->cases->items[search->first + k];
	if (!has_room(search->x, search->cases, model->dtype) ||
	    (is_of_kinds(search->twin) && !has_kinds(from, param)))
		return 0;
	change.step = steps[search->twin][width_of(model)];
	/* Of the first and second other value at least one. */
	change.has_number = search->twin == OTHER_AGAIN ||
			    (search->twin == OTHER && (search->n_found + search->arg) % 2 == 0);
	cJSON_ArrayForEach(node, from->node) {
		change.variable = node->string;
		const bool has_form = cJSON_IsObject(node) || cJSON_IsArray(node);
		if (!has_form || !feeds(from, node->string, param->value->valuestring))
			continue;
		unsigned n_changes = *count_changes(search, node);
		for (uint32_t i = 0;
		     i < lines[search->twin].n && rc == 0 && n_changes < CHANGES_TRIED; i++) {
			change.number = number + lines[search->twin].first + i;
			rc = try_twin(search, k, &line, &n_changes);
		}
		*count_changes(search, node) = n_changes;
	}
	return rc;
}

/* Draw a twin of the first model that has one, from a random one on. 1: one was added. */
static int draw_twin(struct twin_search *search)
{
	const size_t n_templates = count_templates(search->x->interface);
	struct kgb_rng rng;
	size_t n_tried = 0;
	int rc = 0;

	kgb_rng_init(&rng, search->seed, search->x->interface->entry,
		     (uint32_t)(search->arg * N_TWINS + search->twin));
	const size_t start = (size_t)kgb_rng_int(&rng, 0, (int64_t)search->n - 1);
	for (size_t i = 0; i < search->n && rc == 0 && n_tried < MODELS_TRIED; i++) {
		const size_t k = (start + i) % search->n;
		if ((search->from != SIZE_MAX && search->from != k % n_templates) ||
		    (search->twin == THIRD_KIND && k != search->kinds_of) ||
		    !is_model(search, &search->cases->items[search->first + k]))
			continue;
		n_tried += search->twin == OTHER;
		rc = draw_twin_of(search, k);
	}
	return rc;
}

/* Draw a twin at the first level that has one. */
static int draw_twin_of_any_level(struct twin_search *search, enum level n_levels)
{
	int rc = 0;

	for (search->level = ORDINARY; search->level < n_levels && rc == 0; search->level++)
		rc = draw_twin(search);
	return rc < 0 ? -1 : 0;
}

static bool can_have_twin(const struct kgb_param *param)
{
	return param->kind == KGB_PARAM_VALUE && !param->unused && cJSON_IsString(param->value);
}

/* Whether a form of numbers in the value has both -1 and -2. */
static bool has_both(const cJSON *value)
{
	const cJSON *child = NULL;
	const bool is_range =
		cJSON_IsArray(value) && value->string &&
		(kgb_str_eq(value->string, "float") || kgb_str_eq(value->string, "int"));

	if (is_range && cJSON_IsNumber(value->child) && cJSON_IsNumber(value->child->next) &&
	    value->child->valuedouble <= -2 && value->child->next->valuedouble >= -1)
		return true;
	cJSON_ArrayForEach(child, value)
		if (has_both(child))
			return true;
	return false;
}

/* The variable that the argument's value is, if nothing else follows from it. */
static const cJSON *own_variable(const struct kgb_case_vars *from, const struct kgb_param *param)
{
	const char *name = param->value->valuestring + 1;
	const size_t len = strcspn(name, "|");
	const cJSON *node = NULL, *own = NULL;

	cJSON_ArrayForEach(node, from->node)
		if (strlen(node->string) == len && strncmp(node->string, name, len) == 0)
			own = node;
	cJSON_ArrayForEach(node, from->node) {
		KGB_AUTO(free) char *text = own ? cJSON_PrintUnformatted(node) : NULL;
		if (own && node != own && mentions(text, own->string))
			own = NULL;
	}
	return own;
}

/* The number of a value, of a complex one its real part. NULL: it is no such number. */
static double *real_part(struct kgb_case_value *value)
{
	return value->kind == KGB_CASE_VALUE_FLOAT || value->kind == KGB_CASE_VALUE_COMPLEX
		       ? &value->number
		       : NULL;
}

static void set_number(struct kgb_case_value *value, int number)
{
	double *real = real_part(value);

	if (real)
		*real = number;
	else
		value->integer = number;
}

static bool is_negative(struct kgb_case_value *value)
{
	const double *real = real_part(value);

	return real ? *real < 0 && isfinite(*real)
		    : value->kind == KGB_CASE_VALUE_INT && value->integer < 0;
}

/* Draw the model's line again with the number. */
static int draw_with_number(struct twin_search *search, size_t k, int number)
{
	struct kgb_cases *cases = search->cases;
	const size_t n_templates = count_templates(search->x->interface);
	const struct kgb_draw_change change = {.twin = search->n_found};
	const struct drawn line = {.from = take_template(search->x, k % n_templates),
				   .number = line_number(search->x, k),
				   .change = &change};

	if (!has_room(search->x, cases, cases->items[search->first + k].dtype))
		return 0;
	if (draw_case(search->x, search->seed, &line, cases) < 0)
		return -1;
	const struct kgb_case *model = &cases->items[search->first + k];
	struct kgb_case *c = &cases->items[cases->n - 1];
	set_number(&c->args[search->arg].value, number);
	if (!has_same_tensors(model, c) || compare_values(model, c) != 1U << search->arg) {
		cases->n--;
		return 0;
	}
	search->changed |= 1U << search->arg;
	follow(c, model);
	search->n_found++;
	return 0;
}

/* Draw two twins of a model, with -1 and -2: in Python these have the same hash, and so have
 * complex numbers with these real parts. */
static int draw_same_hash(struct twin_search *search)
{
	const size_t n_templates = count_templates(search->x->interface);
	const struct kgb_param *param = &search->x->interface->params[search->arg];

	KGB_ASSERT(n_templates > 0);
	for (size_t k = 0; k < search->n; k++) {
		struct kgb_case *model = &search->cases->items[search->first + k];
		if (model->mode == KGB_MODE_SPECIAL || !has_plain_tensors(model) ||
		    kgb_case_elements(model) == 0 || !is_negative(&model->args[search->arg].value))
			continue;
		const cJSON *own = own_variable(take_template(search->x, k % n_templates), param);
		if (own && has_both(own))
			return draw_with_number(search, k, -1) < 0 ||
					       draw_with_number(search, k, -2) < 0
				       ? -1
				       : 0;
	}
	return 0;
}

/* There may be no room for more: in half of the verdicts these are the other values. */
static bool draws_hashes_first(const struct twin_search *search)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, search->seed, search->x->interface->entry,
		     HASHES_STREAM + (uint32_t)search->arg);
	return kgb_rng_int(&rng, 0, 1);
}

/* Draw one twin with another value, in half of the verdicts those with the same hash instead. */
static int draw_first_twin(struct twin_search *search)
{
	const unsigned n_found = search->n_found;

	if (draws_hashes_first(search) && draw_same_hash(search) < 0)
		return -1;
	if (search->n_found > n_found) {
		search->hashed |= 1U << search->arg;
		return 0;
	}
	const bool is_needed = !(search->changed >> search->arg & 1);
	search->from = SIZE_MAX;
	search->twin = OTHER;
	return draw_twin_of_any_level(search, is_needed ? N_LEVELS : WITH_OTHERS);
}

static int draw_other_twins(struct twin_search *search)
{
	const size_t n_templates = count_templates(search->x->interface);
	const bool has_others = search->hashed >> search->arg & 1;

	search->from = SIZE_MAX;
	for (search->twin = has_others ? NEAR : OTHER_AGAIN; search->twin < OTHER_KIND;
	     search->twin++) {
		const bool is_needed =
			search->twin >= NEAR || !(search->changed >> search->arg & 1);
		if (draw_twin_of_any_level(search, is_needed ? N_LEVELS : WITH_OTHERS) < 0)
			return -1;
	}
	/* Draw these for each template, because some templates have none. */
	for (search->from = 0; search->from < n_templates; search->from++) {
		search->kinds_of = SIZE_MAX;
		for (search->twin = OTHER_KIND; search->twin < N_TWINS; search->twin++)
			if (draw_twin_of_any_level(search, WITH_OTHERS) < 0)
				return -1;
	}
	return draws_hashes_first(search) ? 0 : draw_same_hash(search);
}

/* Add twins of the drawn cases: each differs from its model in one argument that is no tensor. A
 * kernel that reuses what it did for the model's arguments is wrong for the twin. Where there is no
 * room for all, each argument has a first one before any has others. */
static int draw_twins(struct kgb_case_expander *x, const struct kgb_seed *seed, size_t first,
		      struct kgb_cases *cases)
{
	struct twin_search search = {
		.x = x, .seed = seed, .cases = cases, .first = first, .n = cases->n - first};
	const size_t n_params = x->interface->n_params;
	int rc = 0;

	for (size_t i = 0; i < 2 * n_params && rc == 0; i++) {
		search.arg = i % n_params;
		if (can_have_twin(&x->interface->params[search.arg]))
			rc = i < n_params ? draw_first_twin(&search) : draw_other_twins(&search);
	}
	KGB_VEC_RELEASE(&search.with_tensors);
	return rc;
}

/* Whether windows may overlap in the twin as they do in the model. */
static bool have_same_fills(const struct kgb_case *model, const struct kgb_case *twin)
{
	for (size_t i = 0; i < model->n_args; i++)
		if (model->args[i].param->kind == KGB_PARAM_TENSOR &&
		    !kgb_arg_has_same_fill(&twin->args[i], &model->args[i]))
			return false;
	return true;
}

/* Put the tensors of each twin where those of the model lie. All else is the twin's own. */
static void share_with_twins(const struct kgb_case *model, struct kgb_case *twins, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		if (twins[k].model != model->line || !have_same_fills(model, &twins[k]))
			continue;
		for (size_t i = 0; i < model->n_args; i++) {
			const struct kgb_arg *from = &model->args[i];
			struct kgb_arg *arg = &twins[k].args[i];
			arg->view = from->view;
			arg->layout = from->layout;
			arg->is_repeated = arg->is_part = from->is_part;
			arg->same_as = from->same_as;
		}
	}
}

/* Let tensors of drawn cases have one storage. Their twins are behind them. */
static void share_drawn(struct kgb_case_expander *x, const struct kgb_seed *seed, size_t first,
			size_t n, struct kgb_cases *cases)
{
	const size_t n_templates = count_templates(x->interface);
	const size_t end = first + n;

	for (size_t k = 0; k < n && n_templates > 0; k++) {
		struct kgb_case *c = &cases->items[first + k];
		const cJSON *template = take_template(x, k % n_templates)->node;
		if (kgb_case_share_storage(c, template, seed, KGB_SHARE_HALF))
			share_with_twins(c, &cases->items[end], cases->n - end);
	}
}

/* ---- views ---- */

/* Layouts that kernels take for others. Each tensor meets all of them that it can have. */
static const char *const views[] = {"rotated",         "cropped",         "stepped", "column",
				    "expanded_middle", "expanded_last",   "windows", "expanded_all",
				    "crowded",         "channels_last_3d"};

enum { ANY_DIMS = -1, USUAL_DIMS = 3 };

/* Whether the argument's sizes are such that each dimension counts. */
static bool can_show(const struct kgb_arg *arg, int ndim)
{
	bool can = arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent &&
		   arg->param->layout[0] == '$' && (ndim == ANY_DIMS || arg->view.ndim == ndim);

	for (int k = 0; k < arg->view.ndim; k++)
		can &= arg->view.sizes[k] > 1;
	return can;
}

static bool shows(const struct kgb_arg *arg, const char *layout, int ndim)
{
	return can_show(arg, ndim) && kgb_str_eq(arg->layout, layout) && !arg->is_repeated;
}

/* Whether the argument shows nothing yet, and may have the layout. */
static bool may_show(const struct kgb_arg *arg, const char *layout, int ndim)
{
	struct kgb_tensor_view view = arg->view;
	struct kgb_err ignored = KGB_ERR_INIT;

	return can_show(arg, ndim) && !kgb_str_eq(arg->layout, layout) &&
	       kgb_layout_check(layout, arg->param->result >= 0, &ignored) == 0 &&
	       kgb_tensor_view_layout(&view, view.dtype, view.sizes, view.ndim, layout, &ignored) ==
		       0;
}

/* Whether the case differs from the model in the layouts of tensors only. */
static bool is_other_view(const struct kgb_case *model, const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_tensor_view *a = &model->args[i].view, *b = &c->args[i].view;
		if (model->args[i].is_absent != c->args[i].is_absent || a->dtype != b->dtype ||
		    a->ndim != b->ndim ||
		    memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof(a->sizes[0])) != 0)
			return false;
	}
	return compare_values(model, c) == 0;
}

struct view_search {
	struct kgb_case_expander *x;
	const struct kgb_seed *seed;
	struct kgb_cases *cases;
	size_t first, n; /* the models */
	size_t arg;
	const char *layout;
	int ndim; /* of the tensor */
	uint64_t fixed; /* templates that fix the argument's layout, as bits */
};

/* Draw model number k again with the layout. 1: the case was added. */
static int draw_view_of(struct view_search *search, size_t k)
{
	struct kgb_cases *cases = search->cases;
	const size_t n_templates = count_templates(search->x->interface);

	KGB_ASSERT(n_templates > 0);
	const uint64_t template = UINT64_C(1) << (k % n_templates % 64);
	const struct kgb_draw_change change = {.layout = search->layout,
					       .twin = (unsigned)search->arg};
	const struct drawn line = {.from = take_template(search->x, k % n_templates),
				   .number = line_number(search->x, k),
				   .change = &change};

	const struct kgb_case *model = &cases->items[search->first + k];
	if (search->fixed & template || !has_room(search->x, cases, model->dtype) ||
	    !may_show(&model->args[search->arg], search->layout, search->ndim))
		return 0;
	if (draw_case(search->x, search->seed, &line, cases) < 0)
		return -1;
	model = &cases->items[search->first + k];
	struct kgb_case *c = &cases->items[cases->n - 1];
	const bool is_shown = shows(&c->args[search->arg], search->layout, search->ndim);
	search->fixed |= is_shown ? 0 : template;
	if (is_shown && is_other_view(model, c)) {
		follow(c, model);
		return 1;
	}
	cases->n--;
	return 0;
}

/* Draw a twin with the layout, unless a case shows it. 1: one does now. */
static int draw_view(struct view_search *search, size_t start)
{
	int rc = 0;

	for (size_t k = search->first; k < search->cases->n && rc == 0; k++)
		rc = shows(&search->cases->items[k].args[search->arg], search->layout,
			   search->ndim);
	for (size_t i = 0; i < search->n && rc == 0; i++)
		rc = draw_view_of(search, (start + i) % search->n);
	return rc;
}

/* Add twins of the n drawn cases with those of the layouts above that a tensor does not show, if
 * possible in three dimensions. A kernel that reuses what it did for the strides of the model's
 * tensors is wrong for the twin. */
static int draw_views(struct kgb_case_expander *x, const struct kgb_seed *seed, size_t first,
		      size_t n, struct kgb_cases *cases)
{
	struct view_search search = {.x = x, .seed = seed, .cases = cases, .first = first, .n = n};
	struct kgb_rng rng;

	kgb_rng_init(&rng, seed, x->interface->entry, VIEWS_STREAM);
	for (size_t i = 0; i < x->interface->n_params * KGB_ARRAY_LEN(views); i++) {
		const size_t start = (size_t)kgb_rng_int(&rng, 0, (int64_t)n - 1);
		search.arg = i / KGB_ARRAY_LEN(views);
		search.fixed = i % KGB_ARRAY_LEN(views) ? search.fixed : 0;
		search.layout = views[i % KGB_ARRAY_LEN(views)];
		search.ndim = USUAL_DIMS;
		const int rc = draw_view(&search, start);
		search.ndim = ANY_DIMS;
		if (rc < 0 || (rc == 0 && draw_view(&search, start) < 0))
			return -1;
	}
	return 0;
}

/* Draw from the interface's templates in turn. */
int kgb_cases__draw(struct kgb_case_expander *x, const struct kgb_seed *seed, size_t n_listed,
		    struct kgb_cases *cases)
{
	const size_t n_templates = count_templates(x->interface);
	const size_t n = count_drawn(n_listed, n_templates), first = cases->n;
	struct decks decks = {.calls = {.seed = seed, .interface = x->interface},
			      .values = {.seed = seed, .numbers = x->numbers}};

	if (n_templates == 0)
		return 0;
	for (size_t drawn = 0; drawn < n; drawn++) {
		const struct drawn line = {.from = take_template(x, drawn % n_templates),
					   .number = line_number(x, drawn)};
		if (draw_case(x, seed, &line, cases) < 0)
			return -1;
		struct kgb_case *c = &cases->items[cases->n - 1];
		(void)kgb_case_repeat_tensors(c, seed, true);
		deal_styles(x, &decks, line.from, c);
	}
	if (draw_twins(x, seed, first, cases) < 0)
		return -1;
	share_drawn(x, seed, first, n, cases);
	if (draw_views(x, seed, first, n, cases) < 0)
		return -1;
	return draw_repeated(x, &decks, n, cases) < 0 || draw_shared(x, &decks, n, cases) < 0 ? -1
											      : 0;
}
