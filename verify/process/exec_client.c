/* SPDX-License-Identifier: MIT */
#include "verify/process/exec_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/protocol/wire.h"

enum { STARTS_MAX = 3, END_WAIT_MS = 2000 };

/* Fill *err from a format; the value is `outcome`. */
#define fail_as(outcome, err, kind, ...) ((void)kgb_fail((err), (kind), __VA_ARGS__), (outcome))

const char *kgb_exec_outcome_name(enum kgb_exec_outcome outcome)
{
	static const char *const names[KGB_EXEC_N_OUTCOMES] = {
		[KGB_EXEC_DONE] = "done",
		[KGB_EXEC_UNREPLAYABLE] = "unreplayable",
		[KGB_EXEC_WROTE_OUTSIDE] = "wrote_outside",
		[KGB_EXEC_OUT_OF_MEMORY] = "out_of_memory",
		[KGB_EXEC_BROKE_RULE] = "broke_rule",
		[KGB_EXEC_UNKNOWN_OPERATION] = "unknown_operation",
		[KGB_EXEC_REFUSED] = "refused",
		[KGB_EXEC_FAULTED] = "faulted",
		[KGB_EXEC_TIMED_OUT] = "timed_out",
		[KGB_EXEC_DIED] = "died",
		[KGB_EXEC_BROKE_PROTOCOL] = "broke_protocol",
		[KGB_EXEC_NO_GPU] = "no_gpu",
	};

	return outcome < KGB_EXEC_N_OUTCOMES ? names[outcome] : "unknown";
}

static void end_now(struct kgb_exec_client *exec)
{
	kgb_exec_process_kill(&exec->process);
	if (kgb_exec_process_lives(&exec->process))
		(void)kgb_exec_process_reap(&exec->process, -1);
}

void kgb_exec_client_stop(struct kgb_exec_client *exec)
{
	kgb_exec_process_stop(&exec->process);
	exec->set = 0;
	memset(exec->sets, 0, sizeof(exec->sets));
}

/* Called at the end of the stream: gets the exit status of the process. */
static enum kgb_exec_outcome find_end(struct kgb_exec_client *exec, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf words = KGB_BUF_INIT(0);

	if (!kgb_exec_process_reap(&exec->process, END_WAIT_MS)) {
		end_now(exec);
		/* With another exit status it was ending by itself: the driver frees the GPU's
		 * memory, slowly on a busy machine. */
		if (exec->process.end_value == 128 + SIGKILL ||
		    exec->process.end_value == 128 + SIGTERM)
			return fail_as(KGB_EXEC_BROKE_PROTOCOL, err, KGB_ERR_FAILED,
				       "kgb-exec closed its channel and went on");
	}
	kgb_exec_process_last_words(&exec->process, &words);
	if (exec->process.end_value > 128)
		return fail_as(KGB_EXEC_DIED, err, KGB_ERR_FAILED,
			       "kgb-exec was ended by signal %d%s", exec->process.end_value - 128,
			       words.ptr);
	return fail_as(KGB_EXEC_DIED, err, KGB_ERR_FAILED, "kgb-exec ended with status %d%s",
		       exec->process.end_value, words.ptr);
}

static enum kgb_exec_outcome broken(struct kgb_exec_client *exec, struct kgb_err *err,
				    const char *why)
{
	end_now(exec);
	return fail_as(KGB_EXEC_BROKE_PROTOCOL, err, KGB_ERR_INVALID, "reply of kgb-exec: %s", why);
}

static void clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void take_machine(struct kgb_exec_client *exec, const struct kgb_exec_machine *machine)
{
	exec->machine = *machine;
	clean_text(exec->machine.name, sizeof(exec->machine.name));
	clean_text(exec->machine.uuid, sizeof(exec->machine.uuid));
	clean_text(exec->machine.driver, sizeof(exec->machine.driver));
	clean_text(exec->machine.pci, sizeof(exec->machine.pci));
}

/* Copy a reply that keeps to the protocol into exec->reply; else describe its fault. */
static const char *check_reply(struct kgb_exec_client *exec, const struct kgb_exec_reply *reply,
			       size_t len)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_EXEC_TEXT - 1);

	if (len != sizeof(*reply))
		return "wrong length";
	if (reply->magic != KGB_EXEC_MAGIC || reply->version != KGB_EXEC_VERSION)
		return "another protocol";
	if (reply->id != exec->last_id)
		return "answers another request";
	if (reply->status >= KGB_EXEC_N_STATUSES)
		return "unknown status";
	if (reply->status == KGB_EXEC_KERNEL_FAULT && (reply->device_error == KGB_EXEC_FAULT_NONE ||
						       reply->device_error >= KGB_EXEC_N_FAULTS))
		return "unknown fault";
	if (reply->text_len >= KGB_EXEC_TEXT)
		return "text too long";
	exec->reply = *reply;
	/* Text that does not fit after escaping is dropped. */
	kgb_escape(&text, reply->text, reply->text_len);
	memset(exec->reply.text, 0, sizeof(exec->reply.text));
	memcpy(exec->reply.text, text.ptr, text.len);
	exec->reply.text_len = (uint32_t)text.len;
	return NULL;
}

static enum kgb_exec_outcome outcome_of(enum kgb_exec_status status, enum kgb_err_kind *kind)
{
	switch (status) {
	case KGB_EXEC_OK:
		return KGB_EXEC_DONE;
	case KGB_EXEC_BAD_REQUEST:
		*kind = KGB_ERR_INVALID;
		return KGB_EXEC_REFUSED;
	case KGB_EXEC_UNAVAILABLE:
	case KGB_EXEC_RESERVATION:
		*kind = KGB_ERR_UNAVAILABLE;
		return KGB_EXEC_NO_GPU;
	case KGB_EXEC_BAD_PLAN:
		*kind = KGB_ERR_INVALID;
		return KGB_EXEC_UNREPLAYABLE;
	case KGB_EXEC_NO_MEMORY:
		*kind = KGB_ERR_LIMIT;
		return KGB_EXEC_OUT_OF_MEMORY;
	case KGB_EXEC_GPU_FAULT:
		*kind = KGB_ERR_FAILED;
		return KGB_EXEC_FAULTED;
	case KGB_EXEC_SLACK:
		*kind = KGB_ERR_FAILED;
		return KGB_EXEC_WROTE_OUTSIDE;
	case KGB_EXEC_KERNEL_FAULT:
		*kind = KGB_ERR_FAILED;
		return KGB_EXEC_BROKE_RULE;
	case KGB_EXEC_UNSUPPORTED:
		*kind = KGB_ERR_NOT_FOUND;
		return KGB_EXEC_UNKNOWN_OPERATION;
	case KGB_EXEC_N_STATUSES:
		break;
	}
	KGB_UNREACHABLE();
}

static enum kgb_exec_outcome send_request(struct kgb_exec_client *exec,
					  struct kgb_exec_request *request, const int *fds,
					  size_t n_fds, struct kgb_err *err)
{
	request->magic = KGB_EXEC_MAGIC;
	request->version = KGB_EXEC_VERSION;
	request->id = ++exec->last_id;
	if (!kgb_exec_process_lives(&exec->process))
		return fail_as(KGB_EXEC_DIED, err, KGB_ERR_FAILED, "kgb-exec: no process for '%s'",
			       kgb_exec_op_name((enum kgb_exec_op)request->op));
	if (kgb_exec_request_check(request, sizeof(*request), n_fds, err) < 0)
		return KGB_EXEC_REFUSED;
	/* Ignore a dead process here: the end of the stream reports it, with its last output. */
	if (kgb_wire_send(exec->process.channel_fd, request, sizeof(*request), fds, n_fds, err) <
		    0 &&
	    err->code != EPIPE && err->code != ECONNRESET)
		return broken(exec, err, "does not read its requests");
	return KGB_EXEC_DONE;
}

static enum kgb_exec_outcome await_reply(struct kgb_exec_client *exec, enum kgb_exec_op op,
					 int64_t timeout_ms, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_exec_reply *reply = kgb_xmalloc(sizeof(*reply));
	enum kgb_err_kind kind = KGB_ERR_FAILED;

	if (!kgb_wire_await(exec->process.channel_fd, kgb_mono_ms() + timeout_ms)) {
		end_now(exec);
		return fail_as(KGB_EXEC_TIMED_OUT, err, KGB_ERR_TIMEOUT,
			       "kgb-exec: '%s' took longer than %lld ms", kgb_exec_op_name(op),
			       (long long)timeout_ms);
	}
	ssize_t n =
		kgb_wire_recv(exec->process.channel_fd, reply, sizeof(*reply), NULL, 0, NULL, err);
	if (n == 0)
		return find_end(exec, err);
	const char *wrong = n < 0 ? "unreadable" : check_reply(exec, reply, (size_t)n);
	if (wrong)
		return broken(exec, err, wrong);

	enum kgb_exec_outcome outcome = outcome_of((enum kgb_exec_status)reply->status, &kind);
	if (outcome != KGB_EXEC_DONE)
		(void)kgb_fail(err, kind, "%s",
			       exec->reply.text_len ? exec->reply.text
						    : kgb_exec_outcome_name(outcome));
	if (outcome >= KGB_EXEC_FAULTED)
		end_now(exec);
	return outcome;
}

/* One request, one reply. */
static enum kgb_exec_outcome ask(struct kgb_exec_client *exec, struct kgb_exec_request *request,
				 const int *fds, size_t n_fds, int64_t timeout_ms,
				 struct kgb_err *err)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;

	if (kgb_gpu_share_enter(exec->share, &lease, err) < 0)
		return KGB_EXEC_NO_GPU;
	enum kgb_exec_outcome outcome = send_request(exec, request, fds, n_fds, err);
	if (outcome == KGB_EXEC_DONE)
		outcome = await_reply(exec, (enum kgb_exec_op)request->op, timeout_ms, err);
	kgb_gpu_lease_give(&lease);
	return outcome;
}

static enum kgb_exec_outcome ask_to_open(struct kgb_exec_client *exec, uint32_t device,
					 struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_OPEN, .device = device};

	exec->device = device;
	return send_request(exec, &request, NULL, 0, err);
}

static enum kgb_exec_outcome await_open(struct kgb_exec_client *exec, int64_t timeout_ms,
					struct kgb_err *err)
{
	enum kgb_exec_outcome outcome = await_reply(exec, KGB_EXEC_OPEN, timeout_ms, err);

	if (outcome != KGB_EXEC_DONE)
		return outcome;
	exec->l2_bytes = exec->reply.value;
	take_machine(exec, &exec->reply.machine);
	snprintf(exec->device_name, sizeof(exec->device_name), "%.255s", exec->reply.text);
	return KGB_EXEC_DONE;
}

bool kgb_exec_client_begin_emptying(struct kgb_exec_client *exec)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	return ask_to_open(exec, exec->device, &ignored) == KGB_EXEC_DONE;
}

bool kgb_exec_client_finish_emptying(struct kgb_exec_client *exec, int64_t timeout_ms)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	return await_reply(exec, KGB_EXEC_OPEN, timeout_ms, &ignored) == KGB_EXEC_DONE;
}

void kgb_exec_client_leave(struct kgb_exec_client *exec, bool is_clean,
			   const struct kgb_gpu_lease *lease)
{
	/* A pool does this with those that it lent. */
	if (exec->process.launcher > 0 && lease && kgb_exec_client_begin_emptying(exec))
		(void)kgb_exec_client_finish_emptying(exec, KGB_EXEC_EMPTY_MS);
	kgb_exec_process_leave(&exec->process, is_clean, lease);
}

enum kgb_exec_outcome kgb_exec_client_adopt(struct kgb_exec_client *exec, pid_t pid,
					    int take_channel_fd, uint32_t device,
					    int64_t timeout_ms, struct kgb_err *err)
{
	*exec = (struct kgb_exec_client)KGB_EXEC_CLIENT_INIT;
	exec->process.launcher = pid;
	exec->process.channel_fd = take_channel_fd;
	exec->n_starts = 1;
	enum kgb_exec_outcome outcome = ask_to_open(exec, device, err);
	if (outcome == KGB_EXEC_DONE)
		outcome = await_open(exec, timeout_ms, err);
	if (outcome != KGB_EXEC_DONE)
		kgb_exec_client_stop(exec);
	return outcome;
}

static int begin(struct kgb_exec_client *exec, const struct kgb_exec_spec *spec,
		 struct kgb_err *err)
{
	return spec->pool ? kgb_exec_process_request(&exec->process, spec, err)
			  : kgb_exec_process_start(&exec->process, spec, err);
}

enum kgb_exec_outcome kgb_exec_client_begin(struct kgb_exec_client *exec,
					    const struct kgb_exec_spec *spec, struct kgb_err *err)
{
	const int n_starts = exec->n_starts + 1;
	enum kgb_exec_outcome outcome = KGB_EXEC_NO_GPU;

	*exec = (struct kgb_exec_client)KGB_EXEC_CLIENT_INIT;
	exec->n_starts = n_starts;
	exec->share = spec->share;
	if (begin(exec, spec, err) == 0)
		outcome = spec->pool ? KGB_EXEC_DONE : ask_to_open(exec, spec->device, err);
	if (outcome != KGB_EXEC_DONE) {
		kgb_exec_client_stop(exec);
		(void)kgb_ctx(err, "kgb-exec");
	}
	return outcome;
}

/* The context of a process of the pool is there already: to open it is to begin anew. */
static enum kgb_exec_outcome finish(struct kgb_exec_client *exec, const struct kgb_exec_spec *spec,
				    int64_t deadline_ms, struct kgb_err *err)
{
	if (spec->pool) {
		if (kgb_exec_process_await(&exec->process, deadline_ms, err) < 0)
			return err->kind == KGB_ERR_TIMEOUT ? KGB_EXEC_TIMED_OUT : KGB_EXEC_NO_GPU;
		const enum kgb_exec_outcome outcome = ask_to_open(exec, spec->device, err);
		if (outcome != KGB_EXEC_DONE)
			return outcome;
	}
	return await_open(exec, deadline_ms - kgb_mono_ms(), err);
}

enum kgb_exec_outcome kgb_exec_client_finish(struct kgb_exec_client *exec,
					     const struct kgb_exec_spec *spec, int64_t timeout_ms,
					     struct kgb_err *err)
{
	const int64_t deadline_ms = kgb_mono_ms() + timeout_ms;

	for (;;) {
		exec->reply.status = KGB_EXEC_OK;
		const enum kgb_exec_outcome outcome = finish(exec, spec, deadline_ms, err);
		if (outcome == KGB_EXEC_DONE)
			return outcome;
		const bool again =
			exec->reply.status == KGB_EXEC_RESERVATION && exec->n_starts < STARTS_MAX;
		kgb_exec_client_stop(exec);
		if (!again || kgb_exec_client_begin(exec, spec, err) != KGB_EXEC_DONE) {
			(void)kgb_ctx(err, "kgb-exec");
			return outcome;
		}
	}
}

enum kgb_exec_outcome kgb_exec_client_start(struct kgb_exec_client *exec,
					    const struct kgb_exec_spec *spec, int64_t timeout_ms,
					    struct kgb_err *err)
{
	enum kgb_exec_outcome outcome;

	*exec = (struct kgb_exec_client)KGB_EXEC_CLIENT_INIT;
	outcome = kgb_exec_client_begin(exec, spec, err);
	return outcome == KGB_EXEC_DONE ? kgb_exec_client_finish(exec, spec, timeout_ms, err)
					: outcome;
}

enum kgb_exec_outcome kgb_exec_client_measure(struct kgb_exec_client *exec, int64_t timeout_ms,
					      struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_MEASURE};
	enum kgb_exec_outcome outcome = ask(exec, &request, NULL, 0, timeout_ms, err);

	if (outcome == KGB_EXEC_DONE)
		take_machine(exec, &exec->reply.machine);
	return outcome;
}

/* Require sealed sizes: a process of hostile kernels that shrinks a file would end us by SIGBUS. */
static int check_sealed(int fd, uint64_t bytes, const char *what, struct kgb_err *err)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	const off_t size = lseek(fd, 0, SEEK_END);

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return kgb_fail(err, KGB_ERR_INVALID, "%s memory is not a memfd of sealed size",
				what);
	if (size < 0 || (uint64_t)size < bytes)
		return kgb_fail(err, KGB_ERR_INVALID, "%s memory of %lld bytes, not %llu", what,
				(long long)size, (unsigned long long)bytes);
	return 0;
}

enum kgb_exec_outcome kgb_exec_client_arena(struct kgb_exec_client *exec,
					    const struct kgb_exec_arena_spec *spec,
					    int64_t timeout_ms, struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_ARENA,
					   .arena_bytes = spec->arena_bytes,
					   .n_slots = spec->n_slots,
					   .n_turned = spec->n_turned,
					   .output_bytes = spec->output_bytes,
					   .flags = spec->inputs};
	struct kgb_exec_client_set *set = &exec->sets[exec->set];
	const int fds[] = {spec->input_fd, spec->output_fd};
	uint64_t input_bytes;

	if (spec->n_parts > KGB_EXEC_RANGES)
		return fail_as(KGB_EXEC_REFUSED, err, KGB_ERR_LIMIT, "%zu parts, at most %d",
			       spec->n_parts, KGB_EXEC_RANGES);
	request.n_ranges = (uint32_t)spec->n_parts;
	for (size_t i = 0; i < spec->n_parts; i++)
		request.ranges[i] = spec->parts[i];
	if (__builtin_mul_overflow(spec->arena_bytes, spec->n_slots - spec->n_turned, &input_bytes))
		input_bytes = UINT64_MAX;
	if (check_sealed(spec->input_fd, input_bytes, "input", err) < 0 ||
	    check_sealed(spec->output_fd, spec->output_bytes, "output", err) < 0)
		return KGB_EXEC_REFUSED;
	enum kgb_exec_outcome outcome =
		ask(exec, &request, fds, KGB_ARRAY_LEN(fds), timeout_ms, err);
	set->arena_bytes = outcome == KGB_EXEC_DONE ? spec->arena_bytes : 0;
	set->output_bytes = outcome == KGB_EXEC_DONE ? spec->output_bytes : 0;
	return outcome;
}

enum kgb_exec_outcome kgb_exec_client_plan(struct kgb_exec_client *exec, uint32_t plan,
					   const void *record, size_t len, int64_t timeout_ms,
					   struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_PLAN, .plan = plan};
	KGB_AUTO(fd) int fd = -1;

	if (kgb_memfd_of("kgb-plan", record, len, &fd, err) < 0)
		return KGB_EXEC_REFUSED;
	return ask(exec, &request, &fd, 1, timeout_ms, err);
}

enum kgb_exec_outcome kgb_exec_client_conditions(struct kgb_exec_client *exec, int64_t timeout_ms,
						 struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_CONDITIONS};
	enum kgb_exec_outcome outcome = ask(exec, &request, NULL, 0, timeout_ms, err);

	if (outcome == KGB_EXEC_DONE && (exec->reply.value > KGB_EXEC_CONDITIONS_MAX ||
					 exec->reply.value * sizeof(struct kgb_exec_condition) >
						 exec->sets[exec->set].output_bytes))
		return broken(exec, err, "more conditions than fit");
	return outcome;
}

enum kgb_exec_outcome kgb_exec_client_forget(struct kgb_exec_client *exec, int64_t timeout_ms,
					     struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_FORGET};

	return ask(exec, &request, NULL, 0, timeout_ms, err);
}

enum kgb_exec_outcome kgb_exec_client_select(struct kgb_exec_client *exec, uint32_t set,
					     int64_t timeout_ms, struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_SELECT, .set = set};

	KGB_ASSERT(set < KGB_EXEC_SETS_MAX);
	exec->set = set;
	return ask(exec, &request, NULL, 0, timeout_ms, err);
}

enum kgb_exec_outcome kgb_exec_client_place(struct kgb_exec_client *exec, uint32_t placement,
					    int64_t timeout_ms, struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_PLACE, .placement = placement};

	return ask(exec, &request, NULL, 0, timeout_ms, err);
}

enum kgb_exec_outcome kgb_exec_client_load(struct kgb_exec_client *exec, int64_t timeout_ms,
					   struct kgb_err *err)
{
	struct kgb_exec_request request = {.op = KGB_EXEC_LOAD};

	return ask(exec, &request, NULL, 0, timeout_ms, err);
}

static enum kgb_exec_outcome run_or_time(struct kgb_exec_client *exec, enum kgb_exec_op op,
					 struct kgb_exec_request request,
					 struct kgb_exec_layout *out, int64_t timeout_ms,
					 struct kgb_err *err)
{
	const struct kgb_exec_client_set *set = &exec->sets[exec->set];
	struct kgb_exec_layout layout;

	request.op = (uint16_t)op;
	if (request.n_ranges > KGB_EXEC_RANGES)
		return fail_as(KGB_EXEC_REFUSED, err, KGB_ERR_LIMIT, "%u ranges, at most %d",
			       request.n_ranges, KGB_EXEC_RANGES);
	if (kgb_exec_layout(&request, set->arena_bytes, &layout, err) < 0)
		return KGB_EXEC_REFUSED;
	if (set->arena_bytes == 0 || layout.bytes > set->output_bytes)
		return fail_as(KGB_EXEC_REFUSED, err, KGB_ERR_LIMIT,
			       "results of %llu bytes, output memory of %llu",
			       (unsigned long long)layout.bytes,
			       (unsigned long long)set->output_bytes);
	enum kgb_exec_outcome outcome = ask(exec, &request, NULL, 0, timeout_ms, err);
	if (outcome == KGB_EXEC_DONE || outcome == KGB_EXEC_WROTE_OUTSIDE)
		*out = layout;
	return outcome;
}

enum kgb_exec_outcome kgb_exec_client_run(struct kgb_exec_client *exec,
					  const struct kgb_exec_request *request,
					  struct kgb_exec_layout *out, int64_t timeout_ms,
					  struct kgb_err *err)
{
	return run_or_time(exec, KGB_EXEC_RUN, *request, out, timeout_ms, err);
}

enum kgb_exec_outcome kgb_exec_client_time(struct kgb_exec_client *exec,
					   const struct kgb_exec_request *request,
					   struct kgb_exec_layout *out, int64_t timeout_ms,
					   struct kgb_err *err)
{
	return run_or_time(exec, KGB_EXEC_TIME, *request, out, timeout_ms, err);
}
