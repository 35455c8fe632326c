/* SPDX-License-Identifier: MIT */
/** \file
 * Commands of kgb-judge and their shared functions. Each takes its own argc and argv and returns
 * the exit status. */
#ifndef KGB_VERIFY_CMD_CLI_H
#define KGB_VERIFY_CMD_CLI_H

#include "base/err.h"
#include "base/formats/decode.h"
#include "verify/process/zygote.h"

int kgb_cmd_verify(int argc, char **argv);
int kgb_cmd_zygotes(int argc, char **argv);
int kgb_cmd_lint(int argc, char **argv);

/** Paths of the installation; all malloc'ed. */
struct kgb_judge_paths {
	char *data_dir; /* kgb_install_data() */
	char *python; /* option, $KGB_PYTHON, or the one that setup made; absolute */
	char *library; /* _kgbrun.abi3.so beside this program */
	char *cuda_trace_library; /* libkgb_trace.so there; NULL: built without CUDA */
	char *cpu_trace_library; /* libkgb_cpu_trace.so there */
};
/** `python` may be NULL. UNAVAILABLE with the remedy when something is missing. */
KGB_MUST_CHECK int kgb_judge_paths_find(struct kgb_judge_paths *places, const char *python,
					struct kgb_err *err);
void kgb_judge_paths_release(struct kgb_judge_paths *places);
/** Resolve a device's name: "cpu", "cuda", "cuda:N", or "auto" (NULL too): the first GPU where
 * there is one and this build can use it, else the CPU. Writes to spec->device and ->trace_library.
 * INVALID, UNAVAILABLE. */
KGB_MUST_CHECK int kgb_judge_paths_device(const struct kgb_judge_paths *places, const char *text,
					  struct kgb_zygote_spec *spec, struct kgb_err *err);

/** End with SIGKILL when the parent process, number `parent`, ends; exits at once when it already
 * has. */
void kgb_die_with_parent(int64_t parent);
/** Parse options by their table: `--data-dir DIR` or `--data-dir=DIR` sets the row data_dir, a BOOL
 * takes no value. Other arguments move to argv[1], argv[2], ...; *n_others of them. INVALID. */
KGB_MUST_CHECK int kgb_options_parse(const struct kgb_field *table, void *out,
				     struct kgb_arena *arena, int argc, char **argv,
				     size_t *n_others, struct kgb_err *err);
/** Print the error and return the exit status for its kind. */
int kgb_exit_of(const struct kgb_err *err);

#endif
