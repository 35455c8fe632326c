/* SPDX-License-Identifier: MIT */
/** \file
 * What a call of each watched driver function means for the record. The tracer's mutex is held.
 */
#ifndef KGB_VERIFY_TRACE_HANDLERS_H
#define KGB_VERIFY_TRACE_HANDLERS_H

#include <cupti.h>

#include "verify/trace/tracer.h"

/** One call of a driver function. */
struct kgb_driver_call {
	struct kgb_tracer *tracer;
	const void *params; /* the struct that CUPTI defines for the function */
	const char *name;
	CUresult result; /* on exit */
	bool per_thread; /* a variant whose default stream is the thread's own */
};

/* Flags of a row; see verify/trace/watched.h. */
enum {
	KGB_WATCH_IN_WINDOW = 1,
	KGB_WATCH_ON_ENTRY = 2,
	KGB_WATCH_EVEN_FAILED = 4,
	KGB_WATCH_NEEDED = 8,
	KGB_WATCH_PER_THREAD = 16,
};

struct kgb_watched {
	uint16_t id; /* CUpti_driver_api_trace_cbid */
	uint16_t flags;
	void (*handler)(const struct kgb_driver_call *call);
	const char *name;
};

/** All rows, no id twice. */
const struct kgb_watched *kgb_watched_rows(size_t *n);

#endif
