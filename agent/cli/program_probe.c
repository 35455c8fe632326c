/* SPDX-License-Identifier: MIT */
#include "agent/cli/program_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"

#define INSIDE "/opt/kgb/cli/program"
#define OUTPUT_BYTES 4096
/* A CLI's first start from a cold disk may take seconds. */
#define TIMEOUT_MS 60000
#define TMP_BYTES (256LL << 20)

static int fill_policy(struct kgb_policy *policy, const struct kgb_program *program,
		       const char *path, struct kgb_err *err)
{
	const struct kgb_policy_base_spec base = {.tmp_bytes = TMP_BYTES};
	if (kgb_policy_base(policy, &base, err) < 0)
		return -1;
	kgb_policy_mount(policy, KGB_MOUNT_RO, path, INSIDE);
	kgb_policy_arg(policy, INSIDE);
	for (size_t i = 0; i < program->version_argv.n; i++)
		kgb_policy_arg(policy, program->version_argv.items[i]);
	return 0;
}

/* The end of a program that was asked for its version. */
struct answer {
	struct kgb_buf text; /* the beginning of its stdout */
	struct kgb_sandbox_status status;
	int exit_code; /* of the launcher */
};

static int ask(const struct kgb_program *program, const char *path, const char *bin_dir,
	       const struct kgb_ladder *ladder, struct answer *answer, struct kgb_err *err)
{
	KGB_AUTO(free) char *launcher = kgb_path_join(bin_dir, "kgb-launch");
	KGB_AUTO(policy) struct kgb_policy policy;
	kgb_policy_init(&policy);
	if (fill_policy(&policy, program, path, err) < 0)
		return -1;
	const struct kgb_sandbox_spec spec = {
		.policy = &policy,
		.launcher = launcher,
		.confinement = &ladder->confinement,
		.stdio = {-1, -1, -1},
	};
	return kgb_sandbox_run(&spec, false, TIMEOUT_MS, &answer->text, &answer->status,
			       &answer->exit_code, err);
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

/* Whether an answer is only a version, or contains the name of the program. */
static bool is_of_program(const struct kgb_program *program, const char *text, const char *version)
{
	static const char blanks[] = " \t\r\n";
	const char *start = text + strspn(text, blanks);
	const char *end = start + strlen(version);
	return (kgb_str_starts(start, version) && !end[strspn(end, blanks)]) ||
	       strcasestr(text, program->name) || strcasestr(text, program->title);
}

/* Take the version from an answer. Returns the fault of the answer, malloc'ed, or NULL. */
static char *judge_answer(const struct kgb_program *program, const struct answer *answer,
			  const char *executable, char version[KGB_VERSION_LEN])
{
	const struct kgb_sandbox_status *status = &answer->status;
	int exit_code = status->exit_code >= 0 ? status->exit_code : answer->exit_code;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (status->init_pid == 0)
		return kgb_xasprintf("cannot be started: %s",
				     *status->error ? status->error : "the sandbox does not start");
	if (exit_code != 0)
		return kgb_xasprintf("at '%s' ends with status %d when asked for its version",
				     executable, exit_code);
	kgb_utf8_repair(&text, answer->text.ptr, answer->text.len);
	kgb_version_find(text.ptr, version);
	if (!*version)
		return kgb_xasprintf("at '%s' prints no version", executable);
	if (is_of_program(program, text.ptr, version))
		return NULL;
	return kgb_xasprintf("cannot be '%s', which answers '%.*s' when asked for its version",
			     executable, (int)strcspn(text.ptr, "\n"), text.ptr);
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
	struct answer answer = {.text = KGB_BUF_INIT(OUTPUT_BYTES)};
	kgb_sandbox_status_init(&answer.status);
	int rc = ask(program, executable, bin_dir, ladder, &answer, err);
	KGB_AUTO(free)
	char *why = rc < 0 ? NULL : judge_answer(program, &answer, executable, version);
	kgb_sandbox_status_release(&answer.status);
	kgb_buf_release(&answer.text);
	if (rc < 0 && err->kind == KGB_ERR_TIMEOUT)
		why = kgb_xasprintf("prints no version within %d s", TIMEOUT_MS / 1000);
	else if (rc < 0)
		return kgb_ctx(err, "%s", program->title);
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
