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

#define KGB_LANE_OF_NO_WARP (1u << 21) /* bit in a lane's number: it races with no other warp */
/* The lane of a load of one place for all lanes: each warp does it, so it races with a store before
 * it by any lane. */
#define KGB_LANE_OF_ALL_WARPS KGB_LANE_OF_NO_WARP

/** The source of an access. Lanes of a program with the same number are one thread; lanes of one
 * aligned group of KGB_MACHINE_WARP run in step, as a warp does. */
struct kgb_thread {
	uint32_t program; /* its number in the grid */
	uint32_t lane; /* of a block, from 1 on; 0: the access belongs to no single lane */
	uint32_t barriers; /* number that the program has passed */
	uint32_t moves; /* barriers, and operations that move values between lanes */
	uint32_t stores; /* number that the program has begun */
	bool is_early; /* the access is a load that a GPU executes before some of these stores */
	uint32_t found; /* number of the last store before such a load */
};

/** A logged access to an element, for the detection of races. */
struct kgb_mark {
	uint32_t program; /* its number + 1; 0: no access */
	uint32_t time; /* kgb_order__time at the access */
	uint32_t lane; /* as in struct kgb_thread */
	uint32_t phase; /* barriers of a writer, moves of a reader; low 24 bits */
	uint32_t store; /* number of the store, or of the last one before the access; low 25 bits */
};
/** A mark in two words. `who`, from bit 0 on: program (25 bits), lane (22), low bits of the store
 * (17). `when`: time (32), phase (24), the other bits of the store. */
struct kgb_packed_mark {
	uint64_t who, when;
};
struct kgb_shadow {
	struct kgb_packed_mark writer; /* the last write that is not atomic */
	struct kgb_packed_mark readers[2]; /* the last reads, of two programs or of two warps */
};

struct kgb_memory_range {
	const struct kgb_machine_buffer *buffer; /* borrowed */
	uint32_t index; /* in the launch */
	struct kgb_shadow *shadow; /* owned; NULL: no detection of races, or no writes */
};

struct kgb_memory {
	struct kgb_memory_range *ranges; /* owned; by address */
	uint32_t n_ranges;
	uint32_t shift; /* an entry of a shadow stands for 2^shift bytes */
	struct kgb_order *order; /* owned; of the programs; NULL: no detection of races */
	bool has_warps; /* a program has several warps: its lanes can race, too */
};

/** The buffer of the last access: the next access tries it first. */
struct kgb_memory_view {
	uint64_t address, bytes;
	uint8_t *data;
	const struct kgb_memory_range *range;
};

/** LIMIT: shadows would need too much memory. `least_access`: bytes of the smallest element. */
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

/** Logs an access to [address, address + bytes) in a range that has a shadow. -1: it races; *other
 * is then the mark of the other access. */
int kgb_memory__note(struct kgb_memory *memory, const struct kgb_memory_range *range,
		     uint64_t address, uint64_t bytes, enum kgb_access access,
		     const struct kgb_thread *who, struct kgb_mark *other);

#endif
