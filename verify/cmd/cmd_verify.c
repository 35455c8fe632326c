/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-judge verify: a request comes in on stdin, a verdict goes out on stdout.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "verify/cmd/cli.h"
#include "verify/stages/stages.h"

_Static_assert(KGB_JUDGE_FAILURES_MAX == KGB_MAX_CASES && KGB_JUDGE_LANES_MAX == KGB_SEATS_MAX,
	       "a request may ask for what the judge can do");

/* The descriptor of the verdict. Other output on stdout, by a library or a child, goes to
 * stderr. */
static int take_stdout(struct kgb_err *err)
{
	const int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return kgb_fail_errno(err, errno, "stdout, where the verdict goes");
	return fd;
}

static int read_request(struct kgb_judge_request *request, struct kgb_arena *arena,
			struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_JUDGE_REQUEST_MAX);

	if (kgb_fs_read_fd(STDIN_FILENO, KGB_JUDGE_REQUEST_MAX, &text, err) < 0)
		return kgb_ctx(err, "stdin, where the request comes from");
	if (text.len == 0)
		return kgb_fail(err, KGB_ERR_INVALID,
				"no request on stdin; see 'kgb-judge --help'");
	return kgb_judge_request_read(text.ptr, text.len, request, arena, err);
}

/* A path has a slash or ends in .py. */
static int find_baseline(const char *text, int device, enum kgb_baseline *out, struct kgb_err *err)
{
	KGB_ASSERT(text); /* the request's table has a default */
	if (kgb_str_eq(text, "torch")) {
		*out = KGB_BASELINE_TORCH;
		return 0;
	}
	if (kgb_str_eq(text, "compile"))
		*out = KGB_BASELINE_COMPILE;
	else if (strchr(text, '/') || kgb_str_ends(text, ".py"))
		*out = KGB_BASELINE_KERNEL;
	else
		return kgb_fail(err, KGB_ERR_INVALID,
				"baseline '%s': torch, compile or a kernel file", text);
	if (device == KGB_DEVICE_CPU)
		return kgb_fail(err, KGB_ERR_INVALID, "baseline '%s' needs a GPU", text);
	return 0;
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

static int judge_and_write(const struct kgb_judge_options *options, int fd, struct kgb_err *err)
{
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));

	kgb_verdict_init(verdict);
	int rc = kgb_judge_run(options, verdict, err);
	if (rc == 0)
		rc = write_verdict(verdict, fd, err);
	kgb_verdict_release(verdict);
	kgb_free(verdict);
	return rc;
}

static char *shared_zygotes(int device, const struct kgb_judge_paths *paths)
{
	KGB_AUTO(free) char *name = kgb_xasprintf("cuda:%d", device);

	return kgb_shared_zygotes(device == KGB_DEVICE_CPU ? "cpu" : name, paths->python,
				  paths->data_dir);
}

static int verify(const struct kgb_judge_request *request, int fd, struct kgb_err *err)
{
	struct kgb_judge_options options = {.request = *request};
	struct kgb_judge_paths paths = {0};
	struct kgb_zygote_spec device = {0};
	KGB_AUTO(free) char *shared = NULL;

	int rc = kgb_judge_paths_find(&paths, request->python, err);
	if (rc == 0)
		rc = kgb_judge_paths_device(&paths, request->device, &device, err);
	if (rc == 0 && !request->zygotes)
		options.request.zygotes = shared = shared_zygotes(device.device, &paths);
	if (rc == 0)
		rc = find_baseline(request->baseline, device.device, &options.baseline, err);
	if (rc == 0) {
		options.data_dir = paths.data_dir;
		options.python = paths.python;
		options.library = paths.library;
		options.device = device.device;
		options.trace_library = device.trace_library;
		rc = judge_and_write(&options, fd, err);
	}
	kgb_judge_paths_release(&paths);
	return rc;
}

int kgb_cmd_verify(int argc, char **argv)
{
	struct kgb_judge_request request = {0};
	struct kgb_arena arena = {0};
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(fd) int fd = -1;
	int rc = -1;

	(void)signal(SIGPIPE, SIG_IGN);
	if (argc > 1)
		(void)kgb_fail(&err, KGB_ERR_INVALID,
			       "unexpected argument '%s': the request comes on stdin", argv[1]);
	else
		rc = fd = take_stdout(&err);
	if (rc >= 0)
		rc = read_request(&request, &arena, &err);
	if (rc == 0 && request.parent > 0)
		kgb_die_with_parent(request.parent);
	if (rc == 0)
		rc = verify(&request, fd, &err);
	kgb_arena_release(&arena);
	return rc < 0 ? kgb_exit_of(&err) : KGB_EXIT_OK;
}
