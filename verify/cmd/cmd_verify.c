/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "verify/cmd/cli.h"
#include "verify/lane/judge.h"
#include "verify/stages/lanes.h"

enum { VERDICT_FD = 3 };

struct arguments {
	struct kgb_judge_options options;
	const char *op;
	const char *dataset_dir;
	const char *python;
	const char *device;
	int verdict_fd; /* -1: not given */
};

static int parse_mode(const char *text, bool *is_final, struct kgb_err *err)
{
	*is_final = kgb_str_eq(text, "final");
	if (!*is_final && !kgb_str_eq(text, "agent"))
		return kgb_fail(err, KGB_ERR_INVALID, "--mode '%s': agent or final", text);
	return 0;
}

/* A path has a slash or ends in .py. */
static int parse_baseline(const char *text, struct kgb_judge_options *o, struct kgb_err *err)
{
	if (kgb_str_eq(text, "torch"))
		o->baseline = KGB_BASELINE_TORCH;
	else if (kgb_str_eq(text, "compile"))
		o->baseline = KGB_BASELINE_COMPILE;
	else if (strchr(text, '/') || kgb_str_ends(text, ".py"))
		o->baseline = KGB_BASELINE_KERNEL;
	else
		return kgb_fail(err, KGB_ERR_INVALID,
				"--baseline '%s': torch, compile or a kernel file", text);
	o->baseline_path = text;
	return 0;
}

static int parse_option(struct arguments *a, int option, const char *text, struct kgb_err *err)
{
	struct kgb_judge_options *o = &a->options;
	int64_t number;

	switch (option) {
	case 'o':
		a->op = text;
		return 0;
	case 'k':
		o->kernel_path = text;
		return 0;
	case 's':
		o->spec_path = text;
		return 0;
	case 'd':
		a->dataset_dir = text;
		return 0;
	case 'z':
		o->zygote_dir = text;
		return 0;
	case 'p':
		a->python = text;
		return 0;
	case 'm':
		return parse_mode(text, &o->final_mode, err);
	case 'e':
		o->has_seed = true;
		return kgb_parse_hex(text, o->seed.bytes, sizeof(o->seed.bytes), err) < 0
			       ? kgb_ctx(err, "--seed")
			       : 0;
	case 't':
		return kgb_parse_duration_ms(text, &o->timeout_ms, err) < 0
			       ? kgb_ctx(err, "--timeout")
			       : 0;
	case 'c':
		return kgb_parse_duration_ms(text, &o->call_timeout_ms, err) < 0
			       ? kgb_ctx(err, "--call-timeout")
			       : 0;
	case 'y':
		return kgb_parse_size_bytes(text, &o->memory_bytes, err) < 0
			       ? kgb_ctx(err, "--memory")
			       : 0;
	case 'f':
		if (kgb_parse_i64(text, 0, 1 << 20, &number, err) < 0)
			return kgb_ctx(err, "--verdict-fd");
		a->verdict_fd = (int)number;
		return 0;
	case 'g':
		a->device = text;
		return 0;
	case 'u':
		o->cupti = text;
		return 0;
	case 'b':
		return parse_baseline(text, o, err);
	case 'l':
		if (kgb_parse_i64(text, 1, KGB_LANES_MAX, &number, err) < 0)
			return kgb_ctx(err, "--lanes");
		o->lanes = (int)number;
		return 0;
	case 'a':
		if (kgb_parse_i64(text, 1, KGB_VERDICT_FAILURES_MAX, &number, err) < 0)
			return kgb_ctx(err, "--max-failures");
		o->max_failures = (int)number;
		return 0;
	case 'n':
		o->skip_timing = true;
		return 0;
	case 'r':
		o->no_cache = true;
		return 0;
	case 'x':
		return kgb_die_with_parent(text, err);
	default:
		return kgb_fail(err, KGB_ERR_INVALID,
				"unknown option or missing value; see 'kgb-judge --help'");
	}
}

static int parse(struct arguments *a, int argc, char **argv, struct kgb_err *err)
{
	static const struct option options[] = {
		{"op", required_argument, NULL, 'o'},
		{"kernel", required_argument, NULL, 'k'},
		{"spec", required_argument, NULL, 's'},
		{"dataset-dir", required_argument, NULL, 'd'},
		{"zygotes", required_argument, NULL, 'z'},
		{"python", required_argument, NULL, 'p'},
		{"mode", required_argument, NULL, 'm'},
		{"seed", required_argument, NULL, 'e'},
		{"timeout", required_argument, NULL, 't'},
		{"call-timeout", required_argument, NULL, 'c'},
		{"memory", required_argument, NULL, 'y'},
		{"verdict-fd", required_argument, NULL, 'f'},
		{"device", required_argument, NULL, 'g'},
		{"baseline", required_argument, NULL, 'b'},
		{"lanes", required_argument, NULL, 'l'},
		{"cupti", required_argument, NULL, 'u'},
		{"max-failures", required_argument, NULL, 'a'},
		{"skip-timing", no_argument, NULL, 'n'},
		{"no-cache", no_argument, NULL, 'r'},
		{"die-with-parent", required_argument, NULL, 'x'},
		{NULL, 0, NULL, 0},
	};
	int option;

	*a = (struct arguments){.options = KGB_JUDGE_OPTIONS_INIT, .verdict_fd = -1};
	a->options.final_mode = true;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (parse_option(a, option, optarg, err) < 0)
			return -1;
	if (optind < argc)
		return kgb_fail(err, KGB_ERR_INVALID, "unexpected argument '%s'", argv[optind]);
	if (!a->options.kernel_path)
		return kgb_fail(err, KGB_ERR_INVALID, "--kernel FILE is missing");
	if (!a->op == !a->options.spec_path)
		return kgb_fail(err, KGB_ERR_INVALID, "give either --op NAME or --spec FILE");
	if (a->options.timeout_ms < 1000 || a->options.call_timeout_ms < 100 ||
	    a->options.memory_bytes < (64 << 20))
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"least values are --timeout 1s, --call-timeout 100ms and --memory 64MiB");
	return 0;
}

/* The spec file of the operator that was named; malloc'ed. */
static int find_spec(const struct arguments *a, const char *data_dir, char **out,
		     struct kgb_err *err)
{
	struct kgb_spec_index index = {0};
	const char *name;
	const char *path;

	if (kgb_spec_index_load(a->dataset_dir ? a->dataset_dir : data_dir, "KernelGenBench",
				&index, err) < 0)
		return -1;
	int rc = kgb_spec_index_find(&index, a->op, &name, &path, err);
	if (rc == 0)
		*out = kgb_xstrdup(path);
	kgb_spec_index_release(&index);
	return rc;
}

static int verdict_fd(const struct arguments *a, struct kgb_err *err)
{
	int fd = a->verdict_fd;

	if (fd < 0)
		return fcntl(VERDICT_FD, F_GETFD) >= 0 ? VERDICT_FD : STDOUT_FILENO;
	if (fcntl(fd, F_GETFD) < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "--verdict-fd %d is not open", fd);
	return fd;
}

static int write_verdict(const struct kgb_verdict *verdict, int fd, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);

	kgb_verdict_write(verdict, &text);
	(void)kgb_buf_addc(&text, '\n');
	if (text.overflowed)
		return kgb_fail(err, KGB_ERR_FAILED, "verdict of more than %u bytes",
				KGB_LIMIT_VERDICT);
	if (kgb_fs_write_all(fd, text.ptr, text.len, err) < 0)
		return kgb_ctx(err, "write the verdict");
	return 0;
}

static int verify(struct arguments *a, struct kgb_err *err)
{
	struct kgb_judge_paths places = {0};
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));
	KGB_AUTO(free) char *spec = NULL;
	struct kgb_zygote_spec device = {0};
	int fd = verdict_fd(a, err);
	int rc = fd < 0 ? -1 : kgb_judge_paths_find(&places, a->python, err);

	kgb_verdict_init(verdict);
	if (rc == 0)
		rc = kgb_judge_paths_device(&places, a->device, &device, err);
	if (rc == 0 && device.device == KGB_DEVICE_CPU && a->options.baseline != KGB_BASELINE_TORCH)
		rc = kgb_fail(err, KGB_ERR_INVALID, "--baseline '%s' needs a GPU",
			      a->options.baseline_path);
	if (rc == 0 && a->op)
		rc = find_spec(a, places.data_dir, &spec, err);
	if (rc == 0) {
		a->options.data_dir = places.data_dir;
		a->options.python = places.python;
		a->options.library = places.library;
		a->options.device = device.device;
		a->options.trace_library = device.trace_library;
		if (spec)
			a->options.spec_path = spec;
		rc = kgb_judge_run(&a->options, verdict, err);
	}
	if (rc == 0)
		rc = write_verdict(verdict, fd, err);
	kgb_verdict_release(verdict);
	kgb_free(verdict);
	kgb_judge_paths_release(&places);
	return rc;
}

int kgb_cmd_verify(int argc, char **argv)
{
	struct arguments a;
	struct kgb_err err = KGB_ERR_INIT;

	(void)signal(SIGPIPE, SIG_IGN);
	if (parse(&a, argc, argv, &err) < 0)
		return kgb_exit_of(&err);
	return verify(&a, &err) < 0 ? kgb_exit_of(&err) : KGB_EXIT_OK;
}
