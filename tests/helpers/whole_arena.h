/* SPDX-License-Identifier: MIT */
/** \file
 * kgb_exec_client_arena without parts.
 */
#ifndef KGB_TESTS_HELPERS_WHOLE_ARENA_H
#define KGB_TESTS_HELPERS_WHOLE_ARENA_H

#include "verify/process/exec_client.h"

static inline enum kgb_exec_outcome send_whole_arena(struct kgb_exec_client *exec, int input_fd,
						     uint64_t arena_bytes, uint32_t n_slots,
						     int output_fd, uint64_t output_bytes,
						     int64_t timeout_ms, struct kgb_err *err)
{
	const struct kgb_exec_arena_spec spec = {.input_fd = input_fd,
						 .output_fd = output_fd,
						 .arena_bytes = arena_bytes,
						 .output_bytes = output_bytes,
						 .n_slots = n_slots};

	return kgb_exec_client_arena(exec, &spec, timeout_ms, err);
}

#endif
