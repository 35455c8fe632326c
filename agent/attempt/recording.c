/* SPDX-License-Identifier: MIT */
#include "agent/attempt/recording.h"

#include <fcntl.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

struct kgb_recording {
	const struct kgb_attempt_facts *facts; /* borrowed; of the replay */
	const struct kgb_attempt_state *state; /* borrowed */
	struct kgb_attempt_paths paths;
};

int kgb_recording_open(struct kgb_recording **out, const struct kgb_attempt_facts *facts,
		       struct kgb_err *err)
{
	const struct kgb_replay_source *source = facts->env->replay;
	if (!source)
		return 0;
	const struct kgb_op_state *op = kgb_run_state_op(source->state, facts->spec->name);
	const struct kgb_attempt_state *state = op ? kgb_op_counting_attempt(op) : NULL;
	if (!state)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "%s has no attempt in the record",
				facts->spec->name);
	KGB_AUTO(free) char *rel = kgb_rundir_attempt_rel(facts->spec->safe_name, state->number);
	*out = kgb_xcalloc(1, sizeof(**out));
	**out = (struct kgb_recording){.facts = facts,
				       .state = state,
				       .paths = {.dir = kgb_path_join(source->dir, rel),
						 .has_rounds = facts->paths.has_rounds}};
	return 0;
}

void kgb_recording_free(struct kgb_recording *recording)
{
	if (recording)
		kgb_free(recording->paths.dir);
	kgb_free(recording);
}

const struct kgb_attempt_paths *kgb_recording_paths(const struct kgb_recording *recording)
{
	return &recording->paths;
}

const char *kgb_recording_session_id(const struct kgb_recording *recording, int round)
{
	const struct kgb_attempt_state *state = recording->state;
	for (size_t i = 0; i < state->n_rounds; i++)
		if (state->rounds[i].number == round)
			return state->rounds[i].session_id;
	return state->has_cli && *state->cli.session_id ? state->cli.session_id : NULL;
}

static int read_recorded(const struct kgb_recording *recording, int number, const char *suffix,
			 size_t limit, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_attempt_verdict_path(&recording->paths, number, suffix);
	return kgb_fs_read(AT_FDCWD, path, limit, out, err);
}

void kgb_recording_judge(const struct kgb_recording *recording, int number, const char *kernel,
			 size_t len, kgb_job_done_fn done, void *payload)
{
	KGB_AUTO(buf) struct kgb_buf source = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	KGB_AUTO(json) cJSON *verdict = NULL;
	struct kgb_job_result result = {.err = KGB_ERR_INIT};
	struct kgb_err *err = &result.err;
	if (read_recorded(recording, number, "py", KGB_LIMIT_KERNEL, &source, err) < 0)
		(void)kgb_fail(err, KGB_ERR_NOT_FOUND, "replay: check %d is not in the record",
			       number);
	else if (source.len != len || memcmp(source.ptr, kernel, len) != 0)
		(void)kgb_fail(err, KGB_ERR_INVALID,
			       "replay: check %d is of another kernel than the recorded one",
			       number);
	else if (read_recorded(recording, number, "json", KGB_LIMIT_VERDICT, &text, err) == 0 &&
		 kgb_json_parse(text.ptr, text.len, &verdict, err) == 0)
		result = (struct kgb_job_result){
			.verdict = verdict, .text = text.ptr, .len = text.len};
	if (!result.verdict)
		kgb_error("%s: attempt %d: %s", recording->facts->spec->name,
			  recording->facts->number, result.err.msg);
	done(payload, &result);
}
