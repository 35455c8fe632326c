/* SPDX-License-Identifier: MIT */
#include "agent/cli/dataset_table.h"

#include <fcntl.h>
#include <math.h>

#include "base/formats/json.h"
#include "base/system/fs.h"
#include "verify/cases/cases.h"
#include "verify/spec/spec.h"

#define MEASURED "datasets/kernelgenbench/measured"
#define DEVICES_MAX 8
#define MEASURED_MAX (4u << 20) /* bytes of one file of measurements */

struct measured {
	char *name; /* owned; "cpu" */
	cJSON *doc; /* owned */
};
struct page {
	struct measured devices[DEVICES_MAX];
	size_t n_devices;
	struct kgb_buf *out; /* borrowed */
};

static const char head[] =
	"# The operators\n"
	"\n"
	"Made by `kgb-agent dataset table >docs/operators.md`; a test fails when it is stale.\n"
	"\n"
	"| column | |\n"
	"|---|---|\n"
	"| functions | interfaces: functions that a kernel file must define, some of them in several forms |\n"
	"| cases | cases that decide on correctness, of all functions and types |\n"
	"| benchmarks | large cases, timed on a GPU |\n"
	"| kind | `kernel`: Triton kernels must make the result; `data`: the launches depend on the contents of tensors; "
	"`random`: draws, judged by their law; `view`: no kernel is required |\n"
	"| truth | `torch`: a registered operator of torch, in float64; `ours`: a Python function beside the spec |\n"
	"| baseline | the function that kernels are timed against: `torch`, `cuBLAS`, or `reference`, the Python function beside the spec, called eagerly; "
	"of vLLM's operators it is not vLLM's own kernels (docs/timing.md) |\n"
	"| lint | `kgb-agent dataset lint`: `ok`, problems, or `-` if the spec has changed since |\n"
	"| ms | median of the baseline on each benchmark, lowest to highest; `-` if the benchmarks or the timed functions have changed since |\n"
	"\n";

/* ---- measurements ---- */

static int read_measured(struct page *page, const char *dir, const char *file, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(dir, file);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(MEASURED_MAX);
	struct measured *device = &page->devices[page->n_devices];
	if (page->n_devices == DEVICES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "'%s': more than %d devices", dir, DEVICES_MAX);
	if (kgb_fs_read(AT_FDCWD, path, MEASURED_MAX, &text, err) < 0)
		return -1;
	if (kgb_json_parse(text.ptr, text.len, &device->doc, err) < 0)
		return kgb_ctx(err, "%s", path);
	device->name = kgb_xstrndup(file, strlen(file) - strlen(".json"));
	page->n_devices++;
	return 0;
}

static int read_all_measured(struct page *page, const char *data_dir, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(data_dir, MEASURED);
	KGB_AUTO(strv) struct kgb_strv files = KGB_STRV_INIT;
	if (!kgb_fs_exists(AT_FDCWD, path))
		return 0;
	if (kgb_fs_list(path, &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.n; i++)
		if (kgb_str_ends(files.items[i], ".json") &&
		    read_measured(page, path, files.items[i], err) < 0)
			return -1;
	return 0;
}

/** The measurements of the operator that were made with the present value of the hash called
 * `key`. */
static const cJSON *measured_of(const struct measured *device, const struct kgb_spec *spec,
				const char *key, const char *sha256)
{
	const cJSON *operators = kgb_json_get(device->doc, "operators");
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(operators, spec->name);

	return kgb_str_eq(kgb_json_str(found, key, ""), sha256) ? found : NULL;
}

static bool has_medians(const struct measured *device)
{
	return kgb_json_bool(device->doc, "timed", false);
}

static void add_measured(struct page *page, const struct measured *device,
			 const struct kgb_spec *spec, const char *benchmarks_sha256)
{
	const cJSON *found = measured_of(device, spec, "spec_sha256", spec->sha256);
	const cJSON *timed = measured_of(device, spec, "benchmarks_sha256", benchmarks_sha256);
	const cJSON *median = NULL;
	double lowest = HUGE_VAL, highest = 0;
	if (!found)
		kgb_buf_adds(page->out, " - |");
	else if (kgb_json_bool(found, "ok", false))
		kgb_buf_adds(page->out, " ok |");
	else
		kgb_buf_addf(page->out, " %d problems |",
			     (int)kgb_json_i64(found, "n_problems", 0));
	if (!has_medians(device))
		return;
	cJSON_ArrayForEach(median, kgb_json_get(timed, "median_ms")) {
		lowest = fmin(lowest, median->valuedouble);
		highest = fmax(highest, median->valuedouble);
	}
	if (highest > 0)
		kgb_buf_addf(page->out, " %.3g - %.3g |", lowest, highest);
	else
		kgb_buf_adds(page->out, " - |");
}

/* ---- operators ---- */

static const char *kind_of(const struct kgb_spec *spec)
{
	if (spec->triton == KGB_TRITON_NONE)
		return "view";
	for (size_t i = 0; i < spec->n_interfaces; i++)
		if (spec->interfaces[i].is_random)
			return "random";
	return spec->launches == KGB_LAUNCHES_BY_DATA ? "data" : "kernel";
}

static const char *truth_of(const struct kgb_spec *spec)
{
	size_t n_torch = 0;
	for (size_t i = 0; i < spec->n_interfaces; i++)
		n_torch += kgb_str_starts(spec->interfaces[i].target, "aten:");
	return n_torch == spec->n_interfaces ? "torch" : n_torch ? "torch, ours" : "ours";
}

static void add_columns(struct page *page)
{
	kgb_buf_adds(page->out, "| operator | category | functions | cases | benchmarks | types | "
				"kind | truth | baseline |");
	for (size_t i = 0; i < page->n_devices; i++) {
		kgb_buf_addf(page->out, " lint %s |", page->devices[i].name);
		if (has_medians(&page->devices[i]))
			kgb_buf_addf(page->out, " ms %s |", page->devices[i].name);
	}
	kgb_buf_adds(page->out, "\n|---|---|---|---|---|---|---|---|---|");
	for (size_t i = 0; i < page->n_devices; i++)
		kgb_buf_adds(page->out, has_medians(&page->devices[i]) ? "---|---|" : "---|");
	kgb_buf_addc(page->out, '\n');
}

static int add_operator(struct page *page, const struct kgb_spec *spec, struct kgb_err *err)
{
	struct kgb_cases cases;
	char benchmarks_sha256[KGB_SHA256_HEX_LEN];
	if (kgb_cases_expand(spec, NULL, &cases, err) < 0)
		return -1;
	kgb_cases_hash_benchmarks(&cases, benchmarks_sha256);
	kgb_buf_addf(page->out, "| %s | %s | %zu | %zu | %zu | ", spec->name, spec->category,
		     spec->n_interfaces, cases.n, cases.n_benchmarks);
	kgb_cases_release(&cases);
	for (size_t i = 0; i < spec->dtypes.n; i++)
		kgb_buf_addf(page->out, "%s%s", i ? ", " : "", spec->dtypes.items[i]);
	kgb_buf_addf(page->out, " | %s | %s | %s |", kind_of(spec), truth_of(spec),
		     kgb_spec_baseline(spec));
	for (size_t i = 0; i < page->n_devices; i++)
		add_measured(page, &page->devices[i], spec, benchmarks_sha256);
	kgb_buf_addc(page->out, '\n');
	return 0;
}

static size_t count_of(const struct kgb_strv *paths, const char *source)
{
	KGB_AUTO(free) char *folder = kgb_xasprintf("/%s/", source);
	size_t n = 0;
	for (size_t i = 0; i < paths->n; i++)
		n += strstr(paths->items[i], folder) != NULL;
	return n;
}

static int add_source(struct page *page, const struct kgb_strv *paths, const char *source,
		      struct kgb_err *err)
{
	KGB_AUTO(free) char *folder = kgb_xasprintf("/%s/", source);
	size_t n = count_of(paths, source);
	if (n == 0)
		return 0;
	kgb_buf_addf(page->out, "## KernelGenBench-%s: %zu\n\n", source, n);
	add_columns(page);
	for (size_t i = 0; i < paths->n; i++) {
		struct kgb_spec spec;
		if (!strstr(paths->items[i], folder))
			continue;
		if (kgb_spec_load(paths->items[i], &spec, err) < 0)
			return -1;
		int rc = add_operator(page, &spec, err);
		kgb_spec_release(&spec);
		if (rc < 0)
			return -1;
	}
	kgb_buf_addc(page->out, '\n');
	return 0;
}

/* The method and the date of each device's measurements. */
static void add_devices(struct page *page)
{
	if (page->n_devices == 0)
		return;
	kgb_buf_adds(page->out, "## Measured\n\n| | chip | date | torch | whole lint |\n"
				"|---|---|---|---|---|\n");
	for (size_t i = 0; i < page->n_devices; i++) {
		const cJSON *doc = page->devices[i].doc;
		kgb_buf_addf(page->out, "| %s | %s | %s | %s | %.0f s |\n", page->devices[i].name,
			     kgb_json_str(doc, "chip", "-"), kgb_json_str(doc, "date", "-"),
			     kgb_json_str(doc, "torch", "-"), kgb_json_num(doc, "wall_s", 0));
	}
}

int kgb_dataset_table(const char *data_dir, const struct kgb_strv *paths, struct kgb_buf *out,
		      struct kgb_err *err)
{
	static const char *const sources[] = {"aten", "vllm", "cublas"};
	struct page page = {.out = out};
	int rc = read_all_measured(&page, data_dir, err);
	if (rc == 0)
		kgb_buf_adds(out, head);
	for (size_t i = 0; rc == 0 && i < KGB_ARRAY_LEN(sources); i++)
		rc = add_source(&page, paths, sources[i], err);
	if (rc == 0)
		add_devices(&page);
	while (out->len > 1 && out->ptr[out->len - 2] == '\n') /* one line end is enough */
		kgb_buf_truncate(out, out->len - 1);
	for (size_t i = 0; i < page.n_devices; i++) {
		kgb_free(page.devices[i].name);
		cJSON_Delete(page.devices[i].doc);
	}
	return rc;
}
