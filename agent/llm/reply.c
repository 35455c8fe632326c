/* SPDX-License-Identifier: MIT */
#include "agent/llm/reply.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "methods/events.h"

/** Whether a line of `text` begins with "def ENTRY(" for a function of the operator. */
static bool defines_entry(const char *text, size_t len, const struct kgb_spec *spec)
{
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		KGB_AUTO(free) char *def = kgb_xasprintf("def %s(", spec->interfaces[i].entry);
		const size_t n = strlen(def);
		const char *at = text;
		while ((at = memmem(at, len - (size_t)(at - text), def, n))) {
			if (at == text || at[-1] == '\n')
				return true;
			at++;
		}
	}
	return false;
}

struct search {
	const struct kgb_spec *spec;
	const char *any, *entry; /* the last block, and the last that defines a function */
	size_t any_len, entry_len;
};

static void on_block(void *payload, const char *block, size_t len)
{
	struct search *search = payload;
	search->any = block;
	search->any_len = len;
	if (!defines_entry(block, len, search->spec))
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
	if (!strstr(reply, "```") && defines_entry(reply, strlen(reply), spec))
		return kgb_xstrdup(reply);
	*out_source = NULL;
	return NULL;
}
