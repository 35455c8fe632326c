/* SPDX-License-Identifier: MIT */
#include <fcntl.h>

#include "base/formats/json.h"
#include "base/formats/yaml.h"
#include "base/system/fs.h"
#include "verify/spec/spec.h"

/* A folder of datasets/ with operators.yaml: the name of the set, and its operators by source. */
struct set {
	char *folder; /* owned */
	const char *name; /* in doc */
	struct kgb_yaml doc;
};

static void set_release(struct set *set)
{
	kgb_free(set->folder);
	kgb_yaml_release(&set->doc);
}

static int set_read(struct set *set, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(set->folder, "operators.yaml");
	const cJSON *item = NULL;

	if (kgb_yaml_read(AT_FDCWD, path, &set->doc, err) < 0)
		return -1;
	set->name = kgb_json_str(set->doc.root, "name", NULL);
	if (!set->name)
		return kgb_yaml_fail(&set->doc, set->doc.root, err,
				     "add the set's name: `name: ...`");
	cJSON_ArrayForEach(item, set->doc.root) {
		if (!cJSON_IsArray(item) && !kgb_str_eq(item->string, "name"))
			return kgb_yaml_fail(&set->doc, item, err,
					     "a source is a list of operators");
	}
	return 0;
}

static int no_datasets(const char *root, struct kgb_err *err)
{
	return kgb_fail(err, KGB_ERR_NOT_FOUND,
			"no datasets in '%s': set KGB_DATA_DIR to the installed data", root);
}

/* Call `visit` with each set until it returns other than 0, which is returned. */
static int each_set(const char *data_dir,
		    int (*visit)(const struct set *set, void *payload, struct kgb_err *err),
		    void *payload, struct kgb_err *err)
{
	KGB_AUTO(free) char *root = kgb_path_join(data_dir, "datasets");
	KGB_AUTO(strv) struct kgb_strv folders = KGB_STRV_INIT;
	int rc = 0;

	if (!kgb_fs_exists(AT_FDCWD, root))
		return no_datasets(root, err);
	if (kgb_fs_list(root, &folders, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < folders.n; i++) {
		KGB_AUTO(free)
		char *list = kgb_xasprintf("%s/%s/operators.yaml", root, folders.items[i]);
		if (!kgb_fs_exists(AT_FDCWD, list))
			continue;
		struct set set = {.folder = kgb_path_join(root, folders.items[i]),
				  .doc = KGB_YAML_INIT};
		rc = set_read(&set, err);
		if (rc == 0)
			rc = visit(&set, payload, err);
		set_release(&set);
	}
	return rc;
}

/* Whether `dataset` names this source of the set. */
static bool names_source(const struct set *set, const char *dataset, const char *source)
{
	const size_t len = strlen(set->name);

	return kgb_str_starts(dataset, set->name) && dataset[len] == '-' &&
	       kgb_str_eq(dataset + len + 1, source);
}

static int add_names(const struct set *set, void *payload, struct kgb_err *err)
{
	struct kgb_strv *names = payload;
	const cJSON *source = NULL;

	(void)err;
	kgb_strv_add(names, set->name);
	cJSON_ArrayForEach(source, set->doc.root) {
		if (cJSON_IsArray(source))
			kgb_strv_addf(names, "%s-%s", set->name, source->string);
	}
	return 0;
}

int kgb_spec_datasets(const char *data_dir, struct kgb_strv *names, struct kgb_err *err)
{
	return each_set(data_dir, add_names, names, err);
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

struct wanted {
	const char *dataset;
	struct kgb_spec_index *index;
};

/* 1 when the set, or a source of it, is the dataset. */
static int load_set(const struct set *set, void *payload, struct kgb_err *err)
{
	const struct wanted *wanted = payload;
	KGB_AUTO(strv) struct kgb_strv found = KGB_STRV_INIT;
	const bool is_whole = kgb_str_eq(wanted->dataset, set->name);
	bool is_here = is_whole;
	const cJSON *source = NULL, *name = NULL;

	cJSON_ArrayForEach(source, set->doc.root) {
		if (!cJSON_IsArray(source) ||
		    !(is_whole || names_source(set, wanted->dataset, source->string)))
			continue;
		is_here = true;
		if (list_source(set->folder, source->string, &found, err) < 0)
			return -1;
		cJSON_ArrayForEach(name, source) {
			if (cJSON_IsString(name))
				kgb_strv_add(&wanted->index->listed, name->valuestring);
		}
	}
	if (!is_here)
		return 0;
	if (found.n == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "dataset '%s' has no operators in '%s'",
				wanted->dataset, set->folder);
	kgb_strv_sort(&found);
	for (size_t i = 0; i < found.n; i++) {
		const char *newline = strchr(found.items[i], '\n');
		kgb_strv_addf(&wanted->index->names, "%.*s", (int)(newline - found.items[i]),
			      found.items[i]);
		kgb_strv_add(&wanted->index->paths, newline + 1);
	}
	return 1;
}

static int fail_dataset(const char *data_dir, const char *dataset, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);

	if (kgb_spec_datasets(data_dir, &names, err) < 0)
		return -1;
	if (names.n == 0)
		return no_datasets(data_dir, err);
	kgb_suggest(&hint, dataset, (const char *const *)names.items, names.n);
	return kgb_fail(err, KGB_ERR_NOT_FOUND, "unknown dataset '%.80s'%s", dataset, hint.ptr);
}

int kgb_spec_index_load(const char *data_dir, const char *dataset, struct kgb_spec_index *out,
			struct kgb_err *err)
{
	struct wanted wanted = {.dataset = dataset, .index = out};

	*out = (struct kgb_spec_index)KGB_SPEC_INDEX_INIT;
	int rc = each_set(data_dir, load_set, &wanted, err);
	if (rc == 0)
		rc = fail_dataset(data_dir, dataset, err);
	if (rc < 0)
		kgb_spec_index_release(out);
	return rc < 0 ? -1 : 0;
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

	/* For a name without a namespace suggest names without one. */
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
				"operator '%.80s' is ambiguous: name one of %s", typed,
				candidates.ptr);
	*name = index->names.items[last];
	*path = index->paths.items[last];
	return 0;
}

void kgb_spec_index_release(struct kgb_spec_index *index)
{
	kgb_strv_release(&index->names);
	kgb_strv_release(&index->paths);
	kgb_strv_release(&index->listed);
}
