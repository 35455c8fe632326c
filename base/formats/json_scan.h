/* SPDX-License-Identifier: MIT */
/** \file
 * Internal to base: a strict scanner of the JSON grammar that builds nothing. It decides whether a
 * text is a document by our rules and finds positions; cJSON, which is lenient, only parses texts
 * that passed. */
#ifndef KGB_BASE_FORMATS_JSON_SCAN_H
#define KGB_BASE_FORMATS_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct kgb_json_scan {
	const char *text;
	size_t len;
	size_t pos; /* end of the scan; on a failure, the place of the fault */
	int depth;
	size_t n_nodes;
	size_t n_keys;
	size_t stop_at_key; /* 1-based: stop, successfully, at the start of this key; 0: never */
	const char *problem; /* why it failed: a static string */
	bool over_limit; /* the problem is a cap, not the grammar */
};

/** Scan one document with nothing but blanks around it. 0, or -1 with `pos` and `problem` set. */
int kgb_json__scan(struct kgb_json_scan *scan, const char *text, size_t len);
/** 1-based line, and column in characters, of a byte offset. */
void kgb_json__position(const char *text, size_t offset, int *line, int *column);

#endif
