/* SPDX-License-Identifier: MIT */
/** \file
 * Checks that the specs are those of the operators in datasets/kernelgenbench/operators.yaml.
 */
#include <fcntl.h>

#include "base/formats/json.h"
#include "base/formats/yaml.h"
#include "base/system/fs.h"
#include "verify/lint/lint.h"

#define SET "datasets/kernelgenbench"

static void list_wanted(const struct kgb_yaml *doc, const char *dataset, struct kgb_strv *wanted)
{
	const cJSON *source = NULL, *name = NULL;

	cJSON_ArrayForEach(source, doc->root) {
		if (!kgb_spec_dataset_has(dataset, source->string))
			continue;
		cJSON_ArrayForEach(name, source) {
			if (cJSON_IsString(name))
				kgb_strv_add(wanted, name->valuestring);
		}
	}
}

static void note_others(struct kgb_lint_report *report, const struct kgb_strv *these,
			const struct kgb_strv *those, const char *what)
{
	for (size_t i = 0; i < these->n; i++)
		if (!kgb_strv_has(those, these->items[i]))
			kgb_lint_note(report, "names", "%s: %s", these->items[i], what);
}

int kgb_lint_names(const char *data_dir, const char *dataset, const struct kgb_strv *names,
		   struct kgb_lint_report *report, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(data_dir, SET "/operators.yaml");
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	KGB_AUTO(strv) struct kgb_strv wanted = KGB_STRV_INIT;

	if (kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0)
		return -1;
	list_wanted(&doc, dataset, &wanted);
	report->n_cases = wanted.n;
	note_others(report, &wanted, names, "has no spec");
	note_others(report, names, &wanted, "is no operator of this dataset");
	return 0;
}
