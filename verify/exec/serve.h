/* SPDX-License-Identifier: MIT */
/** \file
 * The loop of a program that replays plans: one request, one reply, until the judge hangs up.
 * Functions of these programs return 0, or -1 with *err filled; err->code is then an enum
 * kgb_exec_status. One thread.
 */
#ifndef KGB_VERIFY_EXEC_SERVE_H
#define KGB_VERIFY_EXEC_SERVE_H

#include "base/err.h"
#include "verify/protocol/exec_protocol.h"

/** Fill *err, with a status as its code; returns -1. */
#define kgb_exec_fail(err, status, ...) \
	kgb_fail_code((err), KGB_ERR_DOMAIN_KGB, KGB_ERR_FAILED, (int)(status), __VA_ARGS__)
/** Add a status to an error of another room; returns -1. */
int kgb_exec_refuse(struct kgb_err *err, enum kgb_exec_status status);

/** Carries out a checked request. OPEN comes first; once more, it begins anew. `fds` has as many
 * descriptors as the request has; the caller closes them. May fill the fields of *reply that are
 * not in every reply. After success the message of *err, if any, is the text of the reply. */
typedef int (*kgb_exec_carry_out_fn)(void *payload, const struct kgb_exec_request *request,
				     const int *fds, struct kgb_exec_reply *reply,
				     struct kgb_err *err);

/** Serve on the judge's socket, descriptor KGB_EXEC_FD. Returns the exit status of the program,
 * whose name starts messages. */
int kgb_exec_serve(const char *program, kgb_exec_carry_out_fn carry_out, void *payload);

#endif
