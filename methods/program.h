/* SPDX-License-Identifier: MIT */
/** \file
 * The programs that methods run: a coding CLI as data (methods/data/program/NAME.yaml), shared by
 * all methods that drive it. The data name the path of its binary, its version option, the tested
 * versions, its protocol and the adapter of its stream. */
#ifndef KGB_METHODS_PROGRAM_H
#define KGB_METHODS_PROGRAM_H

#include "base/err.h"
#include "base/formats/decode.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/meter/protocol.h"

/** Whether it counts tokens itself. */
enum kgb_program_usage {
	KGB_PROGRAM_USAGE_REPORTED, /* in its stream: compared with the gateway's counts */
	KGB_PROGRAM_USAGE_NONE, /* only the gateway counts */
};

struct kgb_program {
	const char *name;
	const char *title; /* "Claude Code" */
	const char *install; /* command to install it */
	struct kgb_field_map binaries; /* by machine (uname -m), below .deps/cli/NAME; empty: the
					  user brings it */
	struct kgb_strs version_argv; /* none: it has no version */
	const char *tested_from, *tested_to; /* versions */
	bool builtin; /* no program: kgb-agent itself asks the model for independent samples */
	int protocol; /* enum kgb_protocol, or KGB_N_PROTOCOLS: any */
	const char *adapter; /* reader of its stream (events.h) */
	int usage; /* enum kgb_program_usage */
	int64_t least_tokens; /* that the gateway reserves for one of its requests; 0: not known */
	struct kgb_strs argv; /* unless the method has some; {{placeholders}} of kgb_method_vars */
	struct kgb_field_map env; /* same; beside the method's additions */
};

/** Load one; everything lives in `arena`. NOT_FOUND names the file. */
KGB_MUST_CHECK int kgb_program_load(const char *data_dir, const char *name, struct kgb_arena *arena,
				    struct kgb_program *out, struct kgb_err *err);
/** The path of its binary after bootstrap, relative to the source root; NULL when the user brings
 * it or there is none for this machine. malloc'ed. */
char *kgb_program_installed(const struct kgb_program *program);
/** Protocols that a session of it may speak, as KGB_PROTOCOL_BITs. */
unsigned kgb_program_protocols(const struct kgb_program *program);

#define KGB_VERSION_LEN 32
/** The first word of `text` that looks like a version ("codex-cli 0.169.0" -> "0.169.0"); "" if
 * there is none. */
void kgb_version_find(const char *text, char out[KGB_VERSION_LEN]);
/** <0, 0, >0: numbers between dots are compared as numbers, missing ones as 0. */
int kgb_version_compare(const char *a, const char *b);
/** The version was tested, or the program has none. */
bool kgb_program_tested(const struct kgb_program *program, const char *version);

#endif
