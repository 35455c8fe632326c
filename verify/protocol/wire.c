/* SPDX-License-Identifier: MIT */
#include "verify/protocol/wire.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

/* Of a dimension of one element, whose stride leads nowhere: the last dimensions of a gapped buffer
 * multiply to such numbers. */
#define IDLE_STRIDE_MAX (INT64_C(1) << 56)

#define refuse(err, ...) kgb_fail((err), KGB_ERR_INVALID, "reply of the worker: " __VA_ARGS__)

/* Every byte that is not printable UTF-8 becomes '?'. */
static void clean(char *s, size_t len, bool keep_line_ends)
{
	for (size_t i = 0; i < len;) {
		i += kgb_utf8_valid(s + i, len - i);
		if (i < len)
			s[i++] = '?';
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if ((c < 0x20 && !(keep_line_ends && (c == '\n' || c == '\t'))) || c == 0x7f)
			s[i] = '?';
	}
}

/* A name must end within its array; bytes after the NUL are cleared. */
static int check_name(char name[KGB_WIRE_NAME], const char *what, struct kgb_err *err)
{
	size_t len = strnlen(name, KGB_WIRE_NAME);

	if (len == KGB_WIRE_NAME)
		return refuse(err, "%s has no end", what);
	memset(name + len, 0, KGB_WIRE_NAME - len);
	clean(name, len, false);
	return 0;
}

static int check_tensor(struct kgb_wire_output *output, struct kgb_err *err)
{
	int64_t n_bytes;

	if (output->dtype >= KGB_N_DTYPES)
		return refuse(err, "dtype %d", output->dtype);
	if (output->ndim > KGB_WIRE_DIMS)
		return refuse(err, "%d dimensions", output->ndim);
	if (output->where >= KGB_WIRE_N_WHERES)
		return refuse(err, "place %d", output->where);
	n_bytes = (int64_t)kgb_dtype_size((enum kgb_dtype)output->dtype);
	for (int i = 0; i < KGB_WIRE_DIMS; i++) {
		if (i >= output->ndim) {
			output->sizes[i] = output->strides[i] = 0;
			continue;
		}
		if (output->sizes[i] < 0)
			return refuse(err, "size %lld", (long long)output->sizes[i]);
		if (__builtin_mul_overflow(n_bytes, output->sizes[i], &n_bytes) ||
		    n_bytes > KGB_WIRE_TENSOR_MAX)
			return refuse(err, "a tensor of more than %lld bytes",
				      (long long)KGB_WIRE_TENSOR_MAX);
		if (output->strides[i] < 0 ||
		    output->strides[i] >
			    (output->sizes[i] > 1 ? KGB_LIMIT_TENSOR_BYTES : IDLE_STRIDE_MAX))
			return refuse(err, "stride %lld", (long long)output->strides[i]);
	}
	if (output->offset < 0 || output->offset > KGB_WIRE_OUTPUTS * KGB_WIRE_TENSOR_MAX)
		return refuse(err, "offset %lld", (long long)output->offset);
	if (output->n_bytes != 0 && output->n_bytes != n_bytes)
		return refuse(err, "%lld bytes for a tensor of %lld", (long long)output->n_bytes,
			      (long long)n_bytes);
	return 0;
}

static int check_number(const struct kgb_wire_output *output, struct kgb_err *err)
{
	if (output->ndim > 0 || output->where != KGB_WIRE_FRESH ||
	    (output->dtype != KGB_DTYPE_BOOL && output->dtype != KGB_DTYPE_INT64 &&
	     output->dtype != KGB_DTYPE_FLOAT64))
		return refuse(err, "a number of dtype %d with %d dimensions", output->dtype,
			      output->ndim);
	return 0;
}

static int check_output(struct kgb_wire_output *output, struct kgb_err *err)
{
	if (output->kind >= KGB_WIRE_N_KINDS)
		return refuse(err, "kind %d", output->kind);
	if (check_name(output->type, "a type name", err) < 0)
		return -1;
	if (output->kind == KGB_WIRE_NUMBER && check_number(output, err) < 0)
		return -1;
	if (output->kind == KGB_WIRE_TENSOR || output->kind == KGB_WIRE_NUMBER)
		return check_tensor(output, err);

	struct kgb_wire_output plain = {.kind = output->kind};
	memcpy(plain.type, output->type, sizeof(plain.type));
	*output = plain;
	return 0;
}

static int check_header(const struct kgb_wire_reply *reply, uint64_t expected_id,
			struct kgb_err *err)
{
	if (reply->magic != KGB_WIRE_MAGIC)
		return refuse(err, "magic %08x", reply->magic);
	if (reply->version != KGB_WIRE_VERSION)
		return refuse(err, "version %d, not %d", reply->version, KGB_WIRE_VERSION);
	if (reply->id != expected_id)
		return refuse(err, "answers request %llu, not %llu", (unsigned long long)reply->id,
			      (unsigned long long)expected_id);
	if (reply->status >= KGB_WIRE_N_STATUSES)
		return refuse(err, "status %d", reply->status);
	if (reply->n_outputs > KGB_WIRE_OUTPUTS || reply->n_launches > KGB_WIRE_LAUNCHES ||
	    reply->n_ops > KGB_WIRE_OPS || reply->text_len >= KGB_WIRE_TEXT)
		return refuse(err, "counts %u %u %u %u", reply->n_outputs, reply->n_launches,
			      reply->n_ops, reply->text_len);
	if (reply->value < 0 || reply->line > KGB_LIMIT_KERNEL)
		return refuse(err, "value %lld, line %u", (long long)reply->value, reply->line);
	return 0;
}

static int check_lists(struct kgb_wire_reply *reply, struct kgb_err *err)
{
	for (uint32_t i = 0; i < reply->n_outputs; i++)
		if (check_output(&reply->outputs[i], err) < 0)
			return kgb_ctx(err, "result %u", i);
	for (uint32_t i = 0; i < reply->n_launches; i++) {
		if (check_name(reply->launches[i].name, "a kernel name", err) < 0)
			return -1;
		if (reply->launches[i].count < 1 || reply->launches[i].count > INT32_MAX)
			return refuse(err, "%lld launches", (long long)reply->launches[i].count);
	}
	for (uint32_t i = 0; i < reply->n_ops; i++)
		if (check_name(reply->ops[i], "an operator name", err) < 0)
			return -1;
	return 0;
}

int kgb_wire_reply_parse(const void *bytes, size_t len, uint64_t expected_id,
			 struct kgb_wire_reply *out, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = NULL;

	if (len != sizeof(*reply))
		return refuse(err, "%zu bytes, not %zu", len, sizeof(*reply));
	reply = kgb_xmalloc(sizeof(*reply));
	memcpy(reply, bytes, sizeof(*reply));
	if (check_header(reply, expected_id, err) < 0 || check_lists(reply, err) < 0)
		return -1;

	memset(reply->outputs + reply->n_outputs, 0,
	       (KGB_WIRE_OUTPUTS - reply->n_outputs) * sizeof(reply->outputs[0]));
	memset(reply->launches + reply->n_launches, 0,
	       (KGB_WIRE_LAUNCHES - reply->n_launches) * sizeof(reply->launches[0]));
	memset(reply->ops + reply->n_ops, 0, (KGB_WIRE_OPS - reply->n_ops) * sizeof(reply->ops[0]));
	memset(reply->text + reply->text_len, 0, KGB_WIRE_TEXT - reply->text_len);
	clean(reply->text, reply->text_len, true);
	reply->zero = 0;
	for (uint32_t i = 0; i < reply->n_outputs; i++)
		reply->outputs[i].zero = 0;
	*out = *reply;
	return 0;
}

int64_t kgb_wire_reach(const struct kgb_wire_output *output)
{
	int64_t reach = 1;

	for (int d = 0; d < output->ndim; d++) {
		int64_t more;
		if (output->sizes[d] == 0 || output->strides[d] < 0 ||
		    __builtin_mul_overflow(output->sizes[d] - 1, output->strides[d], &more) ||
		    __builtin_add_overflow(reach, more, &reach))
			return 0;
	}
	return reach > KGB_LIMIT_TENSOR_BYTES ? 0 : reach;
}

struct kgb_tensor_view kgb_wire_view(const struct kgb_wire_output *output)
{
	struct kgb_tensor_view view = {.dtype = (enum kgb_dtype)output->dtype,
				       .ndim = output->ndim};

	memcpy(view.sizes, output->sizes, sizeof(view.sizes));
	memcpy(view.strides, output->strides, sizeof(view.strides));
	return view;
}

int kgb_wire_send(int fd, const void *data, size_t len, const int *fds, size_t n_fds,
		  struct kgb_err *err)
{
	union {
		char bytes[CMSG_SPACE(KGB_WIRE_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	KGB_ASSERT(n_fds <= KGB_WIRE_FDS_MAX);
	if (len > KGB_WIRE_REQUEST_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "request of %zu bytes, more than %u", len,
				KGB_WIRE_REQUEST_MAX);
	if (n_fds > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return kgb_fail_errno(err, errno, "send to the worker");
	return 0;
}

/* Keep the expected descriptors, close the rest. */
static void take_fds(struct msghdr *msg, int *fds, size_t max_fds, size_t *n_fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (*n_fds < max_fds)
				fds[(*n_fds)++] = fd;
			else
				kgb_close(fd);
		}
	}
}

bool kgb_wire_await(int fd, int64_t deadline_ms)
{
	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		const int64_t left_ms = deadline_ms - kgb_mono_ms();
		const int ready = poll(&wait, 1,
				       left_ms <= 0          ? 0
				       : left_ms > INT32_MAX ? INT32_MAX
							     : (int)left_ms);
		if (ready > 0)
			return true;
		if ((ready < 0 && errno != EINTR) || kgb_mono_ms() >= deadline_ms)
			return false;
	}
}

ssize_t kgb_wire_recv(int fd, void *buf, size_t cap, int *fds, size_t max_fds, size_t *n_fds,
		      struct kgb_err *err)
{
	union {
		char bytes[CMSG_SPACE(KGB_WIRE_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = buf, .iov_len = cap};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	size_t got_fds = 0;
	ssize_t n;

	do
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		if (errno == EAGAIN)
			return -2;
		if (errno == ECONNRESET)
			return 0;
		return kgb_fail_errno(err, errno, "receive from the worker");
	}
	take_fds(&msg, fds, max_fds, &got_fds);
	if (n_fds)
		*n_fds = got_fds;
	return n;
}
