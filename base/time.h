/* SPDX-License-Identifier: MIT */
/** \file
 * Two clocks: monotonic for intervals, wall for records. Records use RFC 3339 UTC with
 * milliseconds.
 */
#ifndef KGB_BASE_TIME_H
#define KGB_BASE_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

int64_t kgb_mono_ns(void);
int64_t kgb_mono_ms(void);
int64_t kgb_wall_ms(void); /* since the Unix epoch */
/** Wait for at least this time, also across signals; return at once for 0. */
void kgb_sleep_ns(uint64_t ns);

#define KGB_TIME_LEN 25 /* "2026-11-21T08:43:48.123Z" and the NUL */
void kgb_time_format(int64_t wall_ms, char out[KGB_TIME_LEN]);
/** "20261121T084348Z" for directory names. */
#define KGB_TIME_COMPACT_LEN 17
void kgb_time_format_compact(int64_t wall_ms, char out[KGB_TIME_COMPACT_LEN]);
KGB_MUST_CHECK int kgb_time_parse(const char *s, int64_t *out_wall_ms, struct kgb_err *err);
/** "1.2 s", "340 ms", "3 m 05 s" for people; returns out. */
const char *kgb_duration_format(int64_t ms, char *out, size_t cap);

#endif
