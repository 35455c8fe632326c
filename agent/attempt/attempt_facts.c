/* SPDX-License-Identifier: MIT */
#include "agent/attempt/attempt_facts.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/system/fs.h"

char *kgb_attempt_path(const struct kgb_attempt_paths *paths, const char *name)
{
	return kgb_path_join(paths->dir, name);
}

char *kgb_attempt_round_path(const struct kgb_attempt_paths *paths, int round, const char *name)
{
	return paths->has_rounds ? kgb_xasprintf("%s/rounds/%03d/%s", paths->dir, round, name)
				 : kgb_path_join(paths->dir, name);
}

char *kgb_attempt_verdict_path(const struct kgb_attempt_paths *paths, int number,
			       const char *suffix)
{
	return kgb_xasprintf("%s/verdicts/%03d.%s", paths->dir, number, suffix);
}

void kgb_attempt_facts_init(struct kgb_attempt_facts *facts, const struct kgb_attempt_env *env,
			    const struct kgb_attempt_task *task)
{
	KGB_AUTO(free) char *rel = kgb_rundir_attempt_rel(task->spec->safe_name, task->number);
	uint8_t token[(KGB_TOKEN_LEN - 1) / 2];
	*facts = (struct kgb_attempt_facts){
		.env = env,
		.spec = task->spec,
		.number = task->number,
		.slot = task->slot,
		.device = kgb_devices_at(env->devices, task->slot),
		.loop = env->method->loop,
		.paths = {.dir = kgb_path_join(env->dir->path, rel),
			  .has_rounds = env->method->loop.iterations > 0},
	};
	facts->sees_gpu = env->limits.gpu && facts->device->number >= 0;
	if (facts->paths.has_rounds && env->iterations > 0)
		facts->loop.iterations = env->iterations;
	kgb_random(token, sizeof(token));
	kgb_hex(token, sizeof(token), facts->token);
}

void kgb_attempt_facts_release(struct kgb_attempt_facts *facts)
{
	kgb_free(facts->paths.dir);
}

struct kgb_offline_subject kgb_attempt_offline(const struct kgb_attempt_facts *facts)
{
	return (struct kgb_offline_subject){.data_dir = facts->env->data_dir,
					    .safe_name = facts->spec->safe_name,
					    .has_gpu = facts->device->number >= 0};
}
