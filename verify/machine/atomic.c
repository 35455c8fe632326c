/* SPDX-License-Identifier: MIT */
#include "verify/lanes/narrow.h"
#include "verify/machine/families.h"

#define OVERTAKEN_MAX 3 /* atomics of others that a program waits for after an acquiring one */

/* ---- checks ---- */

enum kgb_atomic kgb_atomic__find(const struct kgb_ttir_statement *s)
{
	static const char *const names[] = {
		[KGB_ATOMIC_ADD] = "add", [KGB_ATOMIC_FADD] = "fadd",
		[KGB_ATOMIC_MAX] = "max", [KGB_ATOMIC_UMAX] = "umax",
		[KGB_ATOMIC_MIN] = "min", [KGB_ATOMIC_UMIN] = "umin",
		[KGB_ATOMIC_AND] = "and", [KGB_ATOMIC_OR] = "or",
		[KGB_ATOMIC_XOR] = "xor", [KGB_ATOMIC_EXCHANGE] = "exch",
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		if (kgb_ttir_has_word(s, names[i]))
			return (enum kgb_atomic)i;
	return KGB_N_ATOMICS;
}

static bool is_possible(enum kgb_atomic atomic, enum kgb_ttir_element element)
{
	if (element == KGB_TTIR_POINTER || element == KGB_TTIR_I1)
		return false;
	if (atomic == KGB_ATOMIC_FADD)
		return kgb_ttir_is_float(element) && kgb_ttir_element_size(element) > 1;
	if (atomic == KGB_ATOMIC_EXCHANGE || atomic == KGB_ATOMIC_COMPARE)
		return true;
	return kgb_ttir_is_integer(element);
}

/* The effect on other programs: `acquires`; number[0]: the atomic releases; number[1]: enum
 * kgb_access. The scope cta covers only the threads of one block, which are one program here: for
 * other programs such an atomic is a plain write. */
static void note_sides(struct kgb_operation *op, const struct kgb_ttir_statement *s)
{
	const bool is_of_block = kgb_ttir_has_word(s, "cta");

	op->number[1] = is_of_block ? KGB_ACCESS_WRITE : KGB_ACCESS_ATOMIC;
	if (kgb_ttir_has_word(s, "relaxed") || is_of_block)
		return;
	op->acquires = !kgb_ttir_has_word(s, "release");
	op->number[0] = !kgb_ttir_has_word(s, "acquire");
}

KGB_BUILD(kgb_atomic_build)
{
	const struct kgb_ttir_type pointer = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type type = *kgb_builder__type(b, op->in[1]);
	const enum kgb_ttir_element element = (enum kgb_ttir_element)type.element;
	bool compares = b->rule->what == KGB_ATOMIC_COMPARE;

	op->what = compares ? KGB_ATOMIC_COMPARE : kgb_atomic__find(s);
	if (op->what == KGB_N_ATOMICS || !is_possible((enum kgb_atomic)op->what, element)) {
		kgb_builder__unsupported(b, "on %s", kgb_ttir_element_name(element));
		return;
	}
	struct kgb_ttir_type third = compares ? type : kgb_ttir_with_element(&type, KGB_TTIR_I1);
	if (pointer.element != KGB_TTIR_POINTER || pointer.depth > 1 ||
	    pointer.pointee != type.element || !kgb_ttir_same_shape(&pointer, &type) ||
	    (op->n_in > 2 && !kgb_ttir_same_type(&third, kgb_builder__type(b, op->in[2])))) {
		kgb_builder__fail(b, "pointers, values and a mask that fit each other expected");
		return;
	}
	note_sides(op, s);
	uint32_t size = (uint32_t)kgb_ttir_element_size(element);
	struct kgb_machine_program *program = b->program;
	if (program->least_access == 0 || size < program->least_access)
		program->least_access = size;
	program->has_atomic = true;
	program->may_wait |= b->n_loops > 0;
	op->element = type.element;
	op->cost += (uint32_t)(kgb_ttir_lanes(&type) / 8);
	if (type.rank == 0) /* all lanes wait for its result */
		kgb_builder__barrier(b);
	kgb_builder__dense_in(b, op, 0);
	kgb_builder__plan(b, op, op->n_in, &type, 0);
	(void)kgb_builder__result(b, op, &type, 0);
}

/* ---- execution ---- */

static uint64_t sum(enum kgb_ttir_element element, uint64_t old, uint64_t operand)
{
	uint64_t out = 0;
	float a, b;
	double c, d;

	if (element == KGB_TTIR_F64) {
		memcpy(&c, &old, sizeof(c));
		memcpy(&d, &operand, sizeof(d));
		c += d;
		memcpy(&out, &c, sizeof(c));
	} else if (element == KGB_TTIR_F32) {
		memcpy(&a, &old, sizeof(a));
		memcpy(&b, &operand, sizeof(b));
		a += b;
		memcpy(&out, &a, sizeof(a));
	} else {
		kgb_narrow_widen(element, &old, 1, &a);
		kgb_narrow_widen(element, &operand, 1, &b);
		a += b;
		kgb_narrow_round(element, &a, 1, &out);
	}
	return out;
}

static int64_t extended(uint64_t bits, size_t size)
{
	unsigned unused = 64 - 8 * (unsigned)size;

	return (int64_t)(bits << unused) >> unused;
}

static uint64_t combined(enum kgb_atomic atomic, enum kgb_ttir_element element, uint64_t old,
			 uint64_t operand, uint64_t other)
{
	const size_t size = kgb_ttir_element_size(element);
	const int64_t a = extended(old, size), b = extended(operand, size);

	switch (atomic) {
	case KGB_ATOMIC_ADD:
		return old + operand;
	case KGB_ATOMIC_FADD:
		return sum(element, old, operand);
	case KGB_ATOMIC_MAX:
		return a > b ? old : operand;
	case KGB_ATOMIC_UMAX:
		return old > operand ? old : operand;
	case KGB_ATOMIC_MIN:
		return a < b ? old : operand;
	case KGB_ATOMIC_UMIN:
		return old < operand ? old : operand;
	case KGB_ATOMIC_AND:
		return old & operand;
	case KGB_ATOMIC_OR:
		return old | operand;
	case KGB_ATOMIC_XOR:
		return old ^ operand;
	case KGB_ATOMIC_EXCHANGE:
		return operand;
	case KGB_ATOMIC_COMPARE:
		return old == operand ? other : old;
	case KGB_N_ATOMICS:
		break;
	}
	KGB_UNREACHABLE();
}

/* Repeat until no other thread changes the element between the load and the exchange. */
#define APPLY(type)                                                                           \
	case sizeof(type): {                                                                  \
		type expected = __atomic_load_n((type *)memory, __ATOMIC_SEQ_CST), wanted;    \
		do                                                                            \
			wanted = (type)combined(atomic, element, expected, operand, other);   \
		while (!__atomic_compare_exchange_n((type *)memory, &expected, wanted, false, \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));     \
		*old = expected;                                                              \
		return 0;                                                                     \
	}

int kgb_atomic__apply(struct kgb_execution *x, const struct kgb_operation *op,
		      enum kgb_atomic atomic, enum kgb_access access, uint64_t address,
		      uint64_t operand, uint64_t other, uint64_t *old)
{
	const enum kgb_ttir_element element = (enum kgb_ttir_element)op->element;
	const size_t size = kgb_ttir_element_size(element);
	void *memory = kgb_access__check(x, op, address, size, size, access);

	if (!memory)
		return -1;
	switch (size) {
		APPLY(uint8_t)
		APPLY(uint16_t)
		APPLY(uint32_t)
		APPLY(uint64_t)
	default:
		KGB_UNREACHABLE();
	}
}

/* An atomic that does not change the value releases nothing. */
static void note_order(struct kgb_execution *x, const struct kgb_operation *op, uint64_t address,
		       uint64_t old, uint64_t operand, uint64_t other)
{
	const uint64_t wanted = combined((enum kgb_atomic)op->what,
					 (enum kgb_ttir_element)op->element, old, operand, other);
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);

	kgb_order__note(x->memory->order, x->thread.program, address, op->acquires,
			op->number[0] && memcmp(&wanted, &old, size) != 0);
}

static int run_lanes(struct kgb_execution *x, const struct kgb_operation *op, bool is_noted)
{
	const enum kgb_atomic atomic = (enum kgb_atomic)op->what;
	const struct kgb_value *out = kgb_execution__value(x, op->out[0]);
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	const uint64_t *pointers = (const void *)x->at[op->in[0]];
	const uint8_t *operands = x->at[op->in[1]];
	const uint8_t *third = op->n_in > 2 ? x->at[op->in[2]] : NULL;
	const uint64_t drawn = out->n_stored > 1 ? kgb_execution__draw(x) : 0;

	KGB_ASSERT(third || atomic != KGB_ATOMIC_COMPARE);
	for (size_t served = 0; served < out->n_stored; served++) {
		const size_t i = kgb_execution__lane(drawn, served, out->n_stored);
		uint8_t *d = x->at[op->out[0]] + i * size;
		uint64_t operand = 0, other = 0, old = 0;
		if (atomic != KGB_ATOMIC_COMPARE && third && !third[i]) {
			kgb_execution__draw_lanes(x, (enum kgb_ttir_element)op->element, d, 1);
			continue;
		}
		memcpy(&operand, operands + i * size, size);
		if (atomic == KGB_ATOMIC_COMPARE)
			memcpy(&other, third + i * size, size);
		if (kgb_atomic__apply(x, op, atomic, (enum kgb_access)op->number[1], pointers[i],
				      operand, other, &old) < 0)
			return -1;
		if (is_noted)
			note_order(x, op, pointers[i], old, operand, other);
		memcpy(d, &old, size);
	}
	return 0;
}

KGB_RUN(kgb_atomic_run)
{
	struct kgb_order *order = x->memory->order;
	const bool is_noted = order && x->program->acquires && (op->acquires || op->number[0]);

	if (!is_noted)
		return run_lanes(x, op, false);
	kgb_order__enter(order);
	const int rc = run_lanes(x, op, true);
	kgb_order__leave(order);
	if (op->acquires && !x->program->may_wait)
		kgb_order__pause(order, (uint32_t)(kgb_execution__draw(x) % (OVERTAKEN_MAX + 1)));
	return rc;
}
