/* SPDX-License-Identifier: MIT */
/** \file
 * The buffers of a launch as the machine's memory: addresses, checks, and the log of accesses. */
#ifndef KGB_VERIFY_PROGRAM_MEMORY_H
#define KGB_VERIFY_PROGRAM_MEMORY_H

#include "verify/program/launch.h"
#include "verify/program/order.h"

enum kgb_access {
	KGB_ACCESS_READ,
	KGB_ACCESS_WRITE,
	KGB_ACCESS_REPEAT, /* writes the present value: no order of the programs changes it */
	KGB_ACCESS_ATOMIC, /* reads and writes */
};

#define KGB_LANE_OF_NO_WARP (1u << 21) /* in the number of a lane: no other warp races with it */

/** The source of an access. Lanes of a program with the same number are one thread; lanes of one
 * aligned group of KGB_MACHINE_WARP run in step, as a warp does. */
struct kgb_thread {
	uint32_t program; /* its number in the grid */
	uint32_t lane; /* of a block, from 1 on; 0: of no lane */
	uint32_t barriers; /* that the program has passed */
	uint32_t moves; /* those, and operations that move values between lanes */
	uint32_t stores; /* that the program has begun */
	bool is_early; /* it loads before some of them: */
	uint32_t found; /* the last store whose work it finds then */
};

/** The last accesses to an element, for races. A program is its number + 1, 0 none; a time is that
 * of the order. */
struct kgb_mark {
	uint32_t program, time, lane;
	uint32_t phase; /* barriers of a writer, moves of a reader; 24 bits */
	uint32_t store; /* that it belongs to, or that was before it; 25 bits */
};
/** A mark: its program in 25 bits, lane in 22, store in 17; its time in 32, phase in 24, the rest
 * of its store. */
struct kgb_packed_mark {
	uint64_t who, when;
};
struct kgb_shadow {
	struct kgb_packed_mark writer; /* the last one, not an atomic one */
	struct kgb_packed_mark readers[2]; /* the last ones, of two programs, or of two warps */
};

struct kgb_memory_range {
	const struct kgb_machine_buffer *buffer; /* borrowed */
	uint32_t index; /* in the launch */
	struct kgb_shadow *shadow; /* owned; NULL: no detection of races, or no writes */
};

struct kgb_memory {
	struct kgb_memory_range *ranges; /* owned; by address */
	uint32_t n_ranges;
	uint32_t shift; /* an element of the shadow has 2^shift bytes */
	struct kgb_order *order; /* owned; of the programs; NULL: no detection of races */
	bool has_warps; /* more than one for each program: its lanes race, too */
};

/** A part of memory that an access is compared with first. */
struct kgb_memory_view {
	uint64_t address, bytes;
	uint8_t *data;
	const struct kgb_memory_range *range;
};

/** LIMIT: too much memory is needed for shadows. `least_access` is the smallest element's size. */
KGB_MUST_CHECK int kgb_memory__init(struct kgb_memory *memory,
				    const struct kgb_machine_launch *launch, uint64_t n_programs,
				    uint32_t least_access, struct kgb_err *err);
void kgb_memory__release(struct kgb_memory *memory);

/** The range that has the address, or the nearest below it; NULL: there is none. */
const struct kgb_memory_range *kgb_memory__find(const struct kgb_memory *memory, uint64_t address);

/** Whether its buffer contains all of [address, address + bytes). */
bool kgb_memory__holds(const struct kgb_memory_range *range, uint64_t address, size_t bytes);

/** Whether a thread's load comes too early to find what the marked access wrote. */
bool kgb_memory__is_missed(const struct kgb_mark *mark, const struct kgb_thread *who);

/** Logs an access to [address, address + bytes) in a range that has a shadow, and returns -1 if it
 * races, with the other's mark in *other. */
int kgb_memory__note(struct kgb_memory *memory, const struct kgb_memory_range *range,
		     uint64_t address, uint64_t bytes, enum kgb_access access,
		     const struct kgb_thread *who, struct kgb_mark *other);

#endif
