/* SPDX-License-Identifier: MIT */
/** \file
 * The folder of a series: runs that one command makes together, one for each method and repetition,
 * with series.json, which names them. The journal of each run stays the truth about it. Below the
 * folder of runs such a run has the name "SERIES/RUN".
 */
#ifndef KGB_AGENT_STORE_SERIES_H
#define KGB_AGENT_STORE_SERIES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/** Make the folder of a new series with its series.json; `runs` are the names of its runs, whose
 * folders are not made. *path is malloc'ed. On failure nothing is left. */
KGB_MUST_CHECK int kgb_series_create(const char *runs_dir, const char *dataset,
				     const struct kgb_strv *runs, char **path, struct kgb_err *err);
/** Whether that folder is the folder of a series. */
bool kgb_series_is(const char *path);
/** The series that `name` names: a series below `runs_dir`, or the path of one; NULL: that of the
 * latest run. *path is malloc'ed, or NULL when it is no series; `runs` receives the paths of its
 * runs in the order of series.json. INVALID when that file is broken, NOT_FOUND when a run that it
 * names was never made. */
KGB_MUST_CHECK int kgb_series_find(const char *runs_dir, const char *name, char **path,
				   struct kgb_strv *runs, struct kgb_err *err);
/** The name by which the run at that path is found: "RUN", or "SERIES/RUN"; malloc'ed. */
char *kgb_series_run_name(const char *run_path);

#endif
