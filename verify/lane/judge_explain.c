/* SPDX-License-Identifier: MIT */
/** \file
 * Failures of a runner that ended, or whose reply is an error: the fault of the candidate, or of
 * the judge.
 */
#include <signal.h>
#include <stdarg.h>

#include "base/str.h"
#include "base/time.h"
#include "verify/lane/lane.h"

int kgb_refuse(struct kgb_failure *failure, enum kgb_code code, const char *message,
	       const char *hint)
{
	KGB_ASSERT(hint && hint[0]);
	*failure = (struct kgb_failure){.code = code, .message = message, .hint = hint};
	return 1;
}

int kgb_lane_refuse(struct kgb_lane *lane, struct kgb_failure *failure, enum kgb_code code,
		    const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *message = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return kgb_refuse(failure, code, kgb_lane_text(lane, "%s", message), hint);
}

int kgb_lane_decide(struct kgb_lane *lane, enum kgb_stage stage, enum kgb_code code,
		    const char *hint, const char *fmt, ...)
{
	struct kgb_failure failure;
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *message = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	(void)kgb_lane_refuse(lane, &failure, code, hint, "%s", message);
	kgb_verdict_decide(lane->verdict, stage, &failure);
	return 1;
}

const char kgb_unsupported_hint[] =
	"Write it with other operations of triton.language: a GPU may execute this one, the judge's CPU "
	"cannot.";

int kgb_refuse_kept(struct kgb_failure *failure)
{
	return kgb_refuse(
		failure, KGB_CODE_VERIFY_ALIAS,
		"the result lies in the memory of an earlier result that is still in use",
		"Allocate a new tensor for every call; a buffer kept between calls changes results that "
		"the caller still holds.");
}

const char *kgb_lane_last_words(struct kgb_lane *lane, const struct kgb_worker *worker)
{
	KGB_AUTO(buf) struct kgb_buf words = KGB_BUF_INIT(0);

	kgb_worker_last_words(worker, &words);
	return kgb_lane_text(lane, "%s", words.ptr);
}

static int explain_signal(struct kgb_lane *lane, int signo, struct kgb_failure *failure)
{
	const char *name = sigabbrev_np(signo);

	if (signo == SIGXCPU)
		return kgb_refuse(failure, KGB_CODE_VERIFY_TIMEOUT,
				  "the kernel used up its processor time",
				  "Look for a loop that does not end, on the host or in a kernel.");
	if (signo == SIGKILL)
		return kgb_refuse(failure, KGB_CODE_VERIFY_OOM,
				  "the kernel's process was killed, most likely for lack of memory",
				  "Allocate no more than the operator needs.");
	return kgb_lane_refuse(
		lane, failure, KGB_CODE_VERIFY_CRASH,
		"Most often an address far outside a tensor: check offsets, strides and masks.",
		"the kernel's process crashed with SIG%s%s", name ? name : "?",
		kgb_lane_last_words(lane, &lane->runner));
}

static int explain_timeout(struct kgb_lane *lane, struct kgb_failure *failure)
{
	const struct kgb_judge_request *request = &lane->judge->options->request;
	const bool is_over = kgb_mono_ms() >= kgb_lane_deadline(lane);

	return kgb_lane_refuse(
		lane, failure, KGB_CODE_VERIFY_TIMEOUT,
		"Look for a loop that does not end, or for many more programs than the data needs.",
		is_over ? "the verification was not finished after %lld s"
			: "the call did not return within %lld s",
		(long long)((is_over ? request->timeout_ms : request->call_timeout_ms) / 1000));
}

static const char exit_hint[] =
	"Return a result or raise an exception; nothing in the file may end the process.";
static const char protocol_hint[] =
	"Only define functions and kernels: leave descriptors, threads and memory of the process "
	"alone.";

int kgb_lane_explain_end(struct kgb_lane *lane, struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_worker *runner = &lane->runner;

	switch (runner->end) {
	case KGB_WORKER_TIMED_OUT:
		return explain_timeout(lane, failure);
	case KGB_WORKER_SIGNALED:
		return explain_signal(lane, runner->end_value, failure);
	case KGB_WORKER_EXITED:
		return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_EXIT, exit_hint,
				       "the kernel's process exited with status %d%s",
				       runner->end_value, kgb_lane_last_words(lane, runner));
	case KGB_WORKER_LIED:
		return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_PROTOCOL, protocol_hint,
				       "the kernel's process broke the protocol: %s", runner->why);
	case KGB_WORKER_ALIVE:
	case KGB_WORKER_LOST:
		break;
	}
	*failure = (struct kgb_failure){0};
	return kgb_fail(err, KGB_ERR_FAILED, "the runner's supervisor is gone");
}

int kgb_lane_explain_reply(struct kgb_lane *lane, const struct kgb_wire_reply *reply,
			   struct kgb_failure *failure)
{
	static const char memory_hint[] = "Allocate no more than the operator needs.";
	const char *line =
		reply->line > 0 ? kgb_lane_text(lane, " (kernel.py line %u)", reply->line) : "";
	const char *text = kgb_lane_text(lane, "%s%s", reply->text, line);

	/* Report operators that computed outside of kernels first, however the call ended. */
	if (reply->n_ops > 0)
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_CHEAT_TORCH_COMPUTE,
			"Compute in @triton.jit functions. Allocation, views, copies and dtype conversion may be "
			"done with torch, nothing else.",
			"%s ran outside the Triton kernels%s%s", reply->ops[0],
			reply->n_ops > 1 ? ", and so did " : "",
			reply->n_ops > 1 ? reply->ops[1] : "");
	switch ((enum kgb_wire_status)reply->status) {
	case KGB_WIRE_OK:
		*failure = (struct kgb_failure){0};
		return 0;
	case KGB_WIRE_COMPILE:
		return kgb_refuse(failure, KGB_CODE_VERIFY_EXCEPTION, text,
				  "Rewrite that line of the kernel: Triton does not compile it for "
				  "these arguments.");
	case KGB_WIRE_EXCEPTION:
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_EXCEPTION, text,
			reply->line > 0
				? "Rewrite that line so that it does not raise for these "
				  "arguments."
				: "Find what raises it for these arguments, and rewrite it.");
	case KGB_WIRE_DEVICE:
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_DEVICE_EXCEPTION, text,
			"A kernel most likely reached memory outside of its tensors: check "
			"offsets, strides and masks.");
	case KGB_WIRE_EXIT:
		return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_EXIT, exit_hint,
				       "the kernel called %s", text);
	case KGB_WIRE_MEMORY:
		return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_OOM, memory_hint,
				       "out of memory: %s", text);
	case KGB_WIRE_GUARD:
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_OUT_OF_BOUNDS, text,
			"Keep addresses within their tensors and indices within their blocks: mask every "
			"tl.load and tl.store by the number of elements.");
	case KGB_WIRE_NEEDS_LAUNCHES: /* the caller repeats the call with launches */
		lane->only_records = false;
		return kgb_refuse(failure, KGB_CODE_VERIFY_PROTOCOL,
				  "a kernel that cannot be recorded without a launch",
				  protocol_hint);
	case KGB_WIRE_UNSUPPORTED:
		return kgb_refuse(failure, KGB_CODE_INFRA_UNSUPPORTED_OP, text,
				  kgb_unsupported_hint);
	case KGB_WIRE_BAD_REQUEST:
	case KGB_WIRE_N_STATUSES:
		break;
	}
	return kgb_refuse(failure, KGB_CODE_VERIFY_PROTOCOL,
			  "the kernel's process refused a request", protocol_hint);
}
