/* SPDX-License-Identifier: MIT */
/** \file
 * The memory of one run at a time: blocks of the call and parts of the arena, at virtual addresses
 * that are not those of this process. An access to any other address fails. */
#ifndef KGB_VERIFY_EXEC_CPU_MEMORY_H
#define KGB_VERIFY_EXEC_CPU_MEMORY_H

#include "base/err.h"
#include "verify/program/launch.h"
#include "verify/protocol/spans.h"

struct kgb_cpu_memory {
	uint64_t limit_bytes; /* of all memory of a run */
	char *region; /* owned; holds all spans */
	size_t region_bytes;
	struct kgb_machine_buffer *buffers; /* owned; one for each span, by address */
	size_t n_buffers;
};

/** The limit is the memory of this machine. */
void kgb_cpu_memory_init(struct kgb_cpu_memory *memory);
void kgb_cpu_memory_release(struct kgb_cpu_memory *memory);

/** Make exactly these spans the memory; contents are undefined. NO_MEMORY: more than the limit. */
KGB_MUST_CHECK int kgb_cpu_memory_lay(struct kgb_cpu_memory *memory, const struct kgb_spans *spans,
				      struct kgb_err *err);
/** Free idle memory if it is large. */
void kgb_cpu_memory_forget(struct kgb_cpu_memory *memory);

/** The place in this process of `bytes` bytes at an address of a run; NULL unless all of them are
 * memory. For no bytes, some place that must not be used. */
void *kgb_cpu_memory_at(const struct kgb_cpu_memory *memory, uint64_t address, uint64_t bytes);

/** Fill these spans of it with the poison of kgb_exec_poison_word. */
void kgb_cpu_memory_poison(const struct kgb_cpu_memory *memory, const struct kgb_spans *spans,
			   uint64_t seed);

#endif
