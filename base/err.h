/* SPDX-License-Identifier: MIT */
/** \file
 * Errors are values: a 512-byte struct that a caller owns, copies and keeps. No allocation, no
 * destructor, no thread-local state. Success leaves the struct alone; failure leaves every out
 * parameter alone.
 */
#ifndef KGB_BASE_ERR_H
#define KGB_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

#define KGB_MUST_CHECK __attribute__((warn_unused_result))
#define KGB_NORETURN __attribute__((noreturn))
#define KGB_UNUSED __attribute__((unused))
/** A local buffer that is written before it is read: the compiler does not clear it at each call.
 */
#define KGB_UNCLEARED __attribute__((uninitialized))
#define KGB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

enum kgb_err_domain {
	KGB_ERR_DOMAIN_KGB,
	KGB_ERR_DOMAIN_ERRNO,
	KGB_ERR_DOMAIN_UV,
	KGB_ERR_DOMAIN_GIT,
	KGB_ERR_DOMAIN_CURL,
	KGB_ERR_DOMAIN_YAML,
	KGB_ERR_DOMAIN_JSON,
};

/** The kind decides the caller's reaction. */
enum kgb_err_kind {
	KGB_ERR_FAILED, /* no more precise kind fits */
	KGB_ERR_INVALID, /* wrong input: show the user */
	KGB_ERR_NOT_FOUND, /* the named thing does not exist */
	KGB_ERR_UNAVAILABLE, /* the environment lacks something: show the user what to install */
	KGB_ERR_TIMEOUT,
	KGB_ERR_CANCELLED,
	KGB_ERR_LIMIT, /* a cap was reached */
	KGB_ERR_DENIED,
	KGB_ERR_BUSY, /* another process holds it */
};

struct kgb_err {
	enum kgb_err_domain domain;
	enum kgb_err_kind kind;
	int code; /* the domain's own number: errno, CURLcode, ... */
	uint32_t depth;
	struct {
		const char *file;
		int line;
	} trace[6]; /* innermost first */
	char msg[400]; /* one line, "what object: what is wrong: remedy", no full stop */
};

#define KGB_ERR_INIT \
	{            \
		0    \
	}

/* Each returns -1, so that a failing function ends with `return kgb_fail(...)`. A NULL `err` drops
 * the error. */
int kgb__fail_errno(struct kgb_err *err, int code, const char *file, int line, const char *fmt, ...)
	KGB_PRINTF(5, 6);
int kgb__fail_code(struct kgb_err *err, enum kgb_err_domain domain, enum kgb_err_kind kind,
		   int code, const char *file, int line, const char *fmt, ...) KGB_PRINTF(7, 8);
int kgb__ctx(struct kgb_err *err, const char *file, int line, const char *fmt, ...)
	KGB_PRINTF(4, 5);

/** Fill *err from a format; returns -1. */
#define kgb_fail(err, kind, ...) kgb_fail_code(err, KGB_ERR_DOMAIN_KGB, kind, 0, __VA_ARGS__)
/** Same from an errno value; appends ": <strerror>". ENOENT becomes NOT_FOUND, EACCES/EPERM DENIED,
 * ENOSPC/EDQUOT LIMIT. */
#define kgb_fail_errno(err, code, ...) \
	kgb__fail_errno((err), (code), __FILE__, __LINE__, __VA_ARGS__)
/** Same for a library's own error number (libuv, curl, git, ...). */
#define kgb_fail_code(err, domain, kind, code, ...) \
	kgb__fail_code((err), (domain), (kind), (code), __FILE__, __LINE__, __VA_ARGS__)
/** Put "<context>: " before the message (the object that the lower level could not know); returns
 * -1. */
#define kgb_ctx(err, ...) kgb__ctx((err), __FILE__, __LINE__, __VA_ARGS__)

/** "invalid", "not_found", ... */
const char *kgb_err_kind_name(enum kgb_err_kind kind);

/** Exit statuses of every program of this project (README.md, "Exit status"). */
enum kgb_exit {
	KGB_EXIT_OK = 0,
	KGB_EXIT_FAILURES = 1,
	KGB_EXIT_USAGE = 2,
	KGB_EXIT_CONFIG = 3,
	KGB_EXIT_ENVIRONMENT = 4,
	KGB_EXIT_BUDGET = 5,
	KGB_EXIT_INTERNAL = 70,
	KGB_EXIT_LOCKED = 75,
};

/** The exit status of a program that `err` ends: BUSY 75, UNAVAILABLE, LIMIT, DENIED and TIMEOUT 4,
 * CANCELLED 130, INVALID and NOT_FOUND `invalid`, else 70. */
int kgb_err_exit(const struct kgb_err *err, int invalid);

/** Whether descriptors, processes or memory were short: the end of other programs may release
 * some. */
bool kgb_err_is_shortage(const struct kgb_err *err);

/** Broken invariant: prints file, line and the condition, then aborts. Stays in release builds.
 * Never for input. */
KGB_NORETURN void kgb__assert_failed(const char *cond, const char *file, int line);
#define KGB_ASSERT(cond) ((cond) ? (void)0 : kgb__assert_failed(#cond, __FILE__, __LINE__))
#define KGB_UNREACHABLE() kgb__assert_failed("unreachable", __FILE__, __LINE__)

#endif
