/* SPDX-License-Identifier: MIT */
#include "verify/record/window_form.h"

static bool may_be_replaced(const struct kgb_op *op, uint64_t stream)
{
	return op->stream == stream &&
	       (op->kind == KGB_OP_LAUNCH || op->kind == KGB_OP_MEMSET || op->kind == KGB_OP_COPY);
}

/* Whether the KGB_OP_REPLACES at `at` is well-formed. The ops before `first` are taken. */
static bool is_well_formed(const struct kgb_window *window, size_t first, size_t at)
{
	const struct kgb_op *op = &window->ops[at];

	if (at + 1 == window->n_ops || op[1].kind != KGB_OP_LAUNCH || op[1].stream != op->stream ||
	    op->n_replaced > at - first)
		return false;
	for (size_t i = at - (size_t)op->n_replaced; i < at; i++)
		if (!may_be_replaced(&window->ops[i], op->stream))
			return false;
	return true;
}

struct kgb_window kgb_window_in_form(struct kgb_arena *arena, const struct kgb_window *window,
				     enum kgb_window_form form)
{
	struct kgb_op *ops = kgb_arena_array(arena, window->n_ops + 1, sizeof(*ops));
	struct kgb_window made = *window;
	size_t n = 0, first = 0;

	for (size_t i = 0; i < window->n_ops; i++) {
		if (window->ops[i].kind != KGB_OP_REPLACES || !is_well_formed(window, first, i)) {
			ops[n++] = window->ops[i];
			continue;
		}
		if (form == KGB_FORM_MACHINE) {
			n -= (size_t)window->ops[i].n_replaced;
			ops[n++] = window->ops[i + 1];
		}
		i++;
		first = i + 1;
	}
	made.ops = ops;
	made.n_ops = n;
	return made;
}
