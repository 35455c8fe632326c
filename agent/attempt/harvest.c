/* SPDX-License-Identifier: MIT */
#include "agent/attempt/harvest.h"

#include "base/limits.h"
#include "base/mem.h"
#include "methods/code_blocks.h"

/** The best version that passed, as it was judged. The initial kernel is a result only after an
 * agent has tried to improve it. */
static int take_verified(const struct kgb_harvest_sources *sources, struct kgb_harvest *out,
			 struct kgb_err *err)
{
	const struct kgb_rounds_best *best = &sources->versions->best;
	if (best->check == 0 || (best->round == 0 && !sources->has_worked))
		return 0;
	if (kgb_versions_read_kernel(sources->versions, best->check, &out->kernel, err) < 0)
		return -1;
	out->source = best->round == 0 ? "start" : "verified";
	return 0;
}

static int take_file(const struct kgb_harvest_sources *sources, struct kgb_harvest *out,
		     struct kgb_err *err)
{
	if (out->source)
		return 0;
	if (kgb_workspace_read_kernel(&sources->setup->ws, &out->kernel, &out->refusal, err) < 0)
		return -1;
	if (out->refusal || out->kernel.len == 0)
		return 0;
	kgb_sha256_hex(out->kernel.ptr, out->kernel.len, out->sha256);
	out->unchanged = kgb_str_eq(out->sha256, sources->setup->start.sha256);
	if (!out->unchanged)
		out->source = "file";
	return 0;
}

static void take_message(const struct kgb_harvest_sources *sources, struct kgb_harvest *out)
{
	if (out->source || !sources->final_text)
		return;
	KGB_AUTO(free) char *block = kgb_last_python_block(sources->final_text);
	if (!block || strlen(block) > KGB_LIMIT_KERNEL)
		return;
	kgb_buf_clear(&out->kernel);
	kgb_buf_adds(&out->kernel, block);
	out->source = "message";
}

int kgb_harvest_take(struct kgb_harvest *out, const struct kgb_harvest_sources *sources,
		     struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = sources->facts;
	if (take_verified(sources, out, err) < 0)
		return -1;
	if (facts->env->method->result == KGB_METHOD_RESULT_REPLY)
		take_message(sources, out);
	if (take_file(sources, out, err) < 0)
		return -1;
	take_message(sources, out);
	if (!out->source)
		return 0;
	kgb_sha256_hex(out->kernel.ptr, out->kernel.len, out->sha256);
	return kgb_rundir_write_kernel(facts->env->dir, facts->spec->safe_name, out->kernel.ptr,
				       out->kernel.len, err);
}
