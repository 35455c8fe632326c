/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct kgb_err) == 512, "errors are copied and stored: keep them small");

static void push_trace(struct kgb_err *err, const char *file, int line)
{
	if (err->depth < sizeof(err->trace) / sizeof(err->trace[0])) {
		err->trace[err->depth].file = file;
		err->trace[err->depth].line = line;
		err->depth++;
	}
}

/* Replace the end of a message that did not fit with "...", never cutting inside a UTF-8 sequence.
 */
static void mark_truncated(char *msg, size_t cap)
{
	size_t end = cap - 4;

	while (end > 0 && ((unsigned char)msg[end] & 0xc0) == 0x80)
		end--;
	memcpy(msg + end, "...", 4);
}

/* Formats aside first: an argument may be the message that is being replaced. */
KGB_PRINTF(2, 0)
static void set_message(struct kgb_err *err, const char *fmt, va_list ap, const char *tail)
{
	char msg[sizeof(err->msg)];
	int n = vsnprintf(msg, sizeof(msg), fmt, ap);

	if (n < 0) {
		msg[0] = '\0';
		n = 0;
	}
	if (tail && (size_t)n < sizeof(msg))
		n += snprintf(msg + n, sizeof(msg) - (size_t)n, ": %s", tail);
	if ((size_t)n >= sizeof(msg))
		mark_truncated(msg, sizeof(msg));
	memcpy(err->msg, msg, sizeof(msg));
}

static void start(struct kgb_err *err, enum kgb_err_domain domain, enum kgb_err_kind kind, int code,
		  const char *file, int line)
{
	err->domain = domain;
	err->kind = kind;
	err->code = code;
	err->depth = 0;
	push_trace(err, file, line);
}

static enum kgb_err_kind kind_of_errno(int code)
{
	switch (code) {
	case ENOENT:
		return KGB_ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return KGB_ERR_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return KGB_ERR_LIMIT;
	case ETIMEDOUT:
		return KGB_ERR_TIMEOUT;
	case ENOSYS:
		return KGB_ERR_UNAVAILABLE;
	default:
		return KGB_ERR_FAILED;
	}
}

int kgb__fail_errno(struct kgb_err *err, int code, const char *file, int line, const char *fmt, ...)
{
	const char *text = strerrordesc_np(code);
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	set_message(err, fmt, ap, text ? text : "unknown system error");
	va_end(ap);
	start(err, KGB_ERR_DOMAIN_ERRNO, kind_of_errno(code), code, file, line);
	return -1;
}

int kgb__fail_code(struct kgb_err *err, enum kgb_err_domain domain, enum kgb_err_kind kind,
		   int code, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	set_message(err, fmt, ap, NULL);
	va_end(ap);
	start(err, domain, kind, code, file, line);
	return -1;
}

int kgb__ctx(struct kgb_err *err, const char *file, int line, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	va_list ap;

	if (!err)
		return -1;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	set_message(err, fmt, ap, old);
	va_end(ap);
	push_trace(err, file, line);
	return -1;
}

const char *kgb_err_kind_name(enum kgb_err_kind kind)
{
	static const char *const names[] = {
		[KGB_ERR_FAILED] = "failed",       [KGB_ERR_INVALID] = "invalid",
		[KGB_ERR_NOT_FOUND] = "not_found", [KGB_ERR_UNAVAILABLE] = "unavailable",
		[KGB_ERR_TIMEOUT] = "timeout",     [KGB_ERR_CANCELLED] = "cancelled",
		[KGB_ERR_LIMIT] = "limit",         [KGB_ERR_DENIED] = "denied",
		[KGB_ERR_BUSY] = "busy",
	};

	return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

void kgb__assert_failed(const char *cond, const char *file, int line)
{
	fprintf(stderr, "%s:%d: internal error: %s\n", file, line, cond);
	fflush(stderr);
	abort();
}

bool kgb_err_is_shortage(const struct kgb_err *err)
{
	static const int codes[] = {EMFILE, ENFILE, EAGAIN, ENOMEM};

	if (err->domain != KGB_ERR_DOMAIN_ERRNO && err->domain != KGB_ERR_DOMAIN_UV)
		return false;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (err->code == codes[i] || err->code == -codes[i])
			return true;
	return false;
}

int kgb_err_exit(const struct kgb_err *err, int invalid)
{
	switch (err->kind) {
	case KGB_ERR_INVALID:
	case KGB_ERR_NOT_FOUND:
		return invalid;
	case KGB_ERR_UNAVAILABLE:
	case KGB_ERR_LIMIT:
	case KGB_ERR_DENIED:
	case KGB_ERR_TIMEOUT:
		return KGB_EXIT_ENVIRONMENT;
	case KGB_ERR_BUSY:
		return KGB_EXIT_LOCKED;
	case KGB_ERR_CANCELLED:
		return 130;
	case KGB_ERR_FAILED:
		return KGB_EXIT_INTERNAL;
	}
	KGB_UNREACHABLE();
}
