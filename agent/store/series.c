/* SPDX-License-Identifier: MIT */
#include "agent/store/series.h"

#include <fcntl.h>
#include <string.h>

#include "agent/store/journal.h"
#include "agent/store/rundir.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/system/fs.h"

#define SCHEMA "kgb.series/1"

static char *file_in(const char *folder, const char *name)
{
	return kgb_path_join(folder, name);
}

int kgb_series_create(const char *runs_dir, const char *dataset, const struct kgb_strv *runs,
		      char **path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(free) char *folder = NULL;
	struct kgb_jsonw w;
	if (kgb_rundir_make_unique(runs_dir, "series", dataset, &folder, err) < 0)
		return -1;
	kgb_jsonw_init(&w, &text, 2);
	kgb_jsonw_put(&w, "{schema: %s, runs: [", SCHEMA);
	for (size_t i = 0; i < runs->n; i++)
		kgb_jsonw_str(&w, runs->items[i]);
	kgb_jsonw_put(&w, "]}");
	kgb_buf_addc(&text, '\n');
	KGB_AUTO(free) char *file = file_in(folder, KGB_SERIES_NAME);
	if (kgb_fs_write_atomic(AT_FDCWD, file, text.ptr, text.len, 0644, true, err) < 0) {
		struct kgb_err ignored = KGB_ERR_INIT;
		(void)!kgb_fs_remove_tree(AT_FDCWD, folder, &ignored);
		return -1;
	}
	*path = KGB_TAKE(folder);
	return 0;
}

bool kgb_series_is(const char *path)
{
	KGB_AUTO(free) char *file = file_in(path, KGB_SERIES_NAME);
	return kgb_fs_exists(AT_FDCWD, file);
}

/** The folder that the name may mean; malloc'ed; NULL: there is no run yet. */
static char *folder_of(const char *runs_dir, const char *name, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (name && strchr(name, '/') && kgb_series_is(name))
		return kgb_xstrdup(name);
	if (name)
		return kgb_path_join(runs_dir, name);
	if (kgb_rundir_list(runs_dir, &names, err) < 0 || names.n == 0)
		return NULL;
	KGB_AUTO(free) char *latest = kgb_xstrdup(names.items[0]);
	char *slash = strchr(latest, '/');
	if (slash)
		*slash = '\0';
	return kgb_path_join(runs_dir, latest);
}

static int read_runs(const char *folder, struct kgb_strv *runs, struct kgb_err *err)
{
	KGB_AUTO(free) char *file = file_in(folder, KGB_SERIES_NAME);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);
	KGB_AUTO(json) cJSON *document = NULL;
	const cJSON *run = NULL;
	if (kgb_fs_read(AT_FDCWD, file, KGB_LIMIT_YAML, &text, err) < 0)
		return -1;
	if (kgb_json_parse(text.ptr, text.len, &document, err) < 0)
		return kgb_ctx(err, "%s", file);
	cJSON_ArrayForEach(run, kgb_json_get(document, "runs")) {
		if (!cJSON_IsString(run) || strchr(run->valuestring, '/') ||
		    *run->valuestring == '.')
			return kgb_fail(err, KGB_ERR_INVALID, "%s: runs: not the name of a run",
					file);
		KGB_AUTO(free) char *path = kgb_path_join(folder, run->valuestring);
		KGB_AUTO(free) char *journal = file_in(path, KGB_JOURNAL_NAME);
		if (!kgb_fs_exists(AT_FDCWD, journal))
			return kgb_fail(
				err, KGB_ERR_NOT_FOUND,
				"series '%s' was cut off before its run '%s' was made: start it anew, or resume a run that it has by its path",
				folder, run->valuestring);
		kgb_strv_add(runs, path);
	}
	if (runs->n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "%s: it names no runs", file);
	return 0;
}

int kgb_series_find(const char *runs_dir, const char *name, char **path, struct kgb_strv *runs,
		    struct kgb_err *err)
{
	KGB_AUTO(free) char *folder = folder_of(runs_dir, name, err);
	*path = NULL;
	if (!folder || !kgb_series_is(folder))
		return 0;
	if (read_runs(folder, runs, err) < 0)
		return -1;
	*path = kgb_path_real(folder, err);
	return *path ? 0 : -1;
}

char *kgb_series_run_name(const char *run_path)
{
	KGB_AUTO(free) char *parent = kgb_xstrdup(run_path);
	char *slash = strrchr(parent, '/');
	const char *name = slash ? run_path + (slash - parent) + 1 : run_path;
	if (slash)
		*slash = '\0';
	const char *above = slash ? strrchr(parent, '/') : NULL;
	return above && kgb_series_is(parent) ? kgb_xasprintf("%s/%s", above + 1, name)
					      : kgb_xstrdup(name);
}
