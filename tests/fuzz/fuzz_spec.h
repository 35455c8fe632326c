/* SPDX-License-Identifier: MIT */
/** \file
 * A spec and a case set from memory, loaded and expanded; shared by the targets `spec` and `cases`.
 */
#ifndef KGB_TESTS_FUZZ_FUZZ_SPEC_H
#define KGB_TESTS_FUZZ_FUZZ_SPEC_H

#include "base/str.h"
#include "verify/cases/cases.h"

struct fuzz_texts {
	const char *spec, *set;
	size_t spec_len, set_len;
};

static inline int read_fuzz_text(void *payload, const char *path, struct kgb_buf *out,
				 struct kgb_err *err)
{
	const struct fuzz_texts *texts = payload;

	if (kgb_str_ends(path, ".py"))
		return 0;
	if (kgb_str_starts(path, "x/aten/"))
		return kgb_buf_add(out, texts->spec, texts->spec_len);
	if (kgb_str_starts(path, "x/cases/"))
		return kgb_buf_add(out, texts->set, texts->set_len);
	return kgb_fail(err, KGB_ERR_NOT_FOUND, "no file '%s'", path);
}

/* Whatever expands must be within its limits and describable. */
static inline void check_case(const struct kgb_case *c)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(1 << 20);

	kgb_case_describe(c, &text);
	KGB_ASSERT(c->n_args > 0 && c->n_args <= KGB_MAX_ARGS && c->name[0]);
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_tensor_view *view = &c->args[i].view;
		if (c->args[i].param->kind != KGB_PARAM_TENSOR)
			continue;
		int64_t n = kgb_tensor_view_numel(view);
		KGB_ASSERT(n >= 0 && view->storage_elements >= 0);
		KGB_ASSERT((uint64_t)view->storage_elements * kgb_dtype_size(view->dtype) <=
			   (1u << 30));
		if (n > 0) {
			KGB_ASSERT(kgb_tensor_view_element(view, 0) == view->offset);
			KGB_ASSERT(kgb_tensor_view_element(view, n - 1) ==
				   view->storage_elements - 1);
		}
	}
}

static inline void load_and_expand(struct fuzz_texts texts)
{
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_seed seed = {{1}};
	struct kgb_spec spec;
	struct kgb_cases cases;

	if (kgb_spec_load_with("x/aten/aten__toy.yaml", read_fuzz_text, &texts, &spec, &err) < 0) {
		KGB_ASSERT(err.msg[0]);
		return;
	}
	if (kgb_cases_expand(&spec, &seed, &cases, &err) < 0) {
		KGB_ASSERT(err.msg[0]);
	} else {
		for (size_t i = 0; i < cases.n; i++)
			check_case(&cases.items[i]);
		kgb_cases_release(&cases);
	}
	kgb_spec_release(&spec);
}

#endif
