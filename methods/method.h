/* SPDX-License-Identifier: MIT */
/** \file
 * Methods: how a kernel is produced. A method is data (methods/NAME/method.yaml and its templates);
 * this module reads it and renders its command line and environment for one attempt.
 */
#ifndef KGB_METHODS_METHOD_H
#define KGB_METHODS_METHOD_H

#include <stddef.h>

#include "base/decode.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/** Which session of the offline model suits the method. */
enum kgb_method_session { KGB_METHOD_SESSION_VERIFY, KGB_METHOD_SESSION_ONESHOT };

/** Where the candidate is taken from when no version has passed a check. */
enum kgb_method_result {
	KGB_METHOD_RESULT_WORKSPACE, /* kernel.py, else the last fenced block of the final message
				      */
	KGB_METHOD_RESULT_REPLY, /* the last fenced block of the final message, else kernel.py */
};

struct kgb_method {
	struct kgb_arena arena;
	const char *name;
	const char *summary;
	const char *cli; /* which coding CLI runs: "claude" */
	const char *adapter; /* reader of its event stream (events.h) */
	const char *model; /* default model */
	bool verify_tool; /* kgb-verify is in the sandbox and answers */
	bool verify_timing; /* and on a GPU it times a kernel that passes */
	int session; /* enum kgb_method_session */
	int result; /* enum kgb_method_result */
	const char *instructions; /* file name below the method's folder; appended to the task */
	struct kgb_strs argv; /* after the program; {{placeholders}} of kgb_method_vars */
	struct kgb_map env; /* same */
	const char *dir; /* absolute */
};

/** What the placeholders of argv and env stand for. */
struct kgb_method_vars {
	const char *model; /* {{model}} */
	const char *session_id; /* {{session_id}}: a UUID */
	const char *gateway_url; /* {{gateway_url}}: as seen from inside the sandbox */
	const char *token; /* {{token}}: the attempt's capability */
};

/** Names of the methods below <data_dir>/methods, sorted. */
KGB_MUST_CHECK int kgb_method_names(const char *data_dir, struct kgb_strv *out,
				    struct kgb_err *err);
/** Load one. NOT_FOUND names the nearest methods. */
KGB_MUST_CHECK int kgb_method_load(const char *data_dir, const char *name, struct kgb_method *out,
				   struct kgb_err *err);
void kgb_method_release(struct kgb_method *method);

/** Append the CLI's arguments (without the program) to argv and its environment as "NAME=value" to
 * env. */
KGB_MUST_CHECK int kgb_method_render(const struct kgb_method *method,
				     const struct kgb_method_vars *vars, struct kgb_strv *argv,
				     struct kgb_strv *env, struct kgb_err *err);
/** A random version 4 UUID. */
void kgb_uuid4(char out[37]);

#endif
