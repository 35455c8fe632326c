/* SPDX-License-Identifier: MIT */
/** \file
 * Decoding: settings that were decoded and printed decode to settings that print the same. Inputs
 * that start with "=" are "=path=text" for kgb_decode_set.
 */
#include <stdint.h>

#include "base/formats/decode.h"
#include "tests/unit/base/decode_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_print(const struct settings *settings, bool docs)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	KGB_AUTO(buf) struct kgb_buf first = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf second = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct settings back;

	kgb_decode_print(settings_table, settings, docs, &first);
	int rc = kgb_yaml_parse("printed", first.ptr, first.len, &doc, &err);
	/* Quoting may push a document over the cap. */
	if (rc < 0 && err.kind == KGB_ERR_LIMIT)
		return;
	KGB_ASSERT(rc == 0);
	rc = kgb_decode(settings_table, &doc, doc.root, &back, &arena, &err);
	KGB_ASSERT(rc == 0);
	kgb_decode_print(settings_table, &back, docs, &second);
	KGB_ASSERT(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
}

static void fuzz_set(const char *text)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct settings settings;

	const char *split = strchrnul(text, '=');
	KGB_AUTO(free) char *path = kgb_xstrndup(text, (size_t)(split - text));
	kgb_decode_defaults(settings_table, &settings, &arena);
	int rc = kgb_decode_set(settings_table, path, *split ? split + 1 : split, "fuzz", &settings,
				&arena, &err);
	KGB_ASSERT(rc == 0 || err.kind == KGB_ERR_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct settings settings;

	if (size > 0 && data[0] == '=') {
		KGB_AUTO(free) char *text = kgb_xstrndup((const char *)data + 1, size - 1);
		fuzz_set(text);
		return 0;
	}
	if (kgb_yaml_parse("fuzz", (const char *)data, size, &doc, &err) < 0 ||
	    kgb_decode(settings_table, &doc, doc.root, &settings, &arena, &err) < 0)
		return 0;
	check_print(&settings, false);
	check_print(&settings, true);
	return 0;
}
