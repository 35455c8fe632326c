/* SPDX-License-Identifier: MIT */
/** \file
 * Replays: the CLI is real, what the world answers it comes from an attempt of an earlier run. The
 * gateway's session has the model's answers (sandbox/cassette/replay.h), here are the verdicts.
 */
#include <fcntl.h>

#include "agent/attempt/attempt_internal.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

/** The recorded attempt of the same number, or NULL. */
static const struct kgb_attempt_state *recorded_attempt(const struct kgb_attempt *attempt)
{
	const struct kgb_run_state *state = attempt->env->replay->state;
	const struct kgb_op_state *op = kgb_run_state_op(state, attempt->spec->name);
	if (!op || (size_t)attempt->number > op->n_attempts)
		return NULL;
	return &op->attempts[attempt->number - 1];
}

int kgb_attempt__load_replay(struct kgb_attempt *attempt, struct kgb_err *err)
{
	if (!attempt->env->replay)
		return 0;
	if (!recorded_attempt(attempt))
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "%s has no attempt %d in the record",
				attempt->spec->name, attempt->number);
	attempt->recorded_dir = kgb_path_join(attempt->env->replay->dir, attempt->rel);
	return 0;
}

/** The session's id, which stands in the requests; NULL: not known. */
static const char *recorded_session(const struct kgb_attempt *attempt)
{
	const struct kgb_attempt_state *recorded = recorded_attempt(attempt);
	for (size_t i = 0; i < recorded->n_rounds; i++)
		if (recorded->rounds[i].number == attempt->round)
			return recorded->rounds[i].session_id;
	return recorded->has_cli ? recorded->cli.session_id : NULL;
}

int kgb_attempt__load_replay_round(struct kgb_attempt *attempt, struct kgb_err *err)
{
	if (!attempt->env->replay)
		return 0;
	const char *id = recorded_session(attempt);
	if (id && strlen(id) < sizeof(attempt->session_id))
		snprintf(attempt->session_id, sizeof(attempt->session_id), "%s", id);
	KGB_AUTO(free)
	char *traffic = kgb_xasprintf("%s%s/traffic", attempt->recorded_dir,
				      attempt->round_dir + strlen(attempt->dir));
	kgb_cassette_free(attempt->cassette);
	attempt->cassette = NULL;
	return kgb_cassette_load(&attempt->cassette, traffic, err);
}

void kgb_attempt__on_miss(void *payload, const char *why)
{
	const struct kgb_attempt *attempt = payload;
	kgb_error("%s: attempt %d: %s", attempt->spec->name, attempt->number, why);
}

static int read_recorded(const struct kgb_attempt *attempt, const char *suffix, size_t limit,
			 struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%s/verdicts/%03d.%s", attempt->recorded_dir, attempt->n_asked,
				   suffix);
	return kgb_fs_read(AT_FDCWD, path, limit, out, err);
}

void kgb_attempt__replay_check(struct kgb_attempt *attempt, const char *kernel, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf source = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	KGB_AUTO(json) cJSON *verdict = NULL;
	struct kgb_job_result result = {.err = KGB_ERR_INIT};
	struct kgb_err *err = &result.err;
	if (read_recorded(attempt, "py", KGB_LIMIT_KERNEL, &source, err) < 0)
		(void)kgb_fail(err, KGB_ERR_NOT_FOUND, "replay: check %d is not in the record",
			       attempt->n_asked);
	else if (source.len != len || memcmp(source.ptr, kernel, len) != 0)
		(void)kgb_fail(err, KGB_ERR_INVALID,
			       "replay: check %d is of another kernel than the recorded one",
			       attempt->n_asked);
	else if (read_recorded(attempt, "json", KGB_LIMIT_VERDICT, &text, err) == 0 &&
		 kgb_json_parse(text.ptr, text.len, &verdict, err) == 0)
		result = (struct kgb_job_result){
			.verdict = verdict, .text = text.ptr, .len = text.len};
	if (!result.verdict)
		kgb_error("%s: attempt %d: %s", attempt->spec->name, attempt->number,
			  result.err.msg);
	kgb_attempt__take_verdict(attempt, &result);
}
