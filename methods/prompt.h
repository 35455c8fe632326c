/* SPDX-License-Identifier: MIT */
/** \file
 * Prompts: methods/prompt.md filled from an operator's spec, with the method's own instructions at
 * its end. The same text goes to every CLI; nothing in it comes from a test's hidden values.
 */
#ifndef KGB_METHODS_PROMPT_H
#define KGB_METHODS_PROMPT_H

#include "base/buf.h"
#include "base/err.h"
#include "methods/method.h"
#include "verify/spec.h"

struct kgb_prompt_vars {
	const char *platform; /* "cpu": selects methods/platform/<platform>.md */
	int64_t max_verify_calls; /* checks that the agent may ask for */
};

/** Render into out (cleared by the caller, cap KGB_LIMIT_PROMPT). Unknown placeholders and missing
 * files are errors. */
KGB_MUST_CHECK int kgb_prompt_render(const char *data_dir, const struct kgb_method *method,
				     const struct kgb_spec *spec,
				     const struct kgb_prompt_vars *vars, struct kgb_buf *out,
				     struct kgb_err *err);

#endif
