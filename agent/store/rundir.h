/* SPDX-License-Identifier: MIT */
/** \file
 * Run directories: runs/<method>_<dataset>_<UTC time>_<4 hex>/. docs/results.md lists its files.
 * The latest run is the one with the journal that was written last; there is no pointer file that
 * could go stale. */
#ifndef KGB_AGENT_STORE_RUNDIR_H
#define KGB_AGENT_STORE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/** The file that marks the folder of a series (series.h). */
#define KGB_SERIES_NAME "series.json"
/** Initial kernels, from an earlier run: start/<safe_name>.py. */
#define KGB_RUNDIR_START "start"

struct kgb_rundir {
	char *name; /* owned; last component */
	char *path; /* owned; absolute */
	int fd;
	int lock_fd; /* -1: not locked */
};
#define KGB_RUNDIR_INIT                 \
	{                               \
		.fd = -1, .lock_fd = -1 \
	}

/** Make a new run directory with kernels/ and attempts/ in it, and lock it. `runs_dir` is created
 * when absent. The name is unique: a directory that exists already is never taken. On failure none
 * is left. */
KGB_MUST_CHECK int kgb_rundir_create(struct kgb_rundir *out, const char *runs_dir,
				     const char *method, const char *dataset, struct kgb_err *err);

/** The same in the folder of a series, under that name, which must be free. */
KGB_MUST_CHECK int kgb_rundir_create_in(struct kgb_rundir *out, const char *series,
					const char *name, struct kgb_err *err);
/** Make a new folder below `runs_dir`: WHAT_DATASET_TIME_HEX; *path is malloc'ed. */
KGB_MUST_CHECK int kgb_rundir_make_unique(const char *runs_dir, const char *what,
					  const char *dataset, char **path, struct kgb_err *err);

enum kgb_rundir_access {
	KGB_RUNDIR_READ,
	KGB_RUNDIR_LOCK, /* BUSY when another process holds it; the message names the owner */
};
/** Open an existing run; `name` NULL means the latest. NOT_FOUND names the nearest runs. A name
 * with a slash is the path of a run directory, or "SERIES/RUN" below `runs_dir`. */
KGB_MUST_CHECK int kgb_rundir_open(struct kgb_rundir *out, const char *runs_dir, const char *name,
				   enum kgb_rundir_access access, struct kgb_err *err);

/** Whether a process works on the run. It is not disturbed: no lock is taken. */
bool kgb_rundir_is_held(const struct kgb_rundir *dir);

/** Unlocks and closes; the directory stays. */
void kgb_rundir_release(struct kgb_rundir *dir);
void kgb_auto_rundir(struct kgb_rundir *dir);

/** Removes the directory of a run that could not begin, with all that is in it, and releases it.
 * What cannot be removed is a warning. */
void kgb_rundir_discard(struct kgb_rundir *dir);

/** Names of all runs (directories with a journal) below `runs_dir`, latest first; those of a series
 * are "SERIES/RUN". No directory: no names. */
KGB_MUST_CHECK int kgb_rundir_list(const char *runs_dir, struct kgb_strv *out, struct kgb_err *err);

/** "attempts/aten__add/001", relative to the run directory; malloc'ed. Attempts count from 1. */
char *kgb_rundir_attempt_rel(const char *safe_name, int attempt);
/** Creates that directory with traffic/ and verdicts/ in it. Existing files there are removed: the
 * journal, which is written before an agent runs, has no such attempt, so a start that was cut off
 * left them. */
KGB_MUST_CHECK int kgb_rundir_make_attempt(const struct kgb_rundir *dir, const char *safe_name,
					   int attempt, struct kgb_err *err);
/** Replace kernels/<safe_name>.py atomically and durably. */
KGB_MUST_CHECK int kgb_rundir_write_kernel(const struct kgb_rundir *dir, const char *safe_name,
					   const void *data, size_t len, struct kgb_err *err);

#endif
