/* SPDX-License-Identifier: MIT */
#include <fcntl.h>

#include "base/system/fs.h"
#include "verify/spec/spec.h"

#define SET "KernelGenBench"
#define SET_DIR "kernelgenbench"

static const char *const datasets[] = {SET, SET "-aten", SET "-vllm", SET "-cublas"};
static const char *const sources[] = {"aten", "vllm", "cublas"};

const char *kgb_spec_dataset_name(size_t i)
{
	return i < KGB_ARRAY_LEN(datasets) ? datasets[i] : NULL;
}

bool kgb_spec_dataset_has(const char *dataset, const char *source)
{
	const char *dash = strchr(dataset, '-');

	return !dash || kgb_str_eq(dash + 1, source);
}

static int check_dataset(const char *name, struct kgb_err *err)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(datasets); i++)
		if (kgb_str_eq(name, datasets[i]))
			return 0;
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);
	kgb_suggest(&hint, name, datasets, KGB_ARRAY_LEN(datasets));
	return kgb_fail(err, KGB_ERR_NOT_FOUND, "unknown dataset '%.80s'%s", name, hint.ptr);
}

/* "aten__add.yaml" -> "aten::add"; NULL for files that are no specs. */
static char *name_of_file(const char *file)
{
	const char *sep = strstr(file, "__");
	if (!sep || sep == file || file[0] == '.' || !kgb_str_ends(file, ".yaml"))
		return NULL;
	int stem = (int)(strlen(file) - strlen(".yaml") - (size_t)(sep + 2 - file));
	if (stem <= 0)
		return NULL;
	return kgb_xasprintf("%.*s::%.*s", (int)(sep - file), file, stem, sep + 2);
}

/* "name\npath" lines into *found, so that sorting the lines sorts both. A source without a folder
 * has no operators. */
static int list_source(const char *set_dir, const char *source, struct kgb_strv *found,
		       struct kgb_err *err)
{
	KGB_AUTO(free) char *dir_path = kgb_path_join(set_dir, source);
	KGB_AUTO(strv) struct kgb_strv files = KGB_STRV_INIT;
	if (!kgb_fs_exists(AT_FDCWD, dir_path))
		return 0;
	if (kgb_fs_list(dir_path, &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.n; i++) {
		KGB_AUTO(free) char *name = name_of_file(files.items[i]);
		if (name)
			kgb_strv_addf(found, "%s\n%s/%s", name, dir_path, files.items[i]);
	}
	return 0;
}

int kgb_spec_index_load(const char *data_dir, const char *dataset, struct kgb_spec_index *out,
			struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv found = KGB_STRV_INIT;

	if (check_dataset(dataset, err) < 0)
		return -1;
	KGB_AUTO(free) char *set_dir = kgb_xasprintf("%s/datasets/" SET_DIR, data_dir);
	if (!kgb_fs_exists(AT_FDCWD, set_dir))
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"no datasets in '%s': set KGB_DATA_DIR to the installed data",
				set_dir);
	for (size_t i = 0; i < KGB_ARRAY_LEN(sources); i++)
		if (kgb_spec_dataset_has(dataset, sources[i]) &&
		    list_source(set_dir, sources[i], &found, err) < 0)
			return -1;
	if (found.n == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "dataset '%s' has no operators in '%s'",
				dataset, set_dir);
	kgb_strv_sort(&found);
	*out = (struct kgb_spec_index){.names = KGB_STRV_INIT, .paths = KGB_STRV_INIT};
	for (size_t i = 0; i < found.n; i++) {
		const char *newline = strchr(found.items[i], '\n');
		kgb_strv_addf(&out->names, "%.*s", (int)(newline - found.items[i]), found.items[i]);
		kgb_strv_add(&out->paths, newline + 1);
	}
	return 0;
}

/* aten::add answers to "aten::add", "aten__add" and "add". */
static bool answers_to(const char *name, const char *typed)
{
	KGB_AUTO(free) char *safe = kgb_safe_name(name);
	const char *colons = strstr(name, "::");
	return kgb_str_eq(name, typed) || kgb_str_eq(safe, typed) ||
	       (colons && kgb_str_eq(colons + 2, typed));
}

static int fail_unknown(const struct kgb_spec_index *index, const char *typed, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);

	/* A bare name is answered with bare names. */
	for (size_t i = 0; i < index->names.n; i++) {
		const char *name = index->names.items[i];
		const char *colons = strstr(name, "::");
		kgb_strv_add(&names, strstr(typed, "::") || strstr(typed, "__") || !colons
					     ? name
					     : colons + 2);
	}
	kgb_suggest(&hint, typed, (const char *const *)names.items, names.n);
	return kgb_fail(err, KGB_ERR_INVALID, "unknown operator '%.80s'%s", typed, hint.ptr);
}

int kgb_spec_index_find(const struct kgb_spec_index *index, const char *typed, const char **name,
			const char **path, struct kgb_err *err)
{
	size_t n = 0, last = 0;
	KGB_AUTO(buf) struct kgb_buf candidates = KGB_BUF_INIT(256);

	for (size_t i = 0; i < index->names.n; i++) {
		if (!answers_to(index->names.items[i], typed))
			continue;
		kgb_buf_addf(&candidates, "%s%s", n > 0 ? ", " : "", index->names.items[i]);
		last = i;
		n++;
	}
	if (n == 0)
		return fail_unknown(index, typed, err);
	if (n > 1)
		return kgb_fail(err, KGB_ERR_INVALID,
				"operator '%.80s' is ambiguous: say which of %s", typed,
				candidates.ptr);
	*name = index->names.items[last];
	*path = index->paths.items[last];
	return 0;
}

void kgb_spec_index_release(struct kgb_spec_index *index)
{
	kgb_strv_release(&index->names);
	kgb_strv_release(&index->paths);
}
