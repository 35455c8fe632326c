/* SPDX-License-Identifier: MIT */
/** \file
 * Methods that produce kernels. A method is data (methods/NAME/method.yaml, its templates, and the
 * program that it runs); this module reads it and renders its command line, environment and
 * configuration files for one attempt. */
#ifndef KGB_METHODS_METHOD_H
#define KGB_METHODS_METHOD_H

#include <stddef.h>

#include "base/err.h"
#include "base/formats/decode.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/program.h"

/** The session of the offline model for the method. */
enum kgb_method_session { KGB_METHOD_SESSION_VERIFY, KGB_METHOD_SESSION_ONESHOT };

/** The way in which the program gets its task. */
enum kgb_method_prompt {
	KGB_METHOD_PROMPT_STDIN,
	KGB_METHOD_PROMPT_FILE, /* TASK.md in its working directory, which is there in any case;
				   stdin is empty */
};

/** The source of the candidate when no version has passed a check. */
enum kgb_method_result {
	KGB_METHOD_RESULT_WORKSPACE, /* kernel.py, else the last fenced block of the final message
				      */
	KGB_METHOD_RESULT_REPLY, /* the last fenced block of the final message, else kernel.py */
};

#define KGB_METHOD_ITERATIONS_MAX 1000

/** The initial kernel of a method that works in rounds, unless the user names the kernels of an
 * earlier run. */
enum kgb_method_start {
	KGB_METHOD_START_EMPTY, /* no kernel.py */
	KGB_METHOD_START_STUB, /* one whose functions only raise NotImplementedError */
	KGB_METHOD_START_FROM_RUN, /* nothing: an earlier run must be named */
};

/** Rounds: the program is started several times in one attempt, each time anew, on the best kernel
 * so far. After each round the harness submits the kernel to the judge, and keeps it or restores
 * the best one. */
struct kgb_method_loop {
	int64_t iterations; /* rounds at most; 0: the method has no loop */
	int64_t patience; /* rounds without a better kernel after which it ends; 0: no limit */
	double target_speedup; /* of the best kernel at which it ends; 0: none */
	int start; /* enum kgb_method_start */
	const char *prompt; /* file name below the method's folder; appended to the task in each
			       round */
	struct kgb_field_map hints; /* the same by platform; {{hints}} of that prompt */
	bool memory; /* {{memory}}: results of rounds on other operators of the run */
};

struct kgb_method {
	struct kgb_arena arena;
	const char *name;
	const char *summary;
	const char *cli; /* name of the program: "claude" */
	struct kgb_program program; /* that one */
	const char *model; /* default model */
	/* Of a bare model: file names; NULL: none. See chat_prompt.h. */
	const char *system_text, *examples, *reflection;
	bool verify_tool; /* kgb-verify is in the sandbox and answers */
	bool verify_timing; /* and on a GPU it times a kernel that passes */
	int session; /* enum kgb_method_session */
	int result; /* enum kgb_method_result */
	int prompt; /* enum kgb_method_prompt */
	const char *instructions; /* file name below the method's folder; appended to the task */
	struct kgb_strs argv; /* after the program; {{placeholders}} of kgb_method_vars; none: the
				 program's */
	struct kgb_field_map env; /* same */
	struct kgb_field_map files; /* same; by path below the program's home */
	struct kgb_method_limits {
		int64_t model_requests; /* of one attempt; 0: no limit */
	} limits;
	struct kgb_method_loop loop;
	const char *dir; /* absolute */
};

/** The values of the placeholders in argv and env. */
struct kgb_method_vars {
	const char *model; /* {{model}} */
	const char *session_id; /* {{session_id}}: a UUID */
	const char *gateway_url; /* {{gateway_url}}: the address inside the sandbox */
	const char *token; /* {{token}}: the attempt's capability */
};

/** Names of the methods below <data_dir>/methods, sorted. */
KGB_MUST_CHECK int kgb_method_names(const char *data_dir, struct kgb_strv *out,
				    struct kgb_err *err);
/** Load one. NOT_FOUND names the nearest methods. */
KGB_MUST_CHECK int kgb_method_load(const char *data_dir, const char *name, struct kgb_method *out,
				   struct kgb_err *err);
void kgb_method_release(struct kgb_method *method);
/** Whether kernels are judged during an attempt: at the agent's request, or after each round. */
bool kgb_method_needs_judge(const struct kgb_method *method);

/** The method's parts for one attempt, with the placeholders filled in. */
struct kgb_method_command {
	struct kgb_strv argv; /* after the program */
	struct kgb_strv env; /* "NAME=value" */
	struct kgb_strv paths, texts; /* files below the program's home, pairwise */
};
/** INVALID on an unknown placeholder, and on a model's name with unusual characters: the name goes
 * into command lines and configuration files. */
KGB_MUST_CHECK int kgb_method_render(const struct kgb_method *method,
				     const struct kgb_method_vars *vars,
				     struct kgb_method_command *out, struct kgb_err *err);
void kgb_method_command_release(struct kgb_method_command *command);
/** A random version 4 UUID. */
void kgb_uuid4(char out[37]);

#endif
