/* SPDX-License-Identifier: MIT */
/** \file
 * JSON: whatever the strict reader accepts, cJSON accepts, and it reads back equal after it was
 * written.
 */
#include <stdint.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_tree(const cJSON *json, int indent, struct kgb_buf *out)
{
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, out, indent);
	kgb_jsonw_tree(&w, json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *json = NULL;
	KGB_AUTO(json) cJSON *again = NULL;
	KGB_AUTO(buf) struct kgb_buf first = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf pretty = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf second = KGB_BUF_INIT(0);

	if (kgb_json_parse((const char *)data, size, &json, &err) < 0) {
		KGB_ASSERT(err.kind == KGB_ERR_INVALID || err.kind == KGB_ERR_LIMIT);
		return 0;
	}
	write_tree(json, 0, &first);
	write_tree(json, 2, &pretty);
	int rc = kgb_json_parse(pretty.ptr, pretty.len, &again, &err);
	KGB_ASSERT(rc == 0);
	write_tree(again, 0, &second);
	KGB_ASSERT(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
	kgb_json_str(json, "a.b.0", NULL);
	kgb_json_i64(json, "a", 0);
	return 0;
}
