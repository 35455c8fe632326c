/* SPDX-License-Identifier: MIT */
#include "agent/llm/reply.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "methods/code_blocks.h"

/** Whether a line begins with "def ENTRY(", in any spacing. */
static bool is_definition(const char *line, const char *entry)
{
	const size_t n = strlen(entry);
	if (!kgb_str_starts(line, "def ") && !kgb_str_starts(line, "def\t"))
		return false;
	line += 3;
	line += strspn(line, " \t");
	if (strncmp(line, entry, n) != 0)
		return false;
	line += n;
	return line[strspn(line, " \t")] == '(';
}

/** Whether a line of `text` defines a function of the operator. */
static bool defines_entry(const char *text, const struct kgb_spec *spec)
{
	for (const char *line = text; line;) {
		for (size_t i = 0; i < spec->n_interfaces; i++)
			if (is_definition(line, spec->interfaces[i].entry))
				return true;
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return false;
}

struct search {
	const struct kgb_spec *spec;
	char *any; /* owned; the last block marked as Python */
	char *entry; /* owned; the last block that defines a function, a closed one if possible */
};

static void replace(char **text, char *take_new)
{
	kgb_free(*text);
	*text = take_new;
}

static void on_block(void *payload, const struct kgb_code_block *block)
{
	struct search *search = payload;
	char *text = kgb_code_block_text(block);
	if (defines_entry(text, search->spec) && (block->is_closed || !search->entry))
		replace(&search->entry, kgb_xstrdup(text));
	if (block->is_named)
		replace(&search->any, text);
	else
		kgb_free(text);
}

char *kgb_reply_kernel(const char *reply, const struct kgb_spec *spec, const char **out_source)
{
	struct search search = {.spec = spec};
	kgb_each_code_block(reply, on_block, &search);
	char *kernel = search.entry ? search.entry : search.any;
	if (search.entry)
		kgb_free(search.any);
	*out_source = kernel ? "block" : NULL;
	if (kernel || strstr(reply, "```") || strstr(reply, "~~~") || !defines_entry(reply, spec))
		return kernel;
	*out_source = "reply";
	return kgb_xstrdup(reply);
}
