/* SPDX-License-Identifier: MIT */
#include "verify/exec/serve.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/wire.h"

enum { FDS_MAX = 2 };

struct server {
	kgb_exec_carry_out_fn carry_out;
	void *payload;
	bool opened;
};

int kgb_exec_refuse(struct kgb_err *err, enum kgb_exec_status status)
{
	err->code = (int)status;
	return -1;
}

static int carry_out(struct server *server, const struct kgb_exec_request *request,
		     const int fds[FDS_MAX], struct kgb_exec_reply *reply, struct kgb_err *err)
{
	if (!server->opened && request->op != KGB_EXEC_OPEN)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "no device is open");
	if (server->carry_out(server->payload, request, fds, reply, err) < 0)
		return -1;
	server->opened = true;
	return 0;
}

/* Answer one request; false when this was the last. */
static bool answer(struct server *server, const struct kgb_exec_request *request, size_t len,
		   const int fds[FDS_MAX], size_t n_fds)
{
	const int64_t start = kgb_mono_ns();
	struct kgb_exec_reply reply = {.magic = KGB_EXEC_MAGIC, .version = KGB_EXEC_VERSION};
	struct kgb_err err = KGB_ERR_INIT;
	enum kgb_exec_status status = KGB_EXEC_OK;

	if (kgb_exec_request_check(request, len, n_fds, &err))
		status = KGB_EXEC_BAD_REQUEST;
	else if (carry_out(server, request, fds, &reply, &err)) {
		KGB_ASSERT(err.code > KGB_EXEC_OK && err.code < KGB_EXEC_N_STATUSES);
		status = (enum kgb_exec_status)err.code;
	}
	reply.id = len == sizeof(*request) ? request->id : 0;
	reply.status = (uint16_t)status;
	reply.text_len = (uint32_t)strnlen(err.msg, sizeof(err.msg));
	_Static_assert(sizeof(err.msg) < KGB_EXEC_TEXT, "a message fits");
	memcpy(reply.text, err.msg, reply.text_len);
	reply.wall_ns = (uint64_t)(kgb_mono_ns() - start);
	if (send(KGB_EXEC_FD, &reply, sizeof(reply), MSG_NOSIGNAL) < 0)
		return false;
	return status != KGB_EXEC_GPU_FAULT;
}

int kgb_exec_serve(const char *program, kgb_exec_carry_out_fn carry_out_fn, void *payload)
{
	struct server server = {.carry_out = carry_out_fn, .payload = payload};
	struct kgb_err err = KGB_ERR_INIT;
	bool more = true;

	while (more) {
		struct kgb_exec_request request = {0};
		struct pollfd wait = {.fd = KGB_EXEC_FD, .events = POLLIN};
		int fds[FDS_MAX] = {-1, -1};
		size_t n_fds = 0;

		if (poll(&wait, 1, -1) < 0 && errno != EINTR)
			return KGB_EXIT_INTERNAL;
		ssize_t n = kgb_wire_recv(KGB_EXEC_FD, &request, sizeof(request), fds, FDS_MAX,
					  &n_fds, &err);
		if (n == -2)
			continue;
		if (n == 0)
			return KGB_EXIT_OK;
		if (n < 0) {
			(void)dprintf(STDERR_FILENO, "%s: %s\n", program, err.msg);
			return KGB_EXIT_INTERNAL;
		}
		more = answer(&server, &request, (size_t)n, fds, n_fds);
		for (size_t i = 0; i < FDS_MAX; i++)
			kgb_close(fds[i]);
	}
	return KGB_EXIT_OK;
}
