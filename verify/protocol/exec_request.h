/* SPDX-License-Identifier: MIT */
/** \file
 * Shared computations of both sides of verify/protocol/exec_protocol.h: the check of a request, the
 * places of its results in the output memory, and the bytes of poison. */
#ifndef KGB_VERIFY_PROTOCOL_EXEC_REQUEST_H
#define KGB_VERIFY_PROTOCOL_EXEC_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "verify/protocol/exec_protocol.h"

/** "open", "arena", ... */
const char *kgb_exec_op_name(enum kgb_exec_op op);

/** Check that this datagram is a request that is valid in some state. Counts, flags, sizes and the
 * number of descriptors are checked; whether plans and slots exist is not. INVALID names the
 * field. */
KGB_MUST_CHECK int kgb_exec_request_check(const struct kgb_exec_request *request, size_t len,
					  size_t n_fds, struct kgb_err *err);

/** Places of the results of a RUN or TIME in the output memory, in bytes from its start. */
struct kgb_exec_layout {
	uint64_t ranges[KGB_EXEC_RANGES];
	uint64_t samples; /* TIME only, else 0 */
	uint64_t bytes; /* all of it */
};
/** INVALID when the sizes of a checked RUN or TIME request add up to more than KGB_EXEC_OUTPUT_MAX.
 */
KGB_MUST_CHECK int kgb_exec_layout(const struct kgb_exec_request *request, uint64_t arena_bytes,
				   struct kgb_exec_layout *out, struct kgb_err *err);

/** The eight poison bytes (little endian) at a device address that is a multiple of 8:
 *
 *     x = seed + (address / 8) * 0x9e3779b97f4a7c15
 *     twice: x = (x ^ x >> 32) * 0xd6e8feb86659fd93
 *     x ^ x >> 32
 *
 * A counter-based generator: any byte can be computed without the ones before it. */
uint64_t kgb_exec_poison_word(uint64_t seed, uint64_t address);

/** How far the `bytes` of a range are turned in slot number `slot` of `n_slots`: byte i of the
 * image is at (i - turn) modulo `bytes`. A multiple of 256, so that elements stay whole; 0 for a
 * range of fewer than 256 bytes for each slot. */
uint64_t kgb_exec_turn(uint64_t bytes, uint32_t slot, uint32_t n_slots);

#endif
