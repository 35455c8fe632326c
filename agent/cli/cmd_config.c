/* SPDX-License-Identifier: MIT */
#include "agent/cli/cmd.h"

int kgb_cmd_config(struct kgb_cli *cli)
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
