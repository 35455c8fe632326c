/* SPDX-License-Identifier: MIT */
#include "agent/attempt/agent_checks.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "verify/lane/report.h"

enum {
	HTTP_OK = 200,
	HTTP_CONFLICT = 409,
	HTTP_TOO_LARGE = 413,
	HTTP_TOO_MANY = 429,
	HTTP_UNAVAILABLE = 503
};

static void reply(struct kgb_agent_checks *checks, int http_status, const char *text)
{
	kgb_verify_reply(checks->request, http_status, text);
	checks->request = NULL;
}

static void reply_trouble(struct kgb_agent_checks *checks, const char *why)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("the check could not be run: %s\n", why);
	reply(checks, HTTP_UNAVAILABLE, text);
}

/** Verdicts for the agent omit whatever would help it to foresee the final verdict. */
static void reply_verdict(struct kgb_agent_checks *checks, const cJSON *verdict)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	kgb_verdict_report(verdict, &text);
	int64_t left = checks->facts->env->prompt.max_verify_calls - checks->n_judged;
	kgb_buf_addf(&text, "checks left: %lld\n", (long long)left);
	char warning[160];
	if (kgb_budget_warning(checks->budget, warning, sizeof(warning)))
		kgb_buf_addf(&text, "budget: %s\n", warning);
	reply(checks, HTTP_OK, text.ptr);
}

/** Evidence first: the verdict as a file, a git note and a journal record; then the answer. */
static int answer(struct kgb_agent_checks *checks, const struct kgb_job_result *result,
		  const struct kgb_verdict_summary *summary, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = checks->facts;
	checks->n_judged++;
	if (kgb_versions_keep_verdict(checks->versions, result, summary, err) < 0 ||
	    kgb_event_verify_call(facts->env->log, facts->spec->name, facts->number, summary,
				  checks->versions->commit, err) < 0)
		return -1;
	reply_verdict(checks, result->verdict);
	return 0;
}

static void on_judged(void *payload, const struct kgb_job_result *result)
{
	struct kgb_agent_checks *checks = payload;
	struct kgb_verdict_summary summary;
	struct kgb_err err = result->err;
	bool is_fatal = false;
	if (!result->verdict || kgb_verdict_summarise(result->verdict, &summary, &err) < 0) {
		if (!result->cancelled)
			kgb_warn("%s: check %d: %s", checks->facts->spec->name,
				 checks->versions->n_submitted, err.msg);
		reply_trouble(checks, err.msg);
	} else if (answer(checks, result, &summary, &err) < 0) {
		reply_trouble(checks, err.msg);
		is_fatal = true;
	}
	checks->on_answered(checks->payload, is_fatal ? &err : NULL);
}

int kgb_agent_checks_take(struct kgb_agent_checks *checks, struct kgb_verify_request *request,
			  const char *kernel, size_t len, bool is_running, struct kgb_err *err)
{
	if (checks->request) {
		kgb_verify_reply(request, HTTP_CONFLICT,
				 "a check is running already; wait for it\n");
		return 0;
	}
	checks->request = request;
	if (checks->n_judged >= checks->facts->env->prompt.max_verify_calls) {
		reply(checks, HTTP_TOO_MANY,
		      "no checks left; finish with the best version you have\n");
		return 0;
	}
	if (len > KGB_LIMIT_KERNEL) {
		KGB_AUTO(free)
		char *text = kgb_xasprintf("kernel.py has %zu bytes; at most %u are allowed\n", len,
					   KGB_LIMIT_KERNEL);
		reply(checks, HTTP_TOO_LARGE, text);
		return 0;
	}
	if (!is_running) {
		reply_trouble(checks, "the attempt is ending");
		return 0;
	}
	KGB_AUTO(free)
	char *message = kgb_xasprintf("check %d", checks->versions->n_submitted + 1);
	if (kgb_versions_submit(checks->versions, kernel, len, message, on_judged, checks, err) ==
	    0)
		return 0;
	reply_trouble(checks, err->msg);
	return -1;
}
