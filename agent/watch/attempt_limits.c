/* SPDX-License-Identifier: MIT */
#include "agent/watch/attempt_limits.h"

#include <stdarg.h>
#include <stdio.h>

void kgb_broken_limit_set(struct kgb_broken_limit *broken, enum kgb_agent_end end, const char *name,
			  int64_t limit, int64_t measured, const char *fmt, ...)
{
	va_list ap;
	if (broken->name)
		return;
	broken->name = name;
	broken->end = end;
	broken->limit = limit;
	broken->measured = measured;
	va_start(ap, fmt);
	vsnprintf(broken->why, sizeof(broken->why), fmt, ap);
	va_end(ap);
}
