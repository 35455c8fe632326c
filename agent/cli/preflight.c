/* SPDX-License-Identifier: MIT */
#include "agent/cli/preflight.h"

#include <signal.h>
#include <unistd.h>

#include "agent/config/env.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/system/proc.h"

#define SETUP_HINT "run `kgb-agent setup`"
#define OUTPUT_BYTES 4096
/* A CLI's first start from a cold disk may take seconds. */
#define TIMEOUT_MS 60000

/** Exit code of a short command (-1: a signal), its stdout appended to out. */
static int run_short(const char *const *argv, struct kgb_buf *out, int *exit_code,
		     struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	kgb_child_env(&env);
	const struct kgb_proc_spec spec = {
		.argv = argv,
		.env = (const char *const *)env.items,
		.capture_fd = 1,
		.limit = OUTPUT_BYTES,
		.timeout_ms = TIMEOUT_MS,
		.quiet = true,
	};
	struct kgb_proc_end end;
	if (kgb_proc_run(&spec, out, &end, err) < 0)
		return -1;
	if (end.interrupted) {
		/* Nothing was created yet: end by the signal, as if there were no child. */
		signal(end.interrupted, SIG_DFL);
		raise(end.interrupted);
	}
	*exit_code = end.exit_code;
	return 0;
}

int kgb_preflight_sandbox(const char *bin_dir, enum kgb_isolation_level minimum,
			  struct kgb_ladder *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *launcher = kgb_path_join(bin_dir, "kgb-launch");
	kgb_ladder_probe(launcher, NULL, out);
	return kgb_ladder_require(out, minimum, err);
}

int kgb_preflight_python(const char *python, bool gpu, struct kgb_err *err)
{
	static const char probe[] =
		"import importlib.util as u, os, sys\n"
		"torch = u.find_spec('torch')\n"
		"if not torch or not u.find_spec('triton'):\n"
		"    sys.exit(4 if torch else 3)\n"
		"if len(sys.argv) > 1:\n"
		"    facts = {}\n"
		"    exec(open(os.path.join(os.path.dirname(torch.origin), 'version.py')).read(), facts)\n"
		"    sys.exit(0 if facts.get('cuda') else 5)\n";
	const char *const argv[] = {python, "-I", "-c", probe, gpu ? "gpu" : NULL, NULL};
	KGB_AUTO(buf) struct kgb_buf ignored = KGB_BUF_INIT(OUTPUT_BYTES);
	struct kgb_err why = KGB_ERR_INIT;
	int exit_code = 0;
	if (access(python, X_OK) < 0)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"there is no Python with torch and triton at '%s': %s, or set paths.python",
			python, SETUP_HINT);
	KGB_AUTO(policy) struct kgb_policy policy;
	kgb_policy_init(&policy);
	if (kgb_policy_python(&policy, python, &why) < 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s (paths.python)", why.msg);
	if (run_short(argv, &ignored, &exit_code, &why) < 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s: %s, or set paths.python", why.msg,
				SETUP_HINT);
	if (exit_code == 3 || exit_code == 4)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "'%s' has no %s: %s", python,
				exit_code == 3 ? "torch" : "triton", SETUP_HINT);
	if (exit_code == 5)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"the torch of '%s' is a build without CUDA: install one with it (pytorch.org), or use --device cpu",
			python);
	if (exit_code != 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"'%s' does not run (status %d): %s, or set paths.python", python,
				exit_code, SETUP_HINT);
	return 0;
}
