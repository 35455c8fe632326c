/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "verify/spec/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers that depend on what is asked, some large, now and then none. */
static int answer(void *payload, enum kgb_expr_ask ask, const char *name, int64_t k, int64_t *out,
		  struct kgb_err *err)
{
	size_t *n_asked = payload;

	++*n_asked;
	KGB_ASSERT(strlen(name) > 0 && strlen(name) <= KGB_EXPR_NAME_MAX);
	KGB_ASSERT(ask < KGB_EXPR_N_ASKS);
	if (name[0] == 'z')
		return kgb_fail(err, KGB_ERR_INVALID, "no '%s'", name);
	*out = name[0] == 'b' ? INT64_MAX : (int64_t)ask + k % 100;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(free) char *text = kgb_xstrndup((const char *)data, size);
	const struct kgb_expr *expr = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	int64_t value = 0, again = 0;
	size_t n_checked = 0, n_asked = 0;

	if (kgb_expr_parse(text, &arena, &expr, &err) < 0) {
		KGB_ASSERT(err.msg[0] && !expr);
		return 0;
	}
	int checked = kgb_expr_check(expr, answer, &n_checked, &err);
	int rc = kgb_expr_eval(expr, answer, &n_asked, &value, &err);
	KGB_ASSERT(rc == kgb_expr_eval(expr, answer, &n_asked, &again, &err) && value == again);
	/* What has a value has known names, and no more of them are asked for than are there. */
	KGB_ASSERT(rc < 0 || (checked == 0 && n_asked == 2 * n_checked));
	KGB_ASSERT(n_checked <= KGB_EXPR_NODES_MAX);
	return 0;
}
