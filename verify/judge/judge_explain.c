/* SPDX-License-Identifier: MIT */
/** \file
 * What it means for a verdict that the runner ended or refused: the candidate's doing, or ours.
 */
#include <signal.h>

#include "base/log.h"
#include "base/time.h"
#include "verify/judge/judge.h"

#define say(judge, ...) kgb_arena_printf(&(judge)->verdict->arena, __VA_ARGS__)

int kgb_judge_refuse(struct kgb_failure *failure, const char *code, const char *message,
		     const char *hint)
{
	*failure = (struct kgb_failure){.code = code, .message = message, .hint = hint};
	return 1;
}

int kgb_judge_refuse_kept(struct kgb_failure *failure)
{
	return kgb_judge_refuse(
		failure, "verify.alias",
		"the result lies in the memory of an earlier result that is still in use",
		"Allocate a new tensor for every call; a buffer kept between calls changes results that "
		"the caller still holds.");
}

const char *kgb_judge_last_words(struct kgb_judge *judge, const struct kgb_worker *worker)
{
	enum { SHOWN = 300 };
	const struct kgb_buf *text = &worker->stderr_text;
	KGB_AUTO(buf) struct kgb_buf shown = KGB_BUF_INIT(0);
	size_t from = text->len > SHOWN ? text->len - SHOWN : 0;

	if (text->len == 0)
		return "";
	kgb_escape(&shown, text->ptr + from, text->len - from);
	return say(judge, "; it wrote: %s", shown.ptr);
}

static void explain_signal(struct kgb_judge *judge, int signo, struct kgb_failure *failure)
{
	const char *name = sigabbrev_np(signo);

	if (signo == SIGXCPU) {
		failure->code = "verify.timeout";
		failure->message = "the kernel used up its processor time";
	} else if (signo == SIGKILL) {
		failure->code = "verify.oom";
		failure->message =
			"the kernel's process was killed, most likely for lack of memory";
		failure->hint = "Allocate no more than the operator needs.";
	} else {
		failure->code = "verify.crash";
		failure->message =
			say(judge, "the kernel's process crashed with SIG%s%s", name ? name : "?",
			    kgb_judge_last_words(judge, &judge->runner));
		failure->hint =
			"Most often an address far outside a tensor: check offsets, strides and masks.";
	}
}

int kgb_judge_explain_end(struct kgb_judge *judge, struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_worker *runner = &judge->runner;

	*failure = (struct kgb_failure){0};
	switch (runner->end) {
	case KGB_WORKER_TIMED_OUT:
		failure->code = "verify.timeout";
		if (kgb_mono_ms() >= judge->deadline_ms)
			failure->message =
				say(judge, "the verification was not finished after %lld s",
				    (long long)(judge->options->timeout_ms / 1000));
		else
			failure->message = say(judge, "the call did not return within %lld s",
					       (long long)(judge->options->call_timeout_ms / 1000));
		failure->hint =
			"Look for a loop that does not end, or for many more programs than the data needs: each "
			"program of an interpreted kernel costs about a millisecond.";
		return 1;
	case KGB_WORKER_SIGNALED:
		explain_signal(judge, runner->end_value, failure);
		return 1;
	case KGB_WORKER_EXITED:
		failure->code = "verify.exit";
		failure->message =
			say(judge, "the kernel's process exited with status %d%s",
			    runner->end_value, kgb_judge_last_words(judge, &judge->runner));
		failure->hint = "A kernel file must not end the process.";
		return 1;
	case KGB_WORKER_LIED:
		failure->code = "verify.protocol";
		failure->message =
			say(judge, "the kernel's process broke the protocol: %s", runner->why);
		return 1;
	case KGB_WORKER_ALIVE:
	case KGB_WORKER_LOST:
		break;
	}
	return kgb_fail(err, KGB_ERR_FAILED, "the runner's supervisor is gone");
}

static const char *at_line(struct kgb_judge *judge, const struct kgb_wire_reply *reply)
{
	return reply->line > 0 ? say(judge, " (kernel.py line %u)", reply->line) : "";
}

int kgb_judge_explain_reply(struct kgb_judge *judge, const struct kgb_wire_reply *reply,
			    struct kgb_failure *failure)
{
	const char *text = say(judge, "%s", reply->text);

	*failure = (struct kgb_failure){0};
	/* What it computed elsewhere matters more than how the call ended. */
	if (reply->n_ops > 0) {
		failure->code = "cheat.torch_compute";
		failure->message = say(judge, "%s ran outside the Triton kernels%s%s",
				       reply->ops[0], reply->n_ops > 1 ? ", and so did " : "",
				       reply->n_ops > 1 ? reply->ops[1] : "");
		failure->hint =
			"Compute in @triton.jit functions. Allocation, views, copies and dtype conversion may be "
			"done with torch, nothing else.";
		return 1;
	}
	switch ((enum kgb_wire_status)reply->status) {
	case KGB_WIRE_OK:
		return 0;
	case KGB_WIRE_EXCEPTION:
		failure->code = "verify.exception";
		failure->message = say(judge, "%s%s", text, at_line(judge, reply));
		failure->hint = "The call raised an exception.";
		return 1;
	case KGB_WIRE_EXIT:
		failure->code = "verify.exit";
		failure->message =
			say(judge, "the kernel called %s%s", text, at_line(judge, reply));
		failure->hint = "A kernel file must not end the process.";
		return 1;
	case KGB_WIRE_MEMORY:
		failure->code = "verify.oom";
		failure->message = say(judge, "out of memory: %s%s", text, at_line(judge, reply));
		failure->hint = "Allocate no more than the operator needs.";
		return 1;
	case KGB_WIRE_GUARD:
		failure->code = "verify.out_of_bounds";
		failure->message = say(judge, "%s%s", text, at_line(judge, reply));
		failure->hint =
			"Mask every tl.load and tl.store: offsets must stay below the number of elements.";
		return 1;
	case KGB_WIRE_BAD_REQUEST:
	case KGB_WIRE_N_STATUSES:
		break;
	}
	failure->code = "verify.protocol";
	failure->message = "the kernel's process refused a request";
	return 1;
}
