/* SPDX-License-Identifier: MIT */
/** \file
 * The request to `kgb-judge verify`: one JSON document on its standard input. kgb-judge writes one
 * verdict, also JSON, to its standard output. */
#ifndef KGB_VERIFY_PROTOCOL_JUDGE_REQUEST_H
#define KGB_VERIFY_PROTOCOL_JUDGE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#define KGB_JUDGE_REQUEST_MAX ((size_t)64 << 10)
#define KGB_JUDGE_FAILURES_MAX 4096 /* more than an operator can have cases */
#define KGB_JUDGE_FAILURES_OF_CHECK 20 /* after which a check of an agent ends */
#define KGB_JUDGE_LANES_MAX 32 /* seats on a GPU (gpu_lease.h) */

/** Defaults of limits, of a request and of the settings `limits.*`. */
#define KGB_VERIFY_TIMEOUT "300s"
#define KGB_CALL_TIMEOUT "60s"
#define KGB_CANDIDATE_MEMORY "8GiB"

enum kgb_purpose {
	KGB_PURPOSE_FINAL, /* the verdict that counts */
	KGB_PURPOSE_AGENT, /* a check at the request of an agent */
};

/** The precision of a timing (docs/timing.md). */
enum kgb_timing_precision {
	KGB_PRECISION_QUICK, /* for checks while an agent works */
	KGB_PRECISION_STANDARD, /* a final verdict */
	KGB_PRECISION_THOROUGH, /* a figure to publish */
	KGB_N_PRECISIONS,
};
/** "quick", ..., and NULL. */
extern const char *const kgb_timing_precision_names[KGB_N_PRECISIONS + 1];
#define KGB_TIMING_PRECISION "standard"

/** The document's keys are the members' names; judge_request.c describes them. Texts are
 * borrowed. */
struct kgb_judge_request {
	const char *spec, *kernel;
	int purpose; /* enum kgb_purpose */
	const char *device;
	const char *seed; /* 32 hexadecimal digits; NULL: from the OS */
	bool timing;
	int timing_precision; /* enum kgb_timing_precision */
	const char *baseline;
	int64_t timeout_ms, call_timeout_ms; /* keys `timeout` and `call_timeout` */
	int64_t memory_bytes; /* key `memory` */
	int64_t max_failures;
	int64_t lanes; /* 0: by the free processors */
	bool cache;
	const char *zygotes; /* NULL: none run */
	const char *python; /* NULL: $KGB_PYTHON, else the one that setup installed */
	const char *cupti; /* NULL: the loader's path */
	int64_t parent; /* 0: none */
};

/** All defaults; their texts live in `arena`, spec and kernel are NULL. */
void kgb_judge_request_init(struct kgb_judge_request *request, struct kgb_arena *arena);
/** Read a document; texts live in `arena`. INVALID names line, key and remedy. */
KGB_MUST_CHECK int kgb_judge_request_read(const char *text, size_t len,
					  struct kgb_judge_request *request,
					  struct kgb_arena *arena, struct kgb_err *err);
/** Append the document. */
void kgb_judge_request_write(const struct kgb_judge_request *request, struct kgb_buf *out);
/** In a folder of warm workers, once they are ready: a link whose text is kgb_zygotes_stack. */
#define KGB_ZYGOTES_STACK "stack"
/** Identity of the code of warm workers: the interpreter and the programs of a data folder, with
 * links resolved. The caller frees. */
char *kgb_zygotes_stack(const char *python, const char *data_dir);
/** The folder of the warm workers that KGB_ZYGOTES offers for this device ("cpu", "cuda:0"), if
 * they run the same code: all runs and judges share them. NULL: none; the caller frees. */
char *kgb_shared_zygotes(const char *device, const char *python, const char *data_dir);
/** Append each key with its meaning and its default, for a help text. */
void kgb_judge_request_describe(struct kgb_buf *out);

#endif
