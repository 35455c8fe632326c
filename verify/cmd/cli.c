/* SPDX-License-Identifier: MIT */
#include "verify/cmd/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/system/install.h"
#include "verify/gpu/gpu_devices.h"

static int find_python(struct kgb_judge_paths *places, const char *python, struct kgb_err *err)
{
	const char *env = getenv("KGB_PYTHON");

	if (!python && env && env[0])
		python = env;
	char *path = python ? kgb_path_which(python, getenv("PATH"))
			    : kgb_install_dep("venv/bin/python");
	if (!path || access(path, X_OK) < 0) {
		int rc = kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"no Python interpreter at '%s': run `kgb-agent setup`, or name one that has torch and triton in "
			"KGB_PYTHON",
			path ? path : python);
		kgb_free(path);
		return rc;
	}
	/* Do not resolve the path: Python recognises a virtual environment by the link. */
	places->python = kgb_path_absolute(path);
	kgb_free(path);
	return 0;
}

int kgb_judge_paths_find(struct kgb_judge_paths *places, const char *python, struct kgb_err *err)
{
	KGB_AUTO(free) char *data_dir = kgb_install_data();
	KGB_AUTO(free) char *self = kgb_path_self_dir();

	*places = (struct kgb_judge_paths){0};
	places->data_dir = kgb_path_real(data_dir, err);
	if (!places->data_dir)
		return kgb_ctx(err, "data directory (KGB_DATA_DIR)");
	KGB_AUTO(free) char *library = kgb_path_join(self, "_kgbrun.abi3.so");
	KGB_AUTO(free) char *trace = kgb_path_join(self, "libkgb_trace.so");
	if (access(trace, R_OK) == 0)
		places->cuda_trace_library = kgb_path_real(trace, err);
	KGB_AUTO(free) char *cpu_trace = kgb_path_join(self, "libkgb_cpu_trace.so");
	places->cpu_trace_library = kgb_path_real(cpu_trace, err);
	places->library = kgb_path_real(library, err);
	if (!places->cpu_trace_library || !places->library ||
	    find_python(places, python, err) < 0) {
		kgb_judge_paths_release(places);
		return -1;
	}
	return 0;
}

void kgb_judge_paths_release(struct kgb_judge_paths *places)
{
	kgb_free(places->data_dir);
	kgb_free(places->python);
	kgb_free(places->library);
	kgb_free(places->cuda_trace_library);
	kgb_free(places->cpu_trace_library);
	*places = (struct kgb_judge_paths){0};
}

int kgb_judge_paths_device(const struct kgb_judge_paths *places, const char *text,
			   struct kgb_zygote_spec *spec, struct kgb_err *err)
{
	int64_t number = 0;
	int device;
	bool wanted = text && !kgb_str_eq(text, "auto");

	spec->device = KGB_DEVICE_CPU;
	spec->trace_library = places->cpu_trace_library;
	if (wanted && kgb_str_eq(text, "cpu"))
		return 0;
	if (wanted && kgb_str_starts(text, "cuda:")) {
		if (kgb_parse_i64(text + strlen("cuda:"), 0, KGB_GPUS_MAX - 1, &number, err) < 0)
			return kgb_ctx(err, "device");
	} else if (wanted && !kgb_str_eq(text, "cuda")) {
		return kgb_fail(err, KGB_ERR_INVALID, "device '%s': cpu, cuda, cuda:NUMBER or auto",
				text);
	}
	if (wanted && !places->cuda_trace_library)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"device %s: this kgb-judge was built without CUDA's headers", text);
	if (!wanted && (!places->cuda_trace_library || access("/dev/nvidiactl", R_OK | W_OK) < 0))
		return 0;
	if (kgb_gpu_visible(number, &device, err) < 0) {
		if (!wanted && err->kind == KGB_ERR_UNAVAILABLE)
			return 0;
		return kgb_ctx(err, "device %s", wanted ? text : "auto");
	}
	spec->device = device;
	spec->trace_library = places->cuda_trace_library;
	return 0;
}

void kgb_die_with_parent(int64_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(KGB_EXIT_ENVIRONMENT);
}

static const struct kgb_field *find_option(const struct kgb_field *table, const char *name)
{
	while (table->name && !kgb_str_eq(table->name, name))
		table++;
	return table->name ? table : NULL;
}

int kgb_options_parse(const struct kgb_field *table, void *out, struct kgb_arena *arena, int argc,
		      char **argv, size_t *n_others, struct kgb_err *err)
{
	*n_others = 0;
	for (int i = 1; i < argc; i++) {
		const char *option = argv[i];
		if (!kgb_str_starts(option, "--")) {
			argv[1 + (*n_others)++] = argv[i];
			continue;
		}
		KGB_AUTO(free) char *name = kgb_xstrdup(option + 2);
		const char *value = NULL;
		for (char *at = name; *at && !value; at++) {
			if (*at == '-')
				*at = '_';
			if (*at != '=')
				continue;
			*at = '\0';
			value = at + 1;
		}
		const struct kgb_field *field = find_option(table, name);
		if (!field)
			return kgb_fail(err, KGB_ERR_INVALID,
					"unknown option '%s'; see 'kgb-judge --help'", option);
		if (!value)
			value = field->type == KGB_FIELD_BOOL ? "true" : argv[++i];
		if (!value)
			return kgb_fail(err, KGB_ERR_INVALID, "option '%s' needs a value", option);
		if (kgb_decode_set(table, name, value, option, out, arena, err) < 0)
			return -1;
	}
	return 0;
}

int kgb_exit_of(const struct kgb_err *err)
{
	kgb_log_err(err);
	switch (err->kind) {
	case KGB_ERR_INVALID:
	case KGB_ERR_NOT_FOUND:
		return KGB_EXIT_USAGE;
	case KGB_ERR_UNAVAILABLE:
	case KGB_ERR_DENIED:
	case KGB_ERR_TIMEOUT:
	case KGB_ERR_LIMIT:
		return KGB_EXIT_ENVIRONMENT;
	case KGB_ERR_FAILED:
	case KGB_ERR_CANCELLED:
	case KGB_ERR_BUSY:
		break;
	}
	return KGB_EXIT_INTERNAL;
}
