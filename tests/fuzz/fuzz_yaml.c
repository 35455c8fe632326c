/* SPDX-License-Identifier: MIT */
/** \file
 * YAML: every node of an accepted document has a position, and the tree is a JSON document.
 */
#include <stdint.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/formats/yaml.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_positions(const struct kgb_yaml *doc, const cJSON *node)
{
	int line, column;
	const cJSON *child;

	kgb_yaml_where(doc, node, &line, &column);
	KGB_ASSERT(line > 0 && column > 0);
	cJSON_ArrayForEach(child, node)
		check_positions(doc, child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	struct kgb_jsonw w;

	if (kgb_yaml_parse("fuzz", (const char *)data, size, &doc, &err) < 0) {
		KGB_ASSERT(err.kind == KGB_ERR_INVALID || err.kind == KGB_ERR_LIMIT);
		return 0;
	}
	check_positions(&doc, doc.root);
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_tree(&w, doc.root);
	/* The only difference in what the two accept: the length of a number. */
	int rc = kgb_json_parse(text.ptr, text.len, &json, &err);
	KGB_ASSERT(rc == 0 || err.kind == KGB_ERR_LIMIT);
	return 0;
}
