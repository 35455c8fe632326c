/* SPDX-License-Identifier: MIT */
#include "agent/cli/program_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/spawn/sandbox_child.h"

#define INSIDE "/opt/kgb/cli/program"
#define OUTPUT_BYTES 4096
/* A CLI's first start from a cold disk may take seconds. */
#define TIMEOUT_MS 60000
#define TMP_BYTES (256LL << 20)

struct probe {
	struct kgb_sandbox_child launch;
	struct kgb_sandbox_child_result result;
	uv_timer_t limit;
	bool timed_out;
};

static void on_done(struct kgb_sandbox_child *launch, const struct kgb_sandbox_child_result *result,
		    void *payload)
{
	(void)launch;
	struct probe *probe = payload;
	probe->result = *result;
	uv_close((uv_handle_t *)&probe->limit, NULL);
}

static void on_limit(uv_timer_t *timer)
{
	struct probe *probe = timer->data;
	probe->timed_out = true;
	kgb_sandbox_child_kill(&probe->launch);
}

static int run(struct probe *probe, const struct kgb_sandbox_spec *spec, struct kgb_err *err)
{
	static const struct kgb_sandbox_child_callbacks callbacks = {.on_done = on_done};
	uv_loop_t loop;
	int rc = uv_loop_init(&loop);
	if (rc < 0)
		return kgb_fail_code(err, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, rc,
				     "make an event loop: %s", uv_strerror(rc));
	uv_timer_init(&loop, &probe->limit);
	probe->limit.data = probe;
	int started = kgb_sandbox_child_start(&probe->launch, &loop, spec, &callbacks, probe, err);
	if (started == 0)
		uv_timer_start(&probe->limit, on_limit, TIMEOUT_MS, 0);
	else
		uv_close((uv_handle_t *)&probe->limit, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	KGB_ASSERT(uv_loop_close(&loop) == 0);
	return started;
}

static int fill_policy(struct kgb_policy *policy, const struct kgb_program *program,
		       const char *path, const char *home, struct kgb_err *err)
{
	const struct kgb_policy_base_spec base = {.home = home, .tmp_bytes = TMP_BYTES};
	if (kgb_policy_base(policy, &base, err) < 0)
		return -1;
	kgb_policy_ro(policy, path, INSIDE);
	kgb_policy_arg(policy, INSIDE);
	for (size_t i = 0; i < program->version_argv.n; i++)
		kgb_policy_arg(policy, program->version_argv.items[i]);
	return 0;
}

/* The first output of `path` with the version's arguments; what it says besides is dropped. */
static int ask(const struct kgb_program *program, const char *path, const char *home,
	       const char *bin_dir, const struct kgb_ladder *ladder, struct kgb_buf *out,
	       struct probe *probe, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = memfd_create("version", MFD_CLOEXEC);
	KGB_AUTO(fd) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	KGB_AUTO(free) char *launcher = kgb_path_join(bin_dir, "kgb-launch");
	KGB_AUTO(policy) struct kgb_policy policy;
	char text[OUTPUT_BYTES];
	kgb_policy_init(&policy);
	if (fd < 0 || null_fd < 0)
		return kgb_fail_errno(err, errno, "open a file for a version");
	if (fill_policy(&policy, program, path, home, err) < 0)
		return -1;
	const struct kgb_sandbox_spec spec = {
		.policy = &policy,
		.launcher = launcher,
		.confinement = &ladder->confinement,
		.stdio = {null_fd, fd, null_fd},
	};
	if (run(probe, &spec, err) < 0)
		return -1;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	kgb_utf8_repair(out, text, n > 0 ? (size_t)n : 0);
	return 0;
}

/* Without namespaces a home is a directory of this machine; malloc'ed, NULL with *err. */
static char *make_home(struct kgb_err *err)
{
	const char *tmp = getenv("TMPDIR");
	KGB_AUTO(free) char *home = kgb_path_join(tmp && *tmp ? tmp : "/tmp", "kgb-probe.XXXXXX");
	if (mkdtemp(home))
		return KGB_TAKE(home);
	(void)kgb_fail_errno(err, errno, "make a directory '%s' (TMPDIR)", home);
	return NULL;
}

static int fail_missing(const struct kgb_program *program, const char *why, struct kgb_err *err)
{
	return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s %s: %s", program->title, why,
			program->install);
}

/* The file to execute for a program at `path`: itself, or for a folder the `run` in it. malloc'ed.
 */
static char *executable_of(const char *path)
{
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return kgb_path_join(path, "run");
	return kgb_xstrdup(path);
}

int kgb_program_probe(const struct kgb_program *program, const char *path, const char *bin_dir,
		      const struct kgb_ladder *ladder, char version[KGB_VERSION_LEN],
		      struct kgb_err *err)
{
	*version = '\0';
	if (!path)
		return fail_missing(program, "is not there", err);
	KGB_AUTO(free) char *executable = executable_of(path);
	if (access(executable, X_OK) < 0) {
		KGB_AUTO(free)
		char *why =
			kgb_fs_exists(AT_FDCWD, executable)
				? kgb_xasprintf("cannot be '%s', which is no program", executable)
				: kgb_xasprintf("is not at '%s'", executable);
		return fail_missing(program, why, err);
	}
	if (program->version_argv.n == 0)
		return 0;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct probe probe = {0};
	struct kgb_err ignored = KGB_ERR_INIT;
	KGB_AUTO(free) char *home = NULL;
	if (ladder->confinement.no_namespaces && !(home = make_home(err)))
		return -1;
	int rc = ask(program, executable, home, bin_dir, ladder, &text, &probe, err);
	if (home)
		(void)!kgb_fs_remove_tree(AT_FDCWD, home, &ignored);
	if (rc < 0)
		return kgb_ctx(err, "%s", program->title);
	kgb_version_find(text.ptr, version);
	KGB_AUTO(free) char *why = NULL;
	if (!probe.result.started)
		why = kgb_xasprintf("cannot be started: %s", probe.result.err.msg);
	else if (probe.timed_out)
		why = kgb_xasprintf("tells no version within %d s", TIMEOUT_MS / 1000);
	else if (probe.result.exit_code != 0)
		why = kgb_xasprintf("at '%s' ends with status %d when asked for its version",
				    executable, probe.result.exit_code);
	else if (!*version)
		why = kgb_xasprintf("at '%s' tells no version", executable);
	return why ? fail_missing(program, why, err) : 0;
}

bool kgb_program_untested(const struct kgb_program *program, const char *version,
			  struct kgb_buf *out)
{
	if (kgb_program_tested(program, version))
		return false;
	bool one = kgb_str_eq(program->tested_from, program->tested_to);
	kgb_buf_addf(out, "%s %s is not among the tested versions (%s%s%s)", program->title,
		     version, program->tested_from, one ? "" : " to ",
		     one ? "" : program->tested_to);
	return true;
}
