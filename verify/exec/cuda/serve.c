/* SPDX-License-Identifier: MIT */
/* kgb-exec [LIBCUPTI]: replays GPU work that the judge sends to descriptor 3
 * (verify/protocol/exec_protocol.h). Only kgb-judge starts it, in a separate sandbox. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "verify/exec/cuda/measure.h"
#include "verify/exec/serve.h"

struct server {
	const char *cupti;
	uint32_t number; /* of the GPU */
	bool planned; /* a plan was made: its code may falsify measurements */
	struct kgb_gpu gpu;
	struct kgb_device_memory memory;
	struct kgb_code_cache code;
	struct kgb_run run;
	struct kgb_gpu_plan plans[KGB_EXEC_PLANS_MAX];
};

static bool is_in_force(const struct server *server, const struct kgb_gpu_plan *plan)
{
	return plan->gpu && plan->set == server->memory.set;
}

/* For another verification: the process ran nothing of a candidate, or the judge would end it. */
static int begin_anew(struct server *server, const struct kgb_exec_request *request,
		      struct kgb_err *err)
{
	if (request->device != server->number)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "GPU %u is open already",
				     server->number);
	for (size_t i = 0; i < KGB_EXEC_PLANS_MAX; i++)
		kgb_gpu_plan_release(&server->plans[i]);
	kgb_device_memory_reset(&server->memory);
	server->planned = false;
	return 0;
}

static int open_context(struct server *server, const struct kgb_exec_request *request,
			struct kgb_err *err)
{
	if (kgb_gpu_open(&server->gpu, request->device, err) ||
	    kgb_device_memory_open(&server->memory, &server->gpu, err) ||
	    kgb_run_open(&server->run, &server->gpu, &server->memory, server->cupti, err))
		return -1;
	server->code.gpu = &server->gpu;
	server->number = request->device;
	return 0;
}

static int open_gpu(struct server *server, const struct kgb_exec_request *request,
		    struct kgb_exec_reply *reply, struct kgb_err *err)
{
	if (server->code.gpu ? begin_anew(server, request, err)
			     : open_context(server, request, err))
		return -1;
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
	reply->value = kgb_spans_total(&server->memory.set->wanted);
	return status;
}

static int forget(struct server *server)
{
	for (size_t i = 0; i < KGB_EXEC_PLANS_MAX; i++)
		if (is_in_force(server, &server->plans[i]))
			kgb_gpu_plan_release(&server->plans[i]);
	kgb_device_memory_forget(&server->memory);
	return 0;
}

/* The plan of that number, of the set in force; NULL with *err when there is none. */
static struct kgb_gpu_plan *find_plan(struct server *server, uint32_t number, struct kgb_err *err)
{
	struct kgb_gpu_plan *plan = &server->plans[number];

	if (is_in_force(server, plan))
		return plan;
	(void)kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "no plan %u", number);
	return NULL;
}

/* Let the code of the plans in force take part in the next moves. */
static void let_code_move(struct server *server)
{
	for (size_t i = 0; i < server->code.n; i++)
		server->code.items[i]->moves = false;
	for (size_t i = 0; i < KGB_EXEC_PLANS_MAX; i++)
		if (is_in_force(server, &server->plans[i]))
			kgb_gpu_plan_let_move(&server->plans[i]);
}

/* Replace the memory of arena, blocks and code of the set in force, unless it is that placement's.
 */
static int place(struct server *server, const struct kgb_exec_request *request, struct kgb_err *err)
{
	if (request->placement == server->memory.placement)
		return 0;
	let_code_move(server);
	if (kgb_device_memory_place(&server->memory, request->placement, err))
		return -1;
	return kgb_code_cache_move(&server->code, request->placement, err);
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
	if (request->op == KGB_EXEC_TIME && place(server, request, err))
		return -1;
	status = request->op == KGB_EXEC_RUN
			 ? kgb_run_once(&server->run, request, plan, prologue, &value, err)
			 : kgb_run_timed(&server->run, request, plan, prologue, &value, err);
	/* Wait for all work: the next request may release its memory, and the GPU is idle when
	 * another process is timed. */
	if ((status == 0 || err->code != KGB_EXEC_GPU_FAULT) &&
	    kgb_gpu_check(&server->gpu, server->gpu.cu->cuCtxSynchronize(), KGB_EXEC_GPU_FAULT,
			  &after, "after '%s'", err->msg)) {
		*err = after;
		value = UINT64_MAX;
		status = -1;
	}
	if (status != 0)
		reply->value = value;
	return status;
}

static int dispatch(struct server *server, const struct kgb_exec_request *request, const int *fds,
		    struct kgb_exec_reply *reply, struct kgb_err *err)
{
	switch ((enum kgb_exec_op)request->op) {
	case KGB_EXEC_OPEN:
		return open_gpu(server, request, reply, err);
	case KGB_EXEC_ARENA:
		return kgb_device_memory_set_arena(&server->memory, request, fds, err);
	case KGB_EXEC_PLAN:
		return make_plan(server, request, fds[0], reply, err);
	case KGB_EXEC_RUN:
	case KGB_EXEC_TIME:
		return run(server, request, reply, err);
	case KGB_EXEC_PLACE:
		return place(server, request, err);
	case KGB_EXEC_LOAD:
		let_code_move(server);
		return kgb_code_cache_load(&server->code, err);
	case KGB_EXEC_SELECT:
		return kgb_device_memory_select(&server->memory, request->set, err);
	case KGB_EXEC_FORGET:
		return forget(server);
	case KGB_EXEC_CONDITIONS:
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE,
				     "only the machine for Triton's IR notes conditions");
	case KGB_EXEC_MEASURE:
		return measure(server, reply, err);
	case KGB_EXEC_N_OPS:
		break;
	}
	KGB_UNREACHABLE();
}

static int carry_out(void *payload, const struct kgb_exec_request *request, const int *fds,
		     struct kgb_exec_reply *reply, struct kgb_err *err)
{
	struct server *server = payload;

	server->gpu.result = CUDA_SUCCESS;
	if (dispatch(server, request, fds, reply, err) == 0)
		return 0;
	reply->device_error = (uint32_t)server->gpu.result;
	return -1;
}

static int serve(const char *cupti)
{
	KGB_AUTO(free) struct server *server = kgb_xcalloc(1, sizeof(*server));

	server->cupti = cupti;
	return kgb_exec_serve("kgb-exec", carry_out, server);
}

int main(int argc, char **argv)
{
	int type = 0;
	socklen_t len = sizeof(type);

	if (argc > 2 || getsockopt(KGB_EXEC_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET) {
		(void)dprintf(
			STDERR_FILENO,
			"usage: kgb-exec [LIBCUPTI], with the judge's socket as descriptor %d: "
			"kgb-judge starts it\n",
			KGB_EXEC_FD);
		return KGB_EXIT_USAGE;
	}
	/* Skip exit handlers: the driver would wait for kernels that may never end. */
	_exit(serve(argc == 2 ? argv[1] : NULL));
}
