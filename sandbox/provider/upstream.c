/* SPDX-License-Identifier: MIT */
#include "sandbox/provider/upstream.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/time.h"

/* Idle connections that are kept; there may be more while calls run. */
#define MAX_IDLE_CONNECTIONS 64L
#define MAX_HEADERS 64
/* Most bytes of the headers of one answer, interim ones included: libcurl 7 has no limit on
 * them. */
#define MAX_HEAD_BYTES ((size_t)256 << 10)
/* Interval of checks for silent calls. */
#define WATCH_MS 250

struct kgb_upstream {
	uv_loop_t *loop; /* borrowed */
	CURLM *multi; /* owned */
	uv_timer_t timer;
	bool in_timeout; /* it is being served */
	uv_timer_t watch; /* runs while there are calls */
	int64_t watched_ms; /* monotonic: the last check, or when it began to run */
	struct kgb_upstream_call *calls; /* list of all */
	size_t n_leaving; /* calls whose request is being written */
	size_t open; /* handles that are not closed: the timers and one per socket */
	bool closing;
	void (*done)(void *payload);
	void *payload;
};

/* One socket of curl's on the loop. */
struct sock {
	uv_poll_t poll;
	struct kgb_upstream *up;
	curl_socket_t fd;
};

struct kgb_upstream_call {
	struct kgb_upstream *up;
	struct kgb_upstream_call *prev, *next;
	CURL *easy; /* owned */
	struct kgb_upstream_spec spec;
	struct kgb_upstream_head head;
	bool leaving; /* the request is being written */
	bool head_delivered;
	size_t head_bytes;
	const char *given_up; /* static; our reason to end it, in place of libcurl's message */
	bool held;
	int64_t active_ms; /* monotonic: when bytes moved last */
	curl_off_t sent; /* by then */
	char error[CURL_ERROR_SIZE];
};

static void on_handle_closed(struct kgb_upstream *up)
{
	KGB_ASSERT(up->open > 0);
	if (--up->open > 0 || !up->closing)
		return;
	void (*done)(void *) = up->done;
	void *payload = up->payload;
	kgb_free(up);
	if (done)
		done(payload);
}

static void on_timer_closed(uv_handle_t *handle)
{
	on_handle_closed(handle->data);
}

static void on_sock_closed(uv_handle_t *handle)
{
	struct sock *sock = handle->data;
	struct kgb_upstream *up = sock->up;
	kgb_free(sock);
	on_handle_closed(up);
}

/* ---- calls ---- */

static void head_release(struct kgb_upstream_head *head)
{
	kgb_headers_release(&head->headers);
	head->status = 0;
}

static void set_leaving(struct kgb_upstream_call *call, bool leaving)
{
	call->up->n_leaving += (size_t)leaving - (size_t)call->leaving;
	call->leaving = leaving;
}

static void call_free(struct kgb_upstream_call *call)
{
	set_leaving(call, false);
	if (call->prev)
		call->prev->next = call->next;
	else
		call->up->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->spec.take_headers);
	head_release(&call->head);
	kgb_free(call);
}

bool kgb_upstream_sent(const struct kgb_upstream_call *call)
{
	long head = 0;
	curl_off_t body = 0;
	curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &head);
	curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &body);
	return head > 0 && body >= (curl_off_t)call->spec.body_len;
}

static void tell_left(struct kgb_upstream_call *call)
{
	if (!call->leaving || !kgb_upstream_sent(call))
		return;
	set_leaving(call, false);
	if (call->spec.on_left)
		call->spec.on_left(call->spec.payload);
}

void kgb_upstream_cancel(struct kgb_upstream_call *call)
{
	curl_multi_remove_handle(call->up->multi, call->easy);
	call_free(call);
}

static enum kgb_err_kind kind_of(CURLcode code)
{
	/* Compare only the codes that a caller can act on: with a switch -Wswitch-enum would demand
	 * all hundred. */
	if (code == CURLE_OPERATION_TIMEDOUT)
		return KGB_ERR_TIMEOUT;
	if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT)
		return KGB_ERR_UNAVAILABLE;
	return KGB_ERR_FAILED;
}

static void finish_call(struct kgb_upstream_call *call, CURLcode code)
{
	struct kgb_err err = KGB_ERR_INIT;
	bool failed = code != CURLE_OK, sent = kgb_upstream_sent(call);
	tell_left(call);
	if (failed)
		(void)kgb_fail_code(&err, KGB_ERR_DOMAIN_CURL, kind_of(code), (int)code,
				    "upstream: %s",
				    call->given_up ? call->given_up
				    : *call->error ? call->error
						   : curl_easy_strerror(code));
	curl_multi_remove_handle(call->up->multi, call->easy);
	void (*on_done)(void *, bool, const struct kgb_err *) = call->spec.on_done;
	void *payload = call->spec.payload;
	call_free(call);
	on_done(payload, sent, failed ? &err : NULL);
}

/* Whether bytes moved since the last check, or this process holds them back. */
static bool is_active(struct kgb_upstream_call *call)
{
	curl_off_t sent = 0;
	curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	bool moved = call->held || sent != call->sent;
	call->sent = sent;
	return moved;
}

/* libcurl's speed check works on averages, and only after the first byte. */
static void on_watch(uv_timer_t *timer)
{
	struct kgb_upstream *up = timer->data;
	int64_t now_ms = kgb_mono_ms();
	/* While the loop was held up, no bytes could arrive: do not count that time as silence. */
	int64_t late_ms = now_ms - up->watched_ms - WATCH_MS;
	up->watched_ms = now_ms;
	for (struct kgb_upstream_call *call = up->calls; call && late_ms > 0; call = call->next)
		call->active_ms += late_ms;
	for (struct kgb_upstream_call *call = up->calls; call;) {
		if (is_active(call))
			call->active_ms = now_ms;
		if (now_ms - call->active_ms < call->spec.idle_timeout_ms) {
			call = call->next;
			continue;
		}
		snprintf(call->error, sizeof(call->error), "nothing came for %lld s",
			 (long long)call->spec.idle_timeout_ms / 1000);
		finish_call(call, CURLE_OPERATION_TIMEDOUT);
		call = up->calls; /* others may have gone too */
	}
	if (!up->calls)
		uv_timer_stop(&up->watch);
}

/* One socket action can write and finish several transfers: look for them after each. */
static void look_at_calls(struct kgb_upstream *up)
{
	int left;
	for (struct kgb_upstream_call *call = up->calls; call && up->n_leaving > 0;
	     call = call->next)
		tell_left(call);
	for (CURLMsg *msg; (msg = curl_multi_info_read(up->multi, &left));) {
		if (msg->msg != CURLMSG_DONE)
			continue;
		/* msg dies with curl_multi_remove_handle: copy first. */
		CURLcode code = msg->data.result;
		struct kgb_upstream_call *call = NULL;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		finish_call(call, code);
	}
}

/* ---- curl asks for sockets and timers ---- */

static void on_timeout(uv_timer_t *timer)
{
	struct kgb_upstream *up = timer->data;
	int running;
	up->in_timeout = true;
	curl_multi_socket_action(up->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	up->in_timeout = false;
	look_at_calls(up);
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *payload)
{
	(void)multi;
	struct kgb_upstream *up = payload;
	if (timeout_ms < 0)
		uv_timer_stop(&up->timer);
	else if (timeout_ms == 0 && up->in_timeout)
		/* Do not run again within the same round of timers: sockets come first. */
		uv_timer_start(&up->timer, on_timeout, 1, 0);
	else
		uv_timer_start(&up->timer, on_timeout, (uint64_t)timeout_ms, 0);
	return 0;
}

static void on_sock_event(uv_poll_t *poll, int status, int events)
{
	struct sock *sock = poll->data;
	struct kgb_upstream *up = sock->up;
	int flags = 0, running;
	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	curl_multi_socket_action(up->multi, sock->fd, flags, &running);
	look_at_calls(up);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *payload, void *sock_payload)
{
	(void)easy;
	struct kgb_upstream *up = payload;
	struct sock *sock = sock_payload;
	if (what == CURL_POLL_REMOVE) {
		if (!sock)
			return 0;
		curl_multi_assign(up->multi, fd, NULL);
		uv_poll_stop(&sock->poll);
		uv_close((uv_handle_t *)&sock->poll, on_sock_closed);
		return 0;
	}
	if (!sock) {
		sock = kgb_xcalloc(1, sizeof(*sock));
		sock->up = up;
		sock->fd = fd;
		sock->poll.data = sock;
		if (uv_poll_init_socket(up->loop, &sock->poll, fd) != 0) {
			kgb_free(sock);
			return -1;
		}
		up->open++;
		curl_multi_assign(up->multi, fd, sock);
	}
	int events = 0;
	if (what != CURL_POLL_OUT)
		events |= UV_READABLE;
	if (what != CURL_POLL_IN)
		events |= UV_WRITABLE;
	uv_poll_start(&sock->poll, events, on_sock_event);
	return 0;
}

/* Sockets must not leak into sandboxes that are started while a call runs. */
static curl_socket_t on_open_socket(void *payload, curlsocktype purpose,
				    struct curl_sockaddr *address)
{
	(void)payload;
	(void)purpose;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* There is a connection, and the request is written to it when this returns. */
static int on_connected(void *payload, char *remote_ip, char *local_ip, int remote_port,
			int local_port)
{
	(void)remote_ip;
	(void)local_ip;
	(void)remote_port;
	(void)local_port;
	struct kgb_upstream_call *call = payload;
	set_leaving(call, true);
	if (call->spec.on_leave)
		call->spec.on_leave(call->spec.payload);
	return CURL_PREREQFUNC_OK;
}

/* ---- curl hands over the answer ---- */

static void tell_head(struct kgb_upstream_call *call, long status)
{
	if (call->head_delivered)
		return;
	tell_left(call);
	call->head_delivered = true;
	call->head.status = (int)status;
	call->spec.on_head(call->spec.payload, &call->head);
}

static void take_header(struct kgb_upstream_head *head, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	if (!colon || head->headers.names.n >= MAX_HEADERS)
		return;
	const char *value = colon + 1;
	const char *end = line + len;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	while (end > value && isspace((unsigned char)end[-1]))
		end--;
	KGB_AUTO(free) char *name = kgb_xstrndup(line, (size_t)(colon - line));
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	KGB_AUTO(free) char *copy = kgb_xstrndup(value, (size_t)(end - value));
	kgb_headers_add(&head->headers, name, copy);
}

static size_t on_curl_header(char *line, size_t size, size_t n, void *payload)
{
	struct kgb_upstream_call *call = payload;
	size_t len = size * n;
	call->active_ms = kgb_mono_ms();
	call->head_bytes += len;
	if (call->head_bytes > MAX_HEAD_BYTES) {
		call->given_up = "the answer's head does not end";
		return 0;
	}
	if (len > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		/* A new head: the previous one was an interim answer (100, 103). */
		head_release(&call->head);
	} else if (len <= 2) {
		long status = 0;
		curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
		if (status >= 200)
			tell_head(call, status);
	} else if (!call->head_delivered) {
		take_header(&call->head, line, len);
	}
	return len;
}

static size_t on_curl_data(char *bytes, size_t size, size_t n, void *payload)
{
	struct kgb_upstream_call *call = payload;
	size_t len = size * n;
	call->active_ms = kgb_mono_ms();
	switch (call->spec.on_data(call->spec.payload, bytes, len)) {
	case KGB_UPSTREAM_TAKEN:
		return len;
	case KGB_UPSTREAM_HOLD:
		call->held = true;
		return CURL_WRITEFUNC_PAUSE;
	case KGB_UPSTREAM_ENOUGH:
		call->given_up = "the answer is longer than the limit";
		return 0;
	}
	KGB_UNREACHABLE();
}

void kgb_upstream_resume(struct kgb_upstream_call *call)
{
	if (!call->held)
		return;
	call->held = false;
	curl_easy_pause(call->easy, CURLPAUSE_CONT);
}

static bool set_options(struct kgb_upstream_call *call)
{
	CURL *easy = call->easy;
	const struct kgb_upstream_spec *spec = &call->spec;
	bool ok = curl_easy_setopt(easy, CURLOPT_URL, spec->url) == CURLE_OK;
	ok = ok && curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
	ok = ok && curl_easy_setopt(easy, CURLOPT_HTTPHEADER, spec->take_headers) == CURLE_OK;
	/* Decode encoded answers, so that the meter can read them: some servers send them
	 * unrequested. */
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, spec->once ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)spec->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	ok = ok && curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected) == CURLE_OK;
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_curl_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_curl_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	if (strcmp(spec->method, "POST") == 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, spec->body);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)spec->body_len);
	}
	return ok;
}

int kgb_upstream_start(struct kgb_upstream_call **out, struct kgb_upstream *up,
		       const struct kgb_upstream_spec *spec, struct kgb_err *err)
{
	struct kgb_upstream_call *call = kgb_xcalloc(1, sizeof(*call));
	call->up = up;
	call->spec = *spec;
	call->active_ms = kgb_mono_ms();
	call->next = up->calls;
	if (up->calls)
		up->calls->prev = call;
	up->calls = call;
	call->easy = curl_easy_init();
	if (!call->easy || !set_options(call) ||
	    curl_multi_add_handle(up->multi, call->easy) != CURLM_OK) {
		call_free(call);
		return kgb_fail(err, KGB_ERR_FAILED, "start a call to '%s'", spec->url);
	}
	if (!uv_is_active((uv_handle_t *)&up->watch)) {
		up->watched_ms = kgb_mono_ms();
		uv_timer_start(&up->watch, on_watch, WATCH_MS, WATCH_MS);
	}
	*out = call;
	return 0;
}

/* ---- the pool ---- */

int kgb_upstream_new(struct kgb_upstream **out, uv_loop_t *loop, struct kgb_err *err)
{
	CURLM *multi = curl_multi_init();
	if (!multi)
		return kgb_fail(err, KGB_ERR_FAILED, "start libcurl");
	struct kgb_upstream *up = kgb_xcalloc(1, sizeof(*up));
	up->loop = loop;
	up->multi = multi;
	uv_timer_init(loop, &up->timer);
	up->timer.data = up;
	uv_timer_init(loop, &up->watch);
	up->watch.data = up;
	up->open = 2;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, up);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, up);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, MAX_IDLE_CONNECTIONS);
	*out = up;
	return 0;
}

void kgb_upstream_close(struct kgb_upstream *up, void (*done)(void *payload), void *payload)
{
	KGB_ASSERT(!up->calls && !up->closing);
	up->closing = true;
	up->done = done;
	up->payload = payload;
	/* Closes idle connections, which takes their sockets off the loop. */
	curl_multi_cleanup(up->multi);
	uv_close((uv_handle_t *)&up->timer, on_timer_closed);
	uv_close((uv_handle_t *)&up->watch, on_timer_closed);
}
