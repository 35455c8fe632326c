/* SPDX-License-Identifier: MIT */
#include "sandbox/request/headers.h"

#include <string.h>

#include "base/mem.h"

/* Place of the value of that name; NULL: none. */
static char **find(const struct kgb_headers *headers, const char *name)
{
	for (size_t i = 0; i < headers->names.n; i++)
		if (strcmp(headers->names.items[i], name) == 0)
			return &headers->values.items[i];
	return NULL;
}

void kgb_headers_add(struct kgb_headers *headers, const char *name, const char *value)
{
	kgb_strv_add(&headers->names, name);
	kgb_strv_add(&headers->values, value);
}

void kgb_headers_add_all(struct kgb_headers *headers, const struct kgb_headers *more)
{
	for (size_t i = 0; i < more->names.n; i++)
		kgb_headers_add(headers, more->names.items[i], more->values.items[i]);
}

void kgb_headers_set(struct kgb_headers *headers, const char *name, const char *value)
{
	char **at = find(headers, name);
	if (!at) {
		kgb_headers_add(headers, name, value);
		return;
	}
	kgb_free(*at);
	*at = kgb_xstrdup(value);
}

const char *kgb_headers_find(const struct kgb_headers *headers, const char *name)
{
	char **at = find(headers, name);
	return at ? *at : NULL;
}

void kgb_headers_release(struct kgb_headers *headers)
{
	kgb_strv_release(&headers->names);
	kgb_strv_release(&headers->values);
}
