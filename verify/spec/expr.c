/* SPDX-License-Identifier: MIT */
#include "verify/spec/expr.h"

#include "base/buf.h"
#include "base/str.h"

enum op {
	OP_NUMBER,
	OP_ASK, /* DIM takes k from the stack */
	OP_NEGATE,
	OP_ADD,
	OP_SUBTRACT,
	OP_MULTIPLY,
	OP_DIVIDE,
	OP_MIN,
	OP_MAX,
};

/* One step of a stack machine; steps are in reverse Polish order, so evaluation needs no recursion.
 */
struct step {
	enum op op;
	enum kgb_expr_ask ask;
	int64_t number;
	const char *name;
	size_t column; /* 1-based, in the text */
};

struct kgb_expr {
	const struct step *steps;
	size_t n;
};

const char *kgb_expr_ask_name(enum kgb_expr_ask ask)
{
	static const char *const names[] = {"value", "variable", "numel", "size",
					    "bytes", "ndim",     "dim"};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_EXPR_N_ASKS, "one name each");
	return names[ask];
}

/* ---- parsing ---- */

struct parser {
	const char *text, *at;
	struct kgb_arena *arena;
	struct step steps[KGB_EXPR_NODES_MAX];
	size_t n;
	int depth;
	struct kgb_err *err;
};

static int parse_sum(struct parser *p);

static size_t column(const struct parser *p)
{
	return (size_t)(p->at - p->text) + 1;
}

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static char peek(struct parser *p)
{
	while (is_one_of(*p->at, " \t\r\n"))
		p->at++;
	return *p->at;
}

static int expect(struct parser *p, char wanted)
{
	if (peek(p) != wanted)
		return kgb_fail(p->err, KGB_ERR_INVALID, "column %zu: expected '%c'", column(p),
				wanted);
	p->at++;
	return 0;
}

static int add_step(struct parser *p, struct step step)
{
	if (p->n == KGB_EXPR_NODES_MAX)
		return kgb_fail(p->err, KGB_ERR_LIMIT, "column %zu: over %d parts", step.column,
				KGB_EXPR_NODES_MAX);
	p->steps[p->n++] = step;
	return 0;
}

static int parse_number(struct parser *p)
{
	struct step step = {.op = OP_NUMBER, .column = column(p)};
	size_t len = strspn(p->at, DIGITS);
	KGB_AUTO(free) char *digits = kgb_xstrndup(p->at, len);

	if (kgb_parse_i64(digits, 0, INT64_MAX, &step.number, NULL) < 0)
		return kgb_fail(p->err, KGB_ERR_INVALID, "column %zu: '%.32s' is not a number",
				step.column, digits);
	p->at += len;
	return add_step(p, step);
}

/* A name at the cursor, in the arena. */
static int take_name(struct parser *p, const char **out)
{
	size_t len = 0;

	peek(p);
	if (is_one_of(*p->at, LETTERS))
		len = strspn(p->at, LETTERS DIGITS);
	if (len == 0)
		return kgb_fail(p->err, KGB_ERR_INVALID, "column %zu: expected a name", column(p));
	if (len > KGB_EXPR_NAME_MAX)
		return kgb_fail(p->err, KGB_ERR_LIMIT, "column %zu: a name over %d letters",
				column(p), KGB_EXPR_NAME_MAX);
	*out = kgb_arena_strndup(p->arena, p->at, len);
	p->at += len;
	return 0;
}

/* After "min" or "max": "(" sum "," sum ")". */
static int parse_extremum(struct parser *p, enum op op, size_t at)
{
	if (expect(p, '(') < 0 || parse_sum(p) < 0 || expect(p, ',') < 0 || parse_sum(p) < 0 ||
	    expect(p, ')') < 0)
		return -1;
	return add_step(p, (struct step){.op = op, .column = at});
}

/* After the name of a function: "(" name ["," sum] ")". */
static int parse_call(struct parser *p, const char *function, struct step step)
{
	int ask = KGB_EXPR_NUMEL;

	if (kgb_str_eq(function, "min"))
		return parse_extremum(p, OP_MIN, step.column);
	if (kgb_str_eq(function, "max"))
		return parse_extremum(p, OP_MAX, step.column);
	while (ask < KGB_EXPR_N_ASKS &&
	       !kgb_str_eq(function, kgb_expr_ask_name((enum kgb_expr_ask)ask)))
		ask++;
	if (ask == KGB_EXPR_N_ASKS)
		return kgb_fail(p->err, KGB_ERR_INVALID,
				"column %zu: no function '%s': there are numel, size, bytes, ndim, "
				"dim, min and max",
				step.column, function);
	step.ask = (enum kgb_expr_ask)ask;
	if (expect(p, '(') < 0 || take_name(p, &step.name) < 0)
		return -1;
	if (step.ask == KGB_EXPR_DIM && (expect(p, ',') < 0 || parse_sum(p) < 0))
		return -1;
	return expect(p, ')') < 0 ? -1 : add_step(p, step);
}

static int parse_name(struct parser *p)
{
	struct step step = {.op = OP_ASK, .ask = KGB_EXPR_VALUE, .column = column(p)};

	if (*p->at == '$') {
		p->at++;
		step.ask = KGB_EXPR_VARIABLE;
		return take_name(p, &step.name) < 0 ? -1 : add_step(p, step);
	}
	if (take_name(p, &step.name) < 0)
		return -1;
	return peek(p) == '(' ? parse_call(p, step.name, step) : add_step(p, step);
}

static int parse_factor(struct parser *p)
{
	struct step negate = {.op = OP_NEGATE};
	int rc = 0;

	if (++p->depth > KGB_EXPR_DEPTH_MAX)
		return kgb_fail(p->err, KGB_ERR_LIMIT, "column %zu: nested over %d levels",
				column(p), KGB_EXPR_DEPTH_MAX);
	char c = peek(p);
	negate.column = column(p);
	if (c == '-') {
		p->at++;
		rc = parse_factor(p) < 0 ? -1 : add_step(p, negate);
	} else if (c == '(') {
		p->at++;
		rc = parse_sum(p) < 0 ? -1 : expect(p, ')');
	} else if (is_one_of(c, DIGITS)) {
		rc = parse_number(p);
	} else if (c == '$' || is_one_of(c, LETTERS)) {
		rc = parse_name(p);
	} else {
		rc = kgb_fail(p->err, KGB_ERR_INVALID,
			      "column %zu: expected a number, a name or '('", column(p));
	}
	p->depth--;
	return rc;
}

/* Operands of one level, and the operators between them. */
static int parse_chain(struct parser *p, int (*operand)(struct parser *), const char *signs,
		       const enum op ops[2])
{
	if (operand(p) < 0)
		return -1;
	while (is_one_of(peek(p), signs)) {
		struct step step = {.op = ops[*p->at == signs[1]], .column = column(p)};
		p->at++;
		if (operand(p) < 0 || add_step(p, step) < 0)
			return -1;
	}
	return 0;
}

static int parse_product(struct parser *p)
{
	static const enum op ops[] = {OP_MULTIPLY, OP_DIVIDE};

	return parse_chain(p, parse_factor, "*/", ops);
}

static int parse_sum(struct parser *p)
{
	static const enum op ops[] = {OP_ADD, OP_SUBTRACT};

	return parse_chain(p, parse_product, "+-", ops);
}

int kgb_expr_parse(const char *text, struct kgb_arena *arena, const struct kgb_expr **out,
		   struct kgb_err *err)
{
	struct parser p = {.text = text, .at = text, .arena = arena, .err = err};

	if (strlen(text) > KGB_EXPR_TEXT_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "over %d letters", KGB_EXPR_TEXT_MAX);
	if (parse_sum(&p) < 0)
		return -1;
	if (peek(&p) != '\0')
		return kgb_fail(err, KGB_ERR_INVALID, "column %zu: expected an operator or the end",
				column(&p));
	struct step *steps = kgb_arena_array(arena, p.n, sizeof(*steps));
	memcpy(steps, p.steps, p.n * sizeof(*steps));
	struct kgb_expr *expr = kgb_arena_alloc(arena, sizeof(*expr));
	*expr = (struct kgb_expr){.steps = steps, .n = p.n};
	*out = expr;
	return 0;
}

/* ---- evaluation ---- */

/* True: the result does not fit into 64 bits, or the divisor is 0. */
static bool combine(enum op op, int64_t a, int64_t b, int64_t *out)
{
	switch (op) {
	case OP_ADD:
		return __builtin_add_overflow(a, b, out);
	case OP_SUBTRACT:
		return __builtin_sub_overflow(a, b, out);
	case OP_MULTIPLY:
		return __builtin_mul_overflow(a, b, out);
	case OP_DIVIDE:
		if (b == 0 || (a == INT64_MIN && b == -1))
			return true;
		*out = a / b;
		return false;
	case OP_MIN:
		*out = a < b ? a : b;
		return false;
	case OP_MAX:
		*out = a > b ? a : b;
		return false;
	case OP_NEGATE:
		return __builtin_sub_overflow((int64_t)0, a, out);
	case OP_NUMBER:
	case OP_ASK:
		break;
	}
	KGB_UNREACHABLE();
}

static int ask_step(const struct step *step, kgb_expr_ask_fn ask, void *payload, int64_t k,
		    int64_t *out, struct kgb_err *err)
{
	if (ask(payload, step->ask, step->name, k, out, err) < 0)
		return kgb_ctx(err, "column %zu", step->column);
	return 0;
}

int kgb_expr_eval(const struct kgb_expr *expr, kgb_expr_ask_fn ask, void *payload, int64_t *out,
		  struct kgb_err *err)
{
	int64_t stack[KGB_EXPR_NODES_MAX] = {0};
	size_t n = 0;

	for (size_t i = 0; i < expr->n; i++) {
		const struct step *step = &expr->steps[i];
		if (step->op == OP_NUMBER) {
			stack[n++] = step->number;
			continue;
		}
		if (step->op == OP_ASK) {
			int64_t k = step->ask == KGB_EXPR_DIM ? stack[--n] : 0;
			if (ask_step(step, ask, payload, k, &stack[n++], err) < 0)
				return -1;
			continue;
		}
		int64_t b = step->op == OP_NEGATE ? 0 : stack[--n];
		if (combine(step->op, stack[n - 1], b, &stack[n - 1]))
			return kgb_fail(err, KGB_ERR_INVALID,
					step->op == OP_DIVIDE && b == 0
						? "column %zu: division by 0"
						: "column %zu: over 64 bits",
					step->column);
	}
	KGB_ASSERT(n == 1);
	*out = stack[0];
	return 0;
}

int kgb_expr_check(const struct kgb_expr *expr, kgb_expr_ask_fn ask, void *payload,
		   struct kgb_err *err)
{
	for (size_t i = 0; i < expr->n; i++) {
		int64_t ignored = 0;
		if (expr->steps[i].op == OP_ASK &&
		    ask_step(&expr->steps[i], ask, payload, 0, &ignored, err) < 0)
			return -1;
	}
	return 0;
}
