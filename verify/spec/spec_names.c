/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/str.h"
#include "verify/spec/spec_loader.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool is_made_of(const char *s, const char *accepted)
{
	return *s && s[strspn(s, accepted)] == '\0' && strlen(s) <= 128;
}

bool kgb_spec__is_identifier(const char *s)
{
	return is_made_of(s, LETTERS DIGITS "_") && !strchr(DIGITS, *s);
}

/* "namespace::name"; the namespace may not end in '_', or the safe name could be read in two ways.
 */
bool kgb_spec__is_operator_name(const char *s)
{
	const char *colons = strstr(s, "::");
	if (!colons || colons == s || colons[-1] == '_' || !kgb_spec__is_identifier(colons + 2))
		return false;
	KGB_AUTO(free) char *namespace = kgb_xstrndup(s, (size_t)(colons - s));
	return kgb_spec__is_identifier(namespace) && !strstr(namespace, "__");
}

/* "file.py:function", the file right in the reference folder. */
bool kgb_spec__is_python_target(const char *s)
{
	const char *colon = strstr(s, ".py:");
	if (!colon || !kgb_spec__is_identifier(colon + 4))
		return false;
	KGB_AUTO(free) char *stem = kgb_xstrndup(s, (size_t)(colon - s));
	return kgb_spec__is_identifier(stem);
}

/* "add.Tensor" or "mm". */
bool kgb_spec__is_aten_target(const char *s)
{
	const char *dot = strchr(s, '.');
	if (dot && !kgb_spec__is_identifier(dot + 1))
		return false;
	KGB_AUTO(free) char *name = dot ? kgb_xstrndup(s, (size_t)(dot - s)) : kgb_xstrdup(s);
	return kgb_spec__is_identifier(name);
}

bool kgb_spec_is_result(const char *name, int64_t *number)
{
	const char *digits = name + strlen("result");

	if (!kgb_str_starts(name, "result"))
		return false;
	*number = 0;
	return *digits == '\0' || kgb_parse_i64(digits, 1, KGB_MAX_RESULTS - 1, number, NULL) == 0;
}

size_t kgb_interface_called_params(const struct kgb_interface *interface, struct kgb_param *out)
{
	size_t n = 0;

	for (size_t i = 0; i < interface->n_params; i++) {
		const struct kgb_param *param = &interface->params[i];
		if (param->is_behind)
			continue;
		if (i > 0 && param->list && kgb_str_eq(param->list, interface->params[i - 1].list))
			continue;
		out[n] = *param;
		if (param->list)
			out[n].name = param->list;
		n++;
	}
	return n;
}

char *kgb_safe_name(const char *name)
{
	const char *colons = strstr(name, "::");
	if (!colons)
		return kgb_xstrdup(name);
	return kgb_xasprintf("%.*s__%s", (int)(colons - name), name, colons + 2);
}

/* Part of a case's name: no slash, no blank. */
bool kgb_spec__is_case_id(const char *s)
{
	return is_made_of(s, LETTERS DIGITS "_=.,+-");
}
