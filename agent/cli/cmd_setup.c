/* SPDX-License-Identifier: MIT */
/** \file
 * `kgb-agent setup [CLI...]`: fetch the Python environment and coding CLIs. In a source tree
 * ./bootstrap does it, which also builds; installed, kgb-setup does.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "base/system/fs.h"
#include "base/system/install.h"

static int fetch(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *deps = kgb_install_deps();
	KGB_AUTO(free) char *bootstrap = kgb_path_join(cli->data_dir, "bootstrap");
	const bool is_source = access(bootstrap, X_OK) == 0;
	KGB_AUTO(free)
	char *script =
		is_source ? kgb_xstrdup(bootstrap) : kgb_path_join(cli->bin_dir, "kgb-setup");
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;

	kgb_strv_add(&argv, script);
	if (is_source)
		kgb_strv_add(&argv, "setup");
	for (size_t i = 0; i < cli->operators.n; i++)
		kgb_strv_add(&argv, cli->operators.items[i]);
	if (setenv("KGB_DATA_DIR", cli->data_dir, 1) < 0 || setenv("KGB_DEPS_DIR", deps, 1) < 0) {
		kgb_fail_errno(&err, errno, "environment of '%s'", script);
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	}
	execv(script, argv.items);
	kgb_fail(&err, KGB_ERR_UNAVAILABLE, "'%s': %s: this installation is not complete", script,
		 strerror(errno));
	return kgb_cli_fail(&err, KGB_EXIT_ENVIRONMENT);
}

static const struct kgb_opt options[] = {
	{0},
};

static const char help[] =
	"Fetches Python packages (torch, triton) and coding CLIs at their pinned versions: claude by default, or those\n"
	"named (claude, opencode, codex, all). They go to $KGB_DEPS_DIR; else to .deps of a source tree, to\n"
	"/var/lib/kgb-agent for root, to ~/.local/share/kgb-agent for others. Parts that are installed already stay.\n"
	"\n"
	"exit status: 0, 2 there is no such CLI, 4 something could not be fetched\n";

const struct kgb_command kgb_setup_command = {
	.usage = {.name = "setup",
		  .positional = "[CLI...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Fetch the Python environment and the coding CLIs",
		  .help = help,
		  .options = options},
	.one = "CLI",
	.run = fetch,
};
