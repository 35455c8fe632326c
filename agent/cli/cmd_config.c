/* SPDX-License-Identifier: MIT */
#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"

static int show_config(struct kgb_cli *cli)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (cli->flags.schema)
		kgb_decode_schema(kgb_settings_table, "kgb-agent configuration", &text);
	else if (cli->flags.example)
		kgb_config_example(&text);
	else if (cli->flags.json)
		kgb_config_json(&cli->config, &text);
	else
		kgb_config_print(&cli->config, &text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_DATASET,
	KGB_OPTION_METHOD,
	KGB_OPTIONS_OF_RUNS,
	KGB_OPTION_ISOLATION,
	KGB_OPTION_MODEL,
	KGB_OPTION_OF_FLAG("schema", 0, FLAG, schema, NULL,
			   "print the JSON Schema of the configuration file"),
	KGB_OPTION_OF_FLAG("example", 0, FLAG, example, NULL, "print config.example.yaml"),
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Prints every setting with its value and its origin: default, file:line, environment variable or option. The\n"
	"output is itself a configuration file.\n"
	"\n"
	"exit status: 0, 2 usage, 3 the file or a variable is wrong\n";

const struct kgb_command kgb_config_command = {
	.usage = {.name = "config",
		  .summary = "Show the resolved settings",
		  .help = help,
		  .options = options},
	.run = show_config,
};
