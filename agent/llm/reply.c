/* SPDX-License-Identifier: MIT */
#include "agent/llm/reply.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "methods/events.h"

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
static bool defines_entry(const char *text, size_t len, const struct kgb_spec *spec)
{
	for (const char *line = text; line && line < text + len;) {
		for (size_t i = 0; i < spec->n_interfaces; i++)
			if (is_definition(line, spec->interfaces[i].entry))
				return true;
		line = memchr(line, '\n', len - (size_t)(line - text));
		line += line != NULL;
	}
	return false;
}

struct search {
	const struct kgb_spec *spec;
	const char *any; /* the last block */
	const char *entry; /* the last block that defines a function, a closed one if possible */
	size_t any_len, entry_len;
};

static void on_block(void *payload, const char *block, size_t len)
{
	struct search *search = payload;
	search->any = block;
	search->any_len = len;
	const bool is_closed = block[len] != '\0';
	if ((search->entry && !is_closed) || !defines_entry(block, len, search->spec))
		return;
	search->entry = block;
	search->entry_len = len;
}

char *kgb_reply_kernel(const char *reply, const struct kgb_spec *spec, const char **out_source)
{
	struct search search = {.spec = spec};
	kgb_each_python_block(reply, on_block, &search);
	*out_source = "block";
	if (search.entry)
		return kgb_xstrndup(search.entry, search.entry_len);
	if (search.any)
		return kgb_xstrndup(search.any, search.any_len);
	*out_source = "reply";
	if (!strstr(reply, "```") && !strstr(reply, "~~~") &&
	    defines_entry(reply, strlen(reply), spec))
		return kgb_xstrdup(reply);
	*out_source = NULL;
	return NULL;
}
