/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/answers/runs.h"
#include "agent/report/results.h"
#include "agent/store/journal.h"
#include "agent/store/rundir.h"
#include "agent/store/series.h"
#include "base/system/fs.h"

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_run(const char *path)
{
	static const char *const files[] = {KGB_RESULTS_NAME, KGB_JOURNAL_NAME};
	for (size_t i = 0; i < KGB_ARRAY_LEN(files); i++) {
		KGB_AUTO(free) char *file = kgb_path_join(path, files[i]);
		if (kgb_fs_exists(AT_FDCWD, file))
			return true;
	}
	return false;
}

static int add(const char *path, struct kgb_strv *paths, struct kgb_err *err)
{
	KGB_AUTO(free) char *real = kgb_path_real(path, err);
	if (!real)
		return -1;
	if (!kgb_strv_has(paths, real))
		kgb_strv_add(paths, real);
	return 0;
}

/** A run, or the runs in a folder. */
static int add_folder(const char *path, struct kgb_strv *paths, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	size_t n_found = 0;
	if (is_run(path))
		return add(path, paths, err);
	if (kgb_fs_list(path, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		KGB_AUTO(free) char *inner = kgb_path_join(path, names.items[i]);
		if (!is_run(inner))
			continue;
		if (add(inner, paths, err) < 0)
			return -1;
		n_found++;
	}
	if (n_found > 0)
		return 0;
	return kgb_fail(err, KGB_ERR_NOT_FOUND,
			"'%s' is neither a run nor a folder of runs: it has no %s", path,
			KGB_RESULTS_NAME);
}

/** \param otherwise another pattern when the first fits no run; NULL: none. */
static int add_matches(const char *pattern, const char *otherwise, struct kgb_strv *paths,
		       struct kgb_err *err)
{
	glob_t found;
	size_t n_runs = 0;
	int rc = 0;
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++) {
			if (!is_run(found.gl_pathv[i]) && !kgb_series_is(found.gl_pathv[i]))
				continue;
			n_runs++;
			rc = add_folder(found.gl_pathv[i], paths, err);
		}
		globfree(&found);
	}
	if (rc == 0 && n_runs == 0 && otherwise)
		return add_matches(otherwise, NULL, paths, err); /* NOLINT(misc-no-recursion) */
	if (rc == 0 && n_runs == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "no run matches '%s'", pattern);
	return rc;
}

/** A word without a slash names a run or a series below `runs_dir`, or else a folder here. Without
 * a word the latest run is meant, with the series that it belongs to. */
static int add_word(const char *runs_dir, const char *word, struct kgb_strv *paths,
		    struct kgb_err *err)
{
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	KGB_AUTO(free) char *below = word ? kgb_path_join(runs_dir, word) : NULL;
	const bool has_slash = word && strchr(word, '/');
	KGB_AUTO(free) char *series = NULL;
	KGB_AUTO(strv) struct kgb_strv runs = KGB_STRV_INIT;
	if (word && strpbrk(word, "*?["))
		return add_matches(has_slash ? word : below, has_slash ? below : NULL, paths, err);
	if (below && !has_slash && (is_run(below) || kgb_series_is(below)))
		return add_folder(below, paths, err);
	if (word && is_folder(word))
		return add_folder(word, paths, err);
	if (kgb_series_find(runs_dir, word, &series, &runs, err) < 0)
		return -1;
	if (series)
		return add_folder(series, paths, err);
	if (kgb_rundir_open(&dir, runs_dir, word, KGB_RUNDIR_READ, err) < 0)
		return -1;
	return add(dir.path, paths, err);
}

int kgb_runs_find(const char *runs_dir, const struct kgb_strv *words, struct kgb_strv *paths,
		  struct kgb_err *err)
{
	for (size_t i = 0; i < words->n; i++)
		if (add_word(runs_dir, words->items[i], paths, err) < 0)
			return -1;
	return words->n > 0 ? 0 : add_word(runs_dir, NULL, paths, err);
}
