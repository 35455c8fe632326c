/* SPDX-License-Identifier: MIT */
#include "verify/lanes/narrow.h"
#include "verify/machine/families.h"

/* ---- checks ---- */

int kgb_elementwise__choose(struct kgb_builder *b, struct kgb_operation *op, enum kgb_lanes_id id,
			    enum kgb_ttir_element element)
{
	static const int8_t types[KGB_N_TTIR_ELEMENTS] = {
		[KGB_TTIR_I1] = KGB_LANES_I8,      [KGB_TTIR_I8] = KGB_LANES_I8,
		[KGB_TTIR_I16] = KGB_LANES_I16,    [KGB_TTIR_I32] = KGB_LANES_I32,
		[KGB_TTIR_I64] = KGB_LANES_I64,    [KGB_TTIR_F8E4M3] = KGB_LANES_F32,
		[KGB_TTIR_F8E5M2] = KGB_LANES_F32, [KGB_TTIR_BF16] = KGB_LANES_F32,
		[KGB_TTIR_F16] = KGB_LANES_F32,    [KGB_TTIR_F32] = KGB_LANES_F32,
		[KGB_TTIR_F64] = KGB_LANES_F64,    [KGB_TTIR_POINTER] = KGB_LANES_I64,
	};

	op->lanes = element == KGB_TTIR_NONE || element == KGB_TTIR_DESCRIPTOR
			    ? NULL
			    : kgb_lanes_choose()->elementwise[id][types[element]];
	op->element = (uint8_t)element;
	op->is_lanewise = true;
	if (kgb_ttir_is_narrow(element))
		op->via = KGB_VIA_FLOAT;
	if (!op->lanes) {
		kgb_builder__unsupported(b, "not on %s", kgb_ttir_element_name(element));
		return -1;
	}
	return 0;
}

/* Checks that all operands have one type, of a class that the table's row permits. */
static bool check_operands(struct kgb_builder *b, const struct kgb_operation *op)
{
	const struct kgb_ttir_type *first = kgb_builder__type(b, op->in[0]);
	enum kgb_ttir_element element = (enum kgb_ttir_element)first->element;
	char name[KGB_TTIR_TYPE_NAME_LEN], other[KGB_TTIR_TYPE_NAME_LEN];

	for (uint32_t k = 1; k < op->n_in; k++) {
		const struct kgb_ttir_type *type = kgb_builder__type(b, op->in[k]);
		if (!kgb_ttir_same_type(first, type)) {
			kgb_builder__fail(b, "operands of %s and %s",
					  kgb_ttir_type_name(first, name),
					  kgb_ttir_type_name(type, other));
			return false;
		}
	}
	if ((b->rule->flags & KGB_BUILD_INTEGER && kgb_ttir_is_integer(element)) ||
	    (b->rule->flags & KGB_BUILD_FLOAT && kgb_ttir_is_float(element)))
		return true;
	kgb_builder__fail(b, "operands of %s", kgb_ttir_type_name(first, name));
	return false;
}

/* Plans the loop and adds the result of an operation whose operands have one shape. */
static void finish(struct kgb_builder *b, struct kgb_operation *op, enum kgb_ttir_element to)
{
	struct kgb_ttir_type type = kgb_ttir_with_element(kgb_builder__type(b, op->in[0]), to);
	uint32_t collapsed = kgb_builder__collapsed(b, op, op->n_in);

	op->to = (uint8_t)to;
	kgb_builder__plan(b, op, op->n_in, &type, collapsed);
	(void)kgb_builder__result(b, op, &type, collapsed);
}

KGB_BUILD(kgb_elementwise_build)
{
	(void)s;
	if (!check_operands(b, op))
		return;
	enum kgb_ttir_element element =
		(enum kgb_ttir_element)kgb_builder__type(b, op->in[0])->element;
	if (kgb_elementwise__choose(b, op, (enum kgb_lanes_id)b->rule->what, element) < 0)
		return;
	if (element == KGB_TTIR_I1)
		op->via = b->rule->via;
	finish(b, op, element);
}

KGB_BUILD(kgb_compare_build)
{
	static const struct {
		const char *name;
		bool is_float;
		enum kgb_lanes_id id;
	} predicates[] = {
		{"eq", false, KGB_LANES_CMPI_EQ},      {"ne", false, KGB_LANES_CMPI_NE},
		{"slt", false, KGB_LANES_CMPI_SLT},    {"sle", false, KGB_LANES_CMPI_SLE},
		{"sgt", false, KGB_LANES_CMPI_SGT},    {"sge", false, KGB_LANES_CMPI_SGE},
		{"ult", false, KGB_LANES_CMPI_ULT},    {"ule", false, KGB_LANES_CMPI_ULE},
		{"ugt", false, KGB_LANES_CMPI_UGT},    {"uge", false, KGB_LANES_CMPI_UGE},
		{"false", true, KGB_LANES_CMPF_FALSE}, {"oeq", true, KGB_LANES_CMPF_OEQ},
		{"ogt", true, KGB_LANES_CMPF_OGT},     {"oge", true, KGB_LANES_CMPF_OGE},
		{"olt", true, KGB_LANES_CMPF_OLT},     {"ole", true, KGB_LANES_CMPF_OLE},
		{"one", true, KGB_LANES_CMPF_ONE},     {"ord", true, KGB_LANES_CMPF_ORD},
		{"ueq", true, KGB_LANES_CMPF_UEQ},     {"ugt", true, KGB_LANES_CMPF_UGT},
		{"uge", true, KGB_LANES_CMPF_UGE},     {"ult", true, KGB_LANES_CMPF_ULT},
		{"ule", true, KGB_LANES_CMPF_ULE},     {"une", true, KGB_LANES_CMPF_UNE},
		{"uno", true, KGB_LANES_CMPF_UNO},     {"true", true, KGB_LANES_CMPF_TRUE},
	};

	if (!check_operands(b, op))
		return;
	enum kgb_ttir_element element =
		(enum kgb_ttir_element)kgb_builder__type(b, op->in[0])->element;
	for (size_t i = 0; i < KGB_ARRAY_LEN(predicates); i++) {
		if (predicates[i].is_float != kgb_ttir_is_float(element) || s->n_words == 0 ||
		    !kgb_slice_is(s->words[0], predicates[i].name))
			continue;
		if (kgb_elementwise__choose(b, op, predicates[i].id, element) < 0)
			return;
		if (element == KGB_TTIR_I1 && predicates[i].name[0] == 's')
			op->via = KGB_VIA_SIGNED;
		finish(b, op, KGB_TTIR_I1);
		return;
	}
	kgb_builder__unsupported(b, "unknown predicate");
}

KGB_BUILD(kgb_select_build)
{
	/* A selection copies bits: an integer loop of the same size serves every type. */
	static const uint8_t as[KGB_N_TTIR_ELEMENTS] = {
		[KGB_TTIR_I1] = KGB_TTIR_I8,     [KGB_TTIR_I8] = KGB_TTIR_I8,
		[KGB_TTIR_I16] = KGB_TTIR_I16,   [KGB_TTIR_I32] = KGB_TTIR_I32,
		[KGB_TTIR_I64] = KGB_TTIR_I64,   [KGB_TTIR_F8E4M3] = KGB_TTIR_I8,
		[KGB_TTIR_F8E5M2] = KGB_TTIR_I8, [KGB_TTIR_BF16] = KGB_TTIR_I16,
		[KGB_TTIR_F16] = KGB_TTIR_I16,   [KGB_TTIR_F32] = KGB_TTIR_I32,
		[KGB_TTIR_F64] = KGB_TTIR_I64,   [KGB_TTIR_POINTER] = KGB_TTIR_I64,
	};
	const struct kgb_ttir_type condition = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type type = *kgb_builder__type(b, op->in[1]);

	(void)s;
	if (condition.element != KGB_TTIR_I1 ||
	    !kgb_ttir_same_type(&type, kgb_builder__type(b, op->in[2])) ||
	    (condition.rank && !kgb_ttir_same_shape(&condition, &type))) {
		kgb_builder__fail(b, "a condition of i1 and two values of one type expected");
		return;
	}
	if (kgb_elementwise__choose(b, op, KGB_LANES_SELECT,
				    (enum kgb_ttir_element)as[type.element]) < 0)
		return;
	uint32_t collapsed = kgb_builder__collapsed(b, op, 3);
	op->to = op->element;
	kgb_builder__plan(b, op, 3, &type, collapsed);
	(void)kgb_builder__result(b, op, &type, collapsed);
}

KGB_BUILD(kgb_clamp_build)
{
	if (!check_operands(b, op))
		return;
	enum kgb_ttir_element element =
		(enum kgb_ttir_element)kgb_builder__type(b, op->in[0])->element;
	const struct kgb_ttir_attribute *propagates = kgb_ttir_attribute(s, "propagateNan");
	bool all = kgb_ttir_has_word(s, "all") ||
		   (propagates && memmem(propagates->value.s, propagates->value.n, "all", 3));
	if (kgb_elementwise__choose(b, op, all ? KGB_LANES_CLAMP_NAN : KGB_LANES_CLAMP, element) <
	    0)
		return;
	finish(b, op, element);
}

/* ---- functions that the text names ---- */

static void build_named(struct kgb_builder *b, struct kgb_operation *op,
			const struct kgb_named_function *function, struct kgb_slice name)
{
	struct kgb_ttir_type result = kgb_builder__last_type(b);
	enum kgb_ttir_element element =
		(enum kgb_ttir_element)kgb_builder__type(b, op->in[0])->element;

	if (!function) {
		kgb_builder__unsupported(b, "unknown function '%.*s'",
					 (int)(name.n < 100 ? name.n : 100), name.s);
		return;
	}
	if (op->n_in != function->n_operands || !check_operands(b, op))
		kgb_builder__fail(b, "operands of '%s'", function->name);
	bool tests = function->id >= KGB_LANES_ISNAN && function->id <= KGB_LANES_SIGNBIT;
	enum kgb_ttir_element to = tests ? KGB_TTIR_I32 : element;
	if (!b->failed && (result.element != to ||
			   !kgb_ttir_same_shape(&result, kgb_builder__type(b, op->in[0]))))
		kgb_builder__fail(b, "the result of '%s'", function->name);
	if (!b->failed && kgb_elementwise__choose(b, op, function->id, element) == 0)
		finish(b, op, to);
}

KGB_BUILD(kgb_extern_build)
{
	const struct kgb_ttir_attribute *symbol = kgb_ttir_attribute(s, "symbol");
	struct kgb_slice name = symbol ? symbol->value : (struct kgb_slice){"", 0};
	enum kgb_ttir_element element =
		(enum kgb_ttir_element)kgb_builder__type(b, op->in[0])->element;

	if (name.n >= 2 && name.s[0] == '"')
		name = (struct kgb_slice){name.s + 1, name.n - 2};
	if (element != KGB_TTIR_F32 && element != KGB_TTIR_F64)
		kgb_builder__unsupported(b, "'%.*s' on %s", (int)(name.n < 100 ? name.n : 100),
					 name.s, kgb_ttir_element_name(element));
	build_named(b, op, kgb_libdevice_find(name, element == KGB_TTIR_F64), name);
}

/* The number of float registers for results that the constraints begin with: 1 of "=f,f". 0: they
 * are not just these and one register for each operand and result, in any spacing. */
static uint32_t float_results(const struct kgb_ttir_statement *s, uint32_t n_operands)
{
	const struct kgb_ttir_attribute *constraints = kgb_ttir_attribute(s, "constraints");
	uint32_t n_results = 0, n_arguments = 0;
	char before = ',';

	for (size_t i = 0; constraints && i < constraints->value.n; i++) {
		const char c = constraints->value.s[i];
		if (strchr("\" ", c))
			continue;
		const bool fits = c == 'f'   ? before == ',' || before == '='
				  : c == '=' ? before == ',' && n_arguments == 0
					     : c == ',' && before == 'f';
		if (!fits)
			return 0;
		n_results += c == 'f' && before == '=';
		n_arguments += c == 'f' && before == ',';
		before = c;
	}
	return before == 'f' && n_arguments == n_results * n_operands ? n_results : 0;
}

static int read_result_run(struct kgb_execution *x, const struct kgb_operation *op)
{
	return kgb_execution__fault(
		x, op, KGB_MACHINE_FAULT_HINT,
		"inline assembly reads $1, which its constraints make a result");
}

/* The instructions that are known write $0 and read the numbers behind it. With more results than
 * one they read a register that nothing has written. */
static void read_result(struct kgb_builder *b)
{
	struct kgb_operation *op =
		kgb_builder__add_operation(b, "tt.elementwise_inline_asm", read_result_run);

	op->in = kgb_builder__list(b, 0);
	kgb_builder__place(b, op);
}

KGB_BUILD(kgb_inline_assembly_build)
{
	enum kgb_ttir_element element =
		(enum kgb_ttir_element)kgb_builder__type(b, op->in[0])->element;
	const struct kgb_named_function *function =
		element == KGB_TTIR_F32 ? kgb_instruction_find(s->text) : NULL;
	const uint32_t n_results = float_results(s, op->n_in);

	if (function && (n_results == 0 || kgb_ttir_integer(s, "packed_element", 1) != n_results))
		kgb_builder__unsupported(b, "inline assembly with other registers than float ones");
	build_named(b, op, function, s->text);
	if (n_results > 1 && !b->failed)
		read_result(b);
}

KGB_BUILD(kgb_advance_build)
{
	const struct kgb_ttir_type pointer = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type offset = *kgb_builder__type(b, op->in[1]);
	static const uint8_t sizes[KGB_N_TTIR_ELEMENTS] = {
		[KGB_TTIR_I8] = 0, [KGB_TTIR_I16] = 1, [KGB_TTIR_I32] = 2, [KGB_TTIR_I64] = 3};

	(void)s;
	if (pointer.element != KGB_TTIR_POINTER || !kgb_ttir_same_shape(&pointer, &offset) ||
	    !kgb_ttir_is_integer((enum kgb_ttir_element)offset.element) ||
	    offset.element == KGB_TTIR_I1) {
		kgb_builder__fail(b, "pointers and integers of one shape expected");
		return;
	}
	op->lanes = kgb_lanes_choose()->advance[sizes[offset.element]];
	op->number[0] = (int64_t)kgb_ttir_pointee_size(&pointer);
	uint32_t collapsed = kgb_builder__collapsed(b, op, 2);
	kgb_builder__plan(b, op, 2, &pointer, collapsed);
	(void)kgb_builder__result(b, op, &pointer, collapsed);
}

/* ---- execution ---- */

/* A chunk of each operand after its conversion (enum kgb_via), and of the result before it. */
struct converted {
	_Alignas(64) uint8_t bytes[4][KGB_CHUNK * sizeof(double)];
};

/* The n elements as the loop takes them: `to`, or `from` itself. */
static const void *convert(const struct kgb_execution *x, const struct kgb_operation *op,
			   const void *from, size_t n, void *to)
{
	if (op->via == KGB_VIA_LOW)
		return from;
	if (op->via == KGB_VIA_FLOAT)
		kgb_narrow_widen((enum kgb_ttir_element)op->element, from, n, to);
	else
		x->lanes->negate(to, from, NULL, NULL, 1, n);
	return to;
}

/* The loop over n lanes. `wide` takes results that are converted into d. */
static void run_chunk(struct kgb_execution *x, const struct kgb_operation *op,
		      const void *const *in, unsigned moves, size_t n, void *wide, uint8_t *d)
{
	const enum kgb_ttir_element to = (enum kgb_ttir_element)op->to;
	const bool is_direct = to != KGB_TTIR_I1 && !kgb_ttir_is_narrow(to);

	op->lanes(is_direct ? d : wide, in[0], in[1], in[2], moves, n);
	if (to == KGB_TTIR_I1)
		x->lanes->low_bit(d, wide, NULL, NULL, 1, n);
	else if (!is_direct)
		kgb_narrow_round(to, wide, n, d);
}

static void run_converted(struct kgb_execution *x, const struct kgb_operation *op,
			  const uint8_t *const *operands, uint8_t *d, unsigned moves, size_t n)
{
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	const size_t out_size = kgb_ttir_element_size((enum kgb_ttir_element)op->to);
	struct converted KGB_UNCLEARED converted;
	const void *in[3] = {NULL, NULL, NULL};

	for (size_t i = 0; i < n; i += KGB_CHUNK) {
		const size_t some = n - i < KGB_CHUNK ? n - i : KGB_CHUNK;
		for (uint32_t k = 0; k < op->n_in; k++)
			if (moves >> k & 1)
				in[k] = convert(x, op, operands[k] + i * size, some,
						converted.bytes[k]);
			else if (i == 0)
				in[k] = convert(x, op, operands[k], 1, converted.bytes[k]);
		run_chunk(x, op, in, moves, some, converted.bytes[3], d + i * out_size);
	}
}

static size_t size_of(const struct kgb_execution *x, uint32_t value)
{
	return kgb_ttir_element_size(
		(enum kgb_ttir_element)kgb_execution__value(x, value)->type.element);
}

KGB_RUN(kgb_elementwise_run)
{
	const struct kgb_plan *plan = op->plan;
	const size_t n = op->is_wide ? x->width : plan->run, out_size = size_of(x, op->out[0]);
	struct kgb_plan_cursor runs = {.plan = plan};
	const uint8_t *operands[3] = {NULL, NULL, (const uint8_t *)op->number};
	uint8_t *d = x->at[op->out[0]];
	size_t sizes[3] = {0};

	for (uint32_t k = 0; k < op->n_in; k++)
		sizes[k] = plan->n_runs > 1 ? size_of(x, op->in[k]) : 0;
	for (; runs.i < plan->n_runs; kgb_plan_cursor__next(&runs), d += n * out_size) {
		for (uint32_t k = 0; k < op->n_in; k++)
			operands[k] = x->at[op->in[k]] + runs.offset[k] * sizes[k];
		if (op->via)
			run_converted(x, op, operands, d, plan->moves, n);
		else
			op->lanes(d, operands[0], operands[1], operands[2], plan->moves, n);
	}
	return 0;
}
