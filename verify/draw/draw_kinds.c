/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "verify/draw/draw.h"

unsigned kgb_draw_kinds(const cJSON *node)
{
	const cJSON *item = NULL;
	unsigned kinds = 0;
	int64_t whole = 0;

	if (cJSON_IsBool(node))
		return KGB_DRAW_BOOL;
	if (cJSON_IsNumber(node))
		return kgb_yaml_whole(node, &whole) ? KGB_DRAW_WHOLE : KGB_DRAW_FLOAT;
	if (cJSON_IsString(node) && node->valuestring[0] != '$')
		return KGB_DRAW_FLOAT; /* .inf */
	if (cJSON_IsString(node))
		return node->valuestring[1] == '('
			       ? KGB_DRAW_WHOLE
			       : KGB_DRAW_WHOLE | KGB_DRAW_FLOAT | KGB_DRAW_BOOL;
	if (cJSON_IsObject(node) && kgb_str_eq(node->child->string, "float"))
		return KGB_DRAW_FLOAT;
	/* The bounds of other forms are whole numbers, and their conditions, too. */
	cJSON_ArrayForEach(item, node)
		kinds |= kgb_draw_kinds(item);
	return kinds;
}

int kgb_draw_find_gap(const cJSON *values)
{
	int number = -1, i = 0;
	bool has_int = false;
	const cJSON *value = NULL;

	cJSON_ArrayForEach(value, values) {
		has_int |= cJSON_HasObjectItem(value, "int");
		if (number < 0 && cJSON_IsNumber(value))
			number = i;
		i++;
	}
	return has_int ? number : -1;
}
