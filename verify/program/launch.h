/* SPDX-License-Identifier: MIT */
/** \file
 * A launch of a program on the CPU: its memory, arguments, grid and limits, and the fault that
 * ended it.
 */
#ifndef KGB_VERIFY_PROGRAM_LAUNCH_H
#define KGB_VERIFY_PROGRAM_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** Memory that a launch may touch. */
struct kgb_machine_buffer {
	void *data; /* borrowed */
	size_t bytes;
	uint64_t address; /* its address for the kernel; modulo 8 the same as `data`; buffers do not
			     overlap */
	bool is_writable;
};
/** An address for a launch's buffer i: far from all others, and a multiple of 2^40. */
uint64_t kgb_machine_address(uint32_t i);

#define KGB_MACHINE_DESCRIPTOR_RANK 5
/** A tensor descriptor that the host made. */
struct kgb_machine_descriptor {
	uint64_t address;
	int64_t shape[KGB_MACHINE_DESCRIPTOR_RANK];
	int64_t strides[KGB_MACHINE_DESCRIPTOR_RANK]; /* in elements */
	bool pads_with_nan; /* elements outside read as NaN, not 0 */
};
struct kgb_machine_argument {
	uint64_t bits; /* a scalar, in the low bytes, or a pointer's address */
	const struct kgb_machine_descriptor *descriptor; /* borrowed; NULL: not a descriptor */
};

/** A GPU's limits on a launch. */
#define KGB_MACHINE_GRID_X_MAX 0x7fffffffu
#define KGB_MACHINE_GRID_YZ_MAX 65535u
#define KGB_MACHINE_FUEL (INT64_C(1) << 32) /* steps of one program: about two minutes */
#define KGB_MACHINE_THREADS_MAX 64
#define KGB_MACHINE_WARP 32 /* lanes */

struct kgb_machine_launch {
	const struct kgb_machine_buffer *buffers; /* borrowed */
	uint32_t n_buffers;
	const struct kgb_machine_argument *arguments; /* borrowed */
	uint32_t n_arguments;
	uint32_t grid[3];
	uint64_t seed; /* of the order of programs, and of values in undefined lanes */
	int n_threads; /* 0: as many as cores */
	int64_t fuel; /* steps of each program, of about 20 ns; 0: KGB_MACHINE_FUEL */
	bool finds_races; /* log accesses, to detect races; takes 48 bytes for each element of a
			     writable buffer */
	bool has_warps; /* a program has several warps: its lanes can race, too */
	/** Borrowed; a byte for each condition of the program, to which the launch adds what
	 * occurs: KGB_OUTCOME_*, and from bit KGB_OUTCOME_BITS on the number of lanes that had one,
	 * of KGB_OUTCOME_LANES_MAX at most. NULL: nothing is noted. */
	uint8_t *outcomes;
};

/** An operation whose result is true or false, in each lane, and depends on what the kernel read
 * from memory. */
struct kgb_machine_condition {
	uint64_t place; /* in the kernel's source: as far as it goes the same in all its programs */
	uint32_t ordinal; /* number of conditions before it with the same place */
	int kernel_line; /* 0: the text has no locations */
	const char *kernel_file; /* owned by the program */
};
#define KGB_MACHINE_CONDITIONS_MAX 4096u
/** What it was in some lane. */
#define KGB_OUTCOME_TRUE 1u
#define KGB_OUTCOME_FALSE 2u
#define KGB_OUTCOME_BITS 2
#define KGB_OUTCOME_LANES_MAX 32u

enum kgb_machine_fault_kind {
	KGB_MACHINE_NO_FAULT,
	KGB_MACHINE_FAULT_ACCESS, /* an address in no buffer */
	KGB_MACHINE_FAULT_READ_ONLY, /* a store into a buffer that is not writable */
	KGB_MACHINE_FAULT_ALIGNMENT, /* an address that is no multiple of the element's size */
	KGB_MACHINE_FAULT_CLAIM, /* an argument that is less divisible than the program claims */
	KGB_MACHINE_FAULT_RACE, /* two programs, or warps of one, access one element in no order,
				   one of them writes, and not both are atomic */
	KGB_MACHINE_FAULT_INDEX, /* an index of gather, histogram, a descriptor or a loop */
	KGB_MACHINE_FAULT_ASSERT, /* tt.assert */
	KGB_MACHINE_FAULT_FUEL, /* more steps than allowed: an endless loop */
	KGB_MACHINE_FAULT_HINT, /* a value that contradicts tl.multiple_of or the like */
	KGB_N_MACHINE_FAULTS,
};
/** "access", "race", ... */
const char *kgb_machine_fault_name(enum kgb_machine_fault_kind kind);

struct kgb_machine_fault {
	enum kgb_machine_fault_kind kind;
	int line; /* of the text */
	int kernel_line; /* of the kernel's source; 0: the text has no locations */
	char kernel_file[48]; /* name without folders */
	uint32_t program[3]; /* program id */
	uint64_t address; /* of an access */
	int32_t buffer; /* the buffer with the address, or the nearest below it; -1: there is none,
			   or the fault is not an access */
	int64_t offset; /* bytes from the buffer's beginning */
	char message[256]; /* one line: the fault and its place */
};

#endif
