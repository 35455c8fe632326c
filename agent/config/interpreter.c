/* SPDX-License-Identifier: MIT */
#include <signal.h>

#include "agent/config/config.h"
#include "agent/config/env.h"
#include "base/limits.h"
#include "base/system/proc.h"

#define ANSWER_MS 20000 /* of a cold interpreter */

/* Read versions without importing the packages, which takes seconds. */
static const char script[] =
	"import platform\n"
	"from importlib.metadata import version\n"
	"print('Python %s, torch %s, Triton %s' % (platform.python_version(), version('torch'), "
	"version('triton')), end='')\n";

char *kgb_config_versions(const struct kgb_config *config)
{
	KGB_AUTO(free) char *python = kgb_config_python(config);
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_proc_end end = {0};
	const char *const argv[] = {python, "-I", "-c", script, NULL};

	kgb_child_env(&env);
	const struct kgb_proc_spec spec = {
		.argv = argv,
		.env = (const char *const *)env.items,
		.capture_fd = 1,
		.limit = 256,
		.timeout_ms = ANSWER_MS,
		.quiet = true,
	};
	if (kgb_proc_run(&spec, &out, &end, &err) < 0)
		return NULL;
	if (end.interrupted)
		raise(end.interrupted);
	return end.exit_code == 0 && out.len > 0 ? kgb_buf_take(&out) : NULL;
}
