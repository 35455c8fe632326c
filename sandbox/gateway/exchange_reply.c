/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/exchange_reply.h"

#include "base/mem.h"

/* Most bytes of an answer that the server takes at a time. */
#define BLOCK_BYTES (32u << 10)

/* ---- waiting ---- */

static void on_hangup(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	struct kgb_exchange *ex = poll->data;
	uv_poll_stop(poll);
	ex->summary.aborted_by_client = true;
	kgb_exchange__end_reply(ex, KGB_REPLY_CUT);
}

/* While suspended the server does not poll the socket, so it misses a hang-up. The watch stays
 * until the end: stopping and starting it for each event of a stream would take three more system
 * calls beside six. */
static void watch(struct kgb_exchange *ex)
{
	if (ex->polling)
		return;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(ex->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (!info ||
	    uv_poll_init_socket(ex->session->gw->loop, &ex->hangup_poll, info->connect_fd) != 0)
		return;
	ex->hangup_poll.data = ex;
	ex->polling = true;
	ex->open++;
	uv_poll_start(&ex->hangup_poll, UV_DISCONNECT, on_hangup);
}

void kgb_exchange__suspend(struct kgb_exchange *ex)
{
	if (ex->suspended || !ex->conn)
		return;
	ex->suspended = true;
	MHD_suspend_connection(ex->conn);
	watch(ex);
}

void kgb_exchange__wake(struct kgb_exchange *ex)
{
	if (!ex->suspended)
		return;
	ex->suspended = false;
	MHD_resume_connection(ex->conn);
	kgb_session__kick(ex->session);
}

/* ---- answers ---- */

void kgb_exchange__end_reply(struct kgb_exchange *ex, enum kgb_reply_end end)
{
	if (ex->out_end != KGB_REPLY_CUT)
		ex->out_end = end;
	kgb_exchange__wake(ex);
}

void kgb_exchange__reply(struct kgb_exchange *ex, int status, const char *content_type,
			 const char *body, size_t len)
{
	ex->status = status;
	ex->whole = true;
	kgb_headers_add(&ex->reply, "content-type", content_type);
	kgb_buf_clear(&ex->out);
	kgb_buf_add(&ex->out, body, len);
	if (ex->number > 0) {
		ex->summary.response_bytes = (int64_t)len;
		kgb_exchange_record_response(&ex->record, false, body, len);
	}
	kgb_exchange__end_reply(ex, KGB_REPLY_WHOLE);
}

void kgb_exchange__reply_error(struct kgb_exchange *ex, int status, const char *message)
{
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
	kgb_http_error_body(&body, ex->protocol, status, message);
	/* A retry cannot help; the official clients honour this. */
	if (status < 500)
		kgb_headers_add(&ex->reply, "x-should-retry", "false");
	kgb_exchange__reply(ex, status, "application/json", body.ptr, body.len);
}

static ssize_t read_answer(void *payload, uint64_t pos, char *out, size_t max)
{
	(void)pos;
	struct kgb_exchange *ex = payload;
	ssize_t n = kgb_exchange__read(ex, out, max);
	if (n > 0)
		return n;
	if (n == -1)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == -2)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	kgb_exchange__suspend(ex);
	return 0;
}

enum MHD_Result kgb_exchange__queue(struct kgb_exchange *ex)
{
	struct MHD_Response *response =
		ex->whole ? MHD_create_response_from_buffer(ex->out.len, ex->out.ptr,
							    MHD_RESPMEM_MUST_COPY)
			  : MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
							      read_answer, ex, NULL);
	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < ex->reply.names.n; i++)
		MHD_add_response_header(response, ex->reply.names.items[i],
					ex->reply.values.items[i]);
	enum MHD_Result result = MHD_queue_response(ex->conn, (unsigned)ex->status, response);
	MHD_destroy_response(response);
	return result;
}
