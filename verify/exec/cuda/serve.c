/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/serve.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"
#include "verify/exec/cuda/measure.h"
#include "verify/protocol/wire.h"

enum { FDS_MAX = 2 };

struct server {
	int socket_fd;
	const char *cupti;
	bool opened;
	bool planned; /* a plan may have changed what a measurement would give */
	struct kgb_gpu gpu;
	struct kgb_memory memory;
	struct kgb_code code;
	struct kgb_run run;
	struct kgb_gpu_plan plans[KGB_EXEC_PLANS_MAX];
};

static int open_gpu(struct server *server, const struct kgb_exec_request *request,
		    struct kgb_exec_reply *reply, struct kgb_err *err)
{
	if (server->opened)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "the device is open already");
	if (kgb_gpu_open(&server->gpu, request->device, err) ||
	    kgb_memory_open(&server->memory, &server->gpu, err) ||
	    kgb_run_open(&server->run, &server->gpu, &server->memory, server->cupti, err))
		return -1;
	server->code.gpu = &server->gpu;
	server->opened = true;
	reply->value = server->gpu.l2_bytes;
	kgb_measure_identity(&server->run, &reply->machine);
	(void)snprintf(err->msg, sizeof(err->msg), "%s", server->gpu.name);
	return 0;
}

static int measure(struct server *server, struct kgb_exec_reply *reply, struct kgb_err *err)
{
	if (server->planned)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST,
				     "a plan was made here: measure before");
	kgb_measure_identity(&server->run, &reply->machine);
	return kgb_measure(&server->run, &reply->machine, err);
}

static int make_plan(struct server *server, const struct kgb_exec_request *request, int fd,
		     struct kgb_exec_reply *reply, struct kgb_err *err)
{
	struct kgb_gpu_plan *plan = &server->plans[request->plan];

	server->planned = true;
	kgb_gpu_plan_release(plan);
	const int status = kgb_gpu_plan_load(plan, &server->memory, &server->code, fd, err);
	reply->value = kgb_spans_total(&server->memory.wanted);
	return status;
}

static int forget(struct server *server)
{
	for (size_t i = 0; i < KGB_EXEC_PLANS_MAX; i++)
		kgb_gpu_plan_release(&server->plans[i]);
	kgb_memory_forget(&server->memory);
	return 0;
}

/* The plan of that number; NULL with *err when there is none. */
static struct kgb_gpu_plan *find_plan(struct server *server, uint32_t number, struct kgb_err *err)
{
	struct kgb_gpu_plan *plan = &server->plans[number];

	if (plan->gpu)
		return plan;
	(void)kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "no plan %u", number);
	return NULL;
}

/* Other memory for arena, blocks and code where a TIME asks for it. */
static int place(struct server *server, const struct kgb_exec_request *request, struct kgb_err *err)
{
	if (request->op != KGB_EXEC_TIME || request->placement == server->memory.placement)
		return 0;
	if (kgb_memory_place(&server->memory, request->placement, err))
		return -1;
	return kgb_code_move(&server->code, request->placement, err);
}

static int run(struct server *server, const struct kgb_exec_request *request,
	       struct kgb_exec_reply *reply, struct kgb_err *err)
{
	struct kgb_gpu_plan *plan = find_plan(server, request->plan, err);
	struct kgb_gpu_plan *prologue = NULL;
	struct kgb_err after = KGB_ERR_INIT;
	uint64_t value = UINT64_MAX;
	int status;

	if (!plan)
		return -1;
	if (request->prologue != KGB_EXEC_NO_PLAN) {
		prologue = find_plan(server, request->prologue, err);
		if (!prologue)
			return -1;
	}
	if (place(server, request, err))
		return -1;
	status = request->op == KGB_EXEC_RUN
			 ? kgb_run_once(&server->run, request, plan, prologue, &value, err)
			 : kgb_run_timed(&server->run, request, plan, prologue, &value, err);
	if (status == 0)
		return 0;
	/* What was issued before it went wrong may still run, on memory that may be gone with the
	 * next request. */
	if (err->code != KGB_EXEC_GPU_FAULT &&
	    kgb_gpu_check(&server->gpu, server->gpu.cu->cuCtxSynchronize(), KGB_EXEC_GPU_FAULT,
			  &after, "after '%s'", err->msg)) {
		*err = after;
		value = UINT64_MAX;
	}
	reply->value = value;
	return -1;
}

static int carry_out(struct server *server, const struct kgb_exec_request *request,
		     const int fds[2], struct kgb_exec_reply *reply, struct kgb_err *err)
{
	if (!server->opened && request->op != KGB_EXEC_OPEN)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "no device is open");
	switch ((enum kgb_exec_op)request->op) {
	case KGB_EXEC_OPEN:
		return open_gpu(server, request, reply, err);
	case KGB_EXEC_ARENA:
		return kgb_memory_set_arena(&server->memory, request, fds, err);
	case KGB_EXEC_PLAN:
		return make_plan(server, request, fds[0], reply, err);
	case KGB_EXEC_RUN:
	case KGB_EXEC_TIME:
		return run(server, request, reply, err);
	case KGB_EXEC_FORGET:
		return forget(server);
	case KGB_EXEC_MEASURE:
		return measure(server, reply, err);
	case KGB_EXEC_N_OPS:
		break;
	}
	KGB_UNREACHABLE();
}

/* Answer one request; false when this was the last. */
static bool answer(struct server *server, const struct kgb_exec_request *request, size_t len,
		   const int fds[2], size_t n_fds)
{
	const int64_t start = kgb_mono_ns();
	struct kgb_exec_reply reply = {.magic = KGB_EXEC_MAGIC, .version = KGB_EXEC_VERSION};
	struct kgb_err err = KGB_ERR_INIT;
	enum kgb_exec_status status = KGB_EXEC_OK;

	server->gpu.result = CUDA_SUCCESS;
	if (kgb_exec_request_check(request, len, n_fds, &err))
		status = KGB_EXEC_BAD_REQUEST;
	else if (carry_out(server, request, fds, &reply, &err)) {
		KGB_ASSERT(err.code > KGB_EXEC_OK && err.code < KGB_EXEC_N_STATUSES);
		status = (enum kgb_exec_status)err.code;
	}
	reply.id = len == sizeof(*request) ? request->id : 0;
	reply.status = (uint16_t)status;
	reply.cuda_error = status == KGB_EXEC_OK ? 0 : (uint32_t)server->gpu.result;
	reply.text_len = (uint32_t)strnlen(err.msg, sizeof(err.msg));
	_Static_assert(sizeof(err.msg) < KGB_EXEC_TEXT, "a message fits");
	memcpy(reply.text, err.msg, reply.text_len);
	reply.wall_ns = (uint64_t)(kgb_mono_ns() - start);
	if (send(server->socket_fd, &reply, sizeof(reply), MSG_NOSIGNAL) < 0)
		return false;
	return status != KGB_EXEC_GPU_FAULT;
}

int kgb_exec_serve(int socket_fd, const char *cupti)
{
	KGB_AUTO(free) struct server *server = kgb_xcalloc(1, sizeof(*server));
	struct kgb_err err = KGB_ERR_INIT;
	bool more = true;

	server->socket_fd = socket_fd;
	server->cupti = cupti;
	while (more) {
		struct kgb_exec_request request = {0};
		struct pollfd wait = {.fd = socket_fd, .events = POLLIN};
		int fds[FDS_MAX] = {-1, -1};
		size_t n_fds = 0;

		if (poll(&wait, 1, -1) < 0 && errno != EINTR)
			return KGB_EXIT_INTERNAL;
		ssize_t n = kgb_wire_recv(socket_fd, &request, sizeof(request), fds, FDS_MAX,
					  &n_fds, &err);
		if (n == -2)
			continue;
		if (n == 0)
			return KGB_EXIT_OK;
		if (n < 0) {
			(void)dprintf(STDERR_FILENO, "kgb-exec: %s\n", err.msg);
			return KGB_EXIT_INTERNAL;
		}
		more = answer(server, &request, (size_t)n, fds, n_fds);
		for (size_t i = 0; i < FDS_MAX; i++)
			kgb_close(fds[i]);
	}
	return KGB_EXIT_OK;
}
