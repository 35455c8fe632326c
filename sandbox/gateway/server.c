/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "sandbox/gateway/exchange.h"
#include "sandbox/gateway/exchange_reply.h"

/* One CLI needs a handful; a flood of connections must not eat the orchestrator's descriptors. */
#define MAX_CONNECTIONS 256u
/* Per connection: request head plus the buffer that bodies are read through. */
#define CONNECTION_BYTES ((size_t)128 << 10)

/* ---- requests ---- */

static void *on_uri(void *payload, const char *uri, struct MHD_Connection *conn)
{
	(void)conn;
	return kgb_exchange__new(payload, uri);
}

static enum MHD_Result on_header(void *payload, enum MHD_ValueKind kind, const char *name,
				 const char *value)
{
	(void)kind;
	struct kgb_exchange *ex = payload;
	kgb_headers_add(&ex->headers, name, value ? value : "");
	return MHD_YES;
}

static const char *header(const struct kgb_exchange *ex, const char *name)
{
	return MHD_lookup_connection_value(ex->conn, MHD_HEADER_KIND, name);
}

static void probe(struct kgb_exchange *ex, const char *what)
{
	struct kgb_session *session = ex->session;
	session->ledger.totals.n_probes++;
	if (!session->closing && session->spec.callbacks.on_probe)
		session->spec.callbacks.on_probe(session->spec.payload, what, ex->method, ex->path);
}

/* Both providers have a list of models at the same path. */
static enum kgb_protocol protocol_of(const struct kgb_exchange *ex)
{
	unsigned protocols = ex->session->spec.protocols;
	bool anthropic = protocols & KGB_PROTOCOL_BIT(KGB_PROTOCOL_ANTHROPIC);
	bool others = protocols & ~KGB_PROTOCOL_BIT(KGB_PROTOCOL_ANTHROPIC);
	if (ex->endpoint == KGB_ENDPOINT_BATCH)
		return kgb_str_starts(ex->path, "/v1/messages/") ? KGB_PROTOCOL_ANTHROPIC
								 : KGB_PROTOCOL_CHAT;
	if (ex->endpoint != KGB_ENDPOINT_MODELS)
		return kgb_http_protocol(ex->endpoint);
	if (!others || (anthropic && header(ex, "x-api-key")))
		return KGB_PROTOCOL_ANTHROPIC;
	return protocols & KGB_PROTOCOL_BIT(KGB_PROTOCOL_CHAT) ? KGB_PROTOCOL_CHAT
							       : KGB_PROTOCOL_RESPONSES;
}

/* After the head of a request: find its kind and check its permission. A rejected request is
 * answered after its body. */
static void on_request_head(struct kgb_exchange *ex, const char *path, const char *method)
{
	ex->method = kgb_xstrdup(method);
	ex->path = kgb_xstrdup(path);
	ex->endpoint = kgb_http_endpoint(method, path);
	ex->protocol = protocol_of(ex);
	const struct kgb_session *session = ex->session;
	bool speaks = session->spec.protocols & KGB_PROTOCOL_BIT(ex->protocol);
	if (!speaks && kgb_http_upstream_path(ex->endpoint))
		ex->endpoint = KGB_ENDPOINT_NONE;
	if (ex->endpoint == KGB_ENDPOINT_BATCH && !session->spec.batches)
		ex->endpoint = KGB_ENDPOINT_NONE;
	if (ex->endpoint == KGB_ENDPOINT_VERIFY && !session->spec.callbacks.on_verify)
		ex->endpoint = KGB_ENDPOINT_NONE;
	if (ex->endpoint == KGB_ENDPOINT_NONE || ex->endpoint == KGB_ENDPOINT_HELLO ||
	    !kgb_http_token_matches(session->token, header(ex, "x-api-key"),
				    header(ex, "authorization"))) {
		ex->fault = KGB_REQUEST_REJECTED;
		return;
	}
	const char *encoding = header(ex, "content-encoding");
	if (encoding && strcasecmp(encoding, "identity") != 0)
		ex->fault = KGB_REQUEST_ENCODED;
	ex->body.limit =
		ex->endpoint == KGB_ENDPOINT_VERIFY ? KGB_LIMIT_KERNEL : KGB_LIMIT_HTTP_BODY;
	MHD_get_connection_values(ex->conn, MHD_HEADER_KIND, on_header, ex);
}

static void reject(struct kgb_exchange *ex)
{
	if (ex->endpoint == KGB_ENDPOINT_HELLO) {
		kgb_exchange__reply(ex, 200, "text/plain", "", 0);
	} else if (ex->endpoint == KGB_ENDPOINT_NONE) {
		probe(ex, "endpoint");
		kgb_exchange__reply_error(ex, 404, "this gateway does not offer that");
	} else {
		probe(ex, "token");
		kgb_exchange__reply_error(ex, 401, "wrong or missing token");
	}
}

/* Read a part of a body. A body that is too large is read on, but no longer kept. */
static void take_body(struct kgb_exchange *ex, const char *data, size_t len)
{
	struct kgb_session *session = ex->session;
	if (ex->fault != KGB_REQUEST_OK)
		return;
	if (session->body_bytes + len > KGB_SESSION_BODY_BYTES ||
	    kgb_buf_add(&ex->body, data, len) < 0) {
		ex->fault = KGB_REQUEST_TOO_LARGE;
		session->body_bytes -= ex->body.len;
		kgb_buf_release(&ex->body);
		return;
	}
	session->body_bytes += len;
}

static void on_request_complete(struct kgb_exchange *ex)
{
	switch (ex->fault) {
	case KGB_REQUEST_OK:
		kgb_exchange__dispatch(ex);
		return;
	case KGB_REQUEST_REJECTED:
		reject(ex);
		break;
	case KGB_REQUEST_TOO_LARGE:
		kgb_exchange__reply_error(ex, 413, "the request is too large");
		break;
	case KGB_REQUEST_ENCODED: /* a compressed body cannot be metered */
		kgb_exchange__reply_error(ex, 415, "send the request without content-encoding");
		break;
	}
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_SOURCE_END);
}

static enum MHD_Result on_request(void *payload, struct MHD_Connection *conn, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *data_len, void **req)
{
	(void)version;
	const struct kgb_session *session = payload;
	struct kgb_exchange *ex = *req;
	if (session->closing || !ex)
		return MHD_NO;
	if (!ex->method) {
		ex->conn = conn;
		on_request_head(ex, path, method);
		return MHD_YES;
	}
	if (*data_len > 0) {
		take_body(ex, data, *data_len);
		*data_len = 0;
		return MHD_YES;
	}
	if (ex->state == KGB_EXCHANGE_READING)
		on_request_complete(ex);
	if (ex->status > 0)
		return kgb_exchange__queue(ex);
	if (ex->out_end == KGB_REPLY_CUT || session->closing)
		return MHD_NO;
	kgb_exchange__suspend(ex);
	return MHD_YES;
}

static void on_completed(void *payload, struct MHD_Connection *conn, void **req,
			 enum MHD_RequestTerminationCode code)
{
	(void)payload;
	(void)conn;
	struct kgb_exchange *ex = *req;
	*req = NULL;
	if (ex)
		kgb_exchange__detach(ex, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

/* Send each piece of a stream at once, before the last one is acknowledged. */
static void on_connection(void *payload, struct MHD_Connection *conn, void **conn_payload,
			  enum MHD_ConnectionNotificationCode code)
{
	(void)payload;
	(void)conn_payload;
	if (code != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	int on = 1;
	if (info)
		(void)setsockopt(info->connect_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* ---- the server on the loop ---- */

static void run_daemon(struct kgb_session *session);

static void on_timeout(uv_timer_t *timer)
{
	run_daemon(timer->data);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	run_daemon(poll->data);
}

/* Whether the number of clients is at its limit. */
static bool is_full(const struct kgb_session *session)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(session->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info && info->num_connections >= MAX_CONNECTIONS;
}

static void run_daemon(struct kgb_session *session)
{
	MHD_run(session->daemon);
	if (session->closing)
		return; /* closing uses the timer */
	/* A full server stops listening, and listens again only in the run after the one in which a
	 * client left: schedule that run. */
	bool was_full = session->full;
	session->full = is_full(session);
	if (was_full && !session->full)
		MHD_run(session->daemon);
	MHD_UNSIGNED_LONG_LONG ms;
	if (MHD_get_timeout(session->daemon, &ms) == MHD_YES)
		uv_timer_start(&session->timer, on_timeout, ms, 0);
	else
		uv_timer_stop(&session->timer);
}

static void on_mhd_log(void *payload, const char *fmt, va_list ap)
{
	/* Do not log broken requests of a sandboxed client. */
	(void)payload;
	(void)fmt;
	(void)ap;
}

static int start_daemon(struct kgb_session *session, int *listen_fd, struct kgb_err *err)
{
	int flags = fcntl(*listen_fd, F_GETFL);
	if (flags < 0 || fcntl(*listen_fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return kgb_fail_errno(err, errno, "gateway: listening socket %d", *listen_fd);
	session->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		on_request, session, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, *listen_fd, MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
		on_uri, session, MHD_OPTION_NOTIFY_COMPLETED, on_completed, session,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, session, MHD_OPTION_END);
	if (!session->daemon)
		return kgb_fail(err, KGB_ERR_FAILED, "gateway: start the HTTP server on socket %d",
				*listen_fd);
	(void)kgb_take_fd(listen_fd); /* the server closes it */
	return 0;
}

static int watch_daemon(struct kgb_session *session, struct kgb_err *err)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(session->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return kgb_fail(err, KGB_ERR_FAILED,
				"gateway: the HTTP server has no epoll descriptor");
	int rc = uv_poll_init(session->gw->loop, &session->poll, info->epoll_fd);
	if (rc < 0)
		return kgb_fail_code(err, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, rc,
				     "gateway: watch the HTTP server: %s", uv_strerror(rc));
	session->poll.data = session;
	uv_timer_init(session->gw->loop, &session->timer);
	session->timer.data = session;
	session->open = 2;
	session->on_timeout = on_timeout;
	uv_poll_start(&session->poll, UV_READABLE, on_readable);
	return 0;
}

/* ---- sessions ---- */

static int open_checked(struct kgb_session *session, int *listen_fd,
			const struct kgb_session_spec *spec, struct kgb_err *err)
{
	if (!spec->token || !*spec->token)
		return kgb_fail(err, KGB_ERR_INVALID, "gateway: a session needs a token");
	if (session->gw->mode == KGB_GATEWAY_REPLAY && !spec->cassette)
		return kgb_fail(err, KGB_ERR_INVALID, "gateway: a replay needs a cassette");
	session->token = kgb_xstrdup(spec->token);
	if (spec->traffic_dir &&
	    kgb_fs_opendir(AT_FDCWD, spec->traffic_dir, &session->dir_fd, err) < 0)
		return kgb_ctx(err, "gateway");
	if (start_daemon(session, listen_fd, err) < 0)
		return -1;
	return watch_daemon(session, err);
}

int kgb_session_open(struct kgb_session **out, struct kgb_gateway *gw,
		     const struct kgb_session_spec *spec, struct kgb_err *err)
{
	KGB_ASSERT(!gw->closing);
	KGB_AUTO(fd) int listen_fd = spec->take_listen_fd;
	struct kgb_session *session = kgb_xcalloc(1, sizeof(*session));
	session->gw = gw;
	session->spec = *spec;
	session->dir_fd = -1;
	if (!session->spec.protocols)
		session->spec.protocols = KGB_PROTOCOLS_ALL;
	kgb_ledger_init(&session->ledger, gw->mode == KGB_GATEWAY_LIVE ? gw->prices : NULL);
	if (open_checked(session, &listen_fd, spec, err) < 0) {
		if (session->daemon)
			MHD_stop_daemon(session->daemon);
		kgb_session__free(session);
		return -1;
	}
	LIST_INSERT_HEAD(&gw->sessions, session, link);
	*out = session;
	return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct kgb_session *session = handle->data;
	KGB_ASSERT(session->open > 0);
	session->open--;
	kgb_session__maybe_done(session);
}

/* The closing itself, from the loop: neither the server's nor curl's callbacks are on the stack. */
static void on_close(uv_timer_t *timer)
{
	struct kgb_session *session = timer->data;
	for (struct kgb_exchange *ex = LIST_FIRST(&session->exchanges), *next; ex; ex = next) {
		next = LIST_NEXT(ex, link);
		kgb_exchange__abort(ex);
	}
	/* Remove the descriptor from the loop before the server closes it. */
	uv_close((uv_handle_t *)&session->poll, on_handle_closed);
	uv_close((uv_handle_t *)&session->timer, on_handle_closed);
	MHD_stop_daemon(session->daemon);
	session->daemon = NULL;
	/* Requests of which the server had read no more than the first line. */
	for (struct kgb_exchange *ex = LIST_FIRST(&session->exchanges), *next; ex; ex = next) {
		next = LIST_NEXT(ex, link);
		if (ex->state == KGB_EXCHANGE_READING)
			kgb_exchange__detach(ex, false);
	}
}

void kgb_session_close(struct kgb_session *session,
		       void (*done)(void *payload, const struct kgb_totals *totals), void *payload)
{
	KGB_ASSERT(!session->closing);
	session->closing = true;
	session->done = done;
	session->done_payload = payload;
	uv_timer_start(&session->timer, on_close, 0, 0);
}

void kgb_gateway__close_sessions(struct kgb_gateway *gw)
{
	for (struct kgb_session *session = LIST_FIRST(&gw->sessions); session;
	     session = LIST_NEXT(session, link))
		if (!session->closing)
			kgb_session_close(session, NULL, NULL);
}
