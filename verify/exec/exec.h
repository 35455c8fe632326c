/* SPDX-License-Identifier: MIT */
/** \file
 * What the judge and kgb-exec say to each other. kgb-exec replays plans on a GPU: it owns no
 * secret, decides nothing, and every byte that it returns is data to be checked, because the
 * kernels that it runs are hostile code in its own GPU address space. One SOCK_SEQPACKET socket
 * (descriptor KGB_EXEC_FD); requests and replies are fixed structs, one datagram each, little
 * endian.
 */
#ifndef KGB_VERIFY_EXEC_EXEC_H
#define KGB_VERIFY_EXEC_EXEC_H

#include <stdint.h>

#define KGB_EXEC_FD 3
#define KGB_EXEC_MAGIC 0x4558474bu /* "KGXE" */
#define KGB_EXEC_VERSION 1
#define KGB_EXEC_RANGES 16
#define KGB_EXEC_PLANS_MAX 64
#define KGB_EXEC_NO_PLAN UINT32_MAX
#define KGB_EXEC_SAMPLES_MAX 4096
#define KGB_EXEC_TEXT 1024

enum kgb_exec_op {
	KGB_EXEC_OPEN, /* make a context on `device`; value of the reply: bytes of L2 cache */
	KGB_EXEC_ARENA, /* descriptors [input, output]: memfds of n_slots * arena_bytes and
			   output_bytes. Replaces an earlier arena */
	KGB_EXEC_PLAN, /* descriptor [record]: one window and its images become plan `plan` */
	KGB_EXEC_RUN, /* run plan once, untimed */
	KGB_EXEC_TIME, /* run plan n_samples times in fresh mode */
	KGB_EXEC_FORGET, /* drop all plans and their memory */
	KGB_EXEC_N_OPS,
};

/** Device memory to bring back. */
struct kgb_exec_range {
	uint64_t address, bytes;
};

struct kgb_exec_request {
	uint32_t magic;
	uint16_t version;
	uint16_t op;
	uint64_t id;
	uint32_t device; /* OPEN */
	uint32_t plan; /* PLAN, RUN, TIME */
	uint32_t prologue; /* RUN, TIME: plan to run before on the same memory, or KGB_EXEC_NO_PLAN */
	int32_t skip; /* RUN: number of an op that is left out, -1 none */
	uint32_t slot; /* RUN: which input image; TIME: the first one, the next sample takes the next,
			  round robin */
	uint32_t n_slots; /* ARENA, TIME: how many input images there are / are rotated */
	uint32_t n_samples; /* TIME */
	uint32_t flags; /* KGB_EXEC_* below */
	uint64_t poison; /* RUN, TIME: seed of the random bytes that all pool memory and slack is
			    filled with before each run */
	uint64_t arena_bytes; /* ARENA */
	uint64_t output_bytes; /* ARENA */
	uint64_t flush_bytes; /* TIME: written before each run to clear the caches */
	uint32_t n_ranges; /* RUN, TIME: brought back after the (last) run */
	uint32_t zero;
	struct kgb_exec_range ranges[KGB_EXEC_RANGES];
};
#define KGB_EXEC_WITH_ACTIVITY 1u /* TIME: also CUPTI's time from first start to last end */

/* After RUN and TIME the output memfd holds the arena as the (last) run left it, then every range at
 * the next multiple of 64, then, after TIME, n_samples of struct kgb_exec_sample at the next
 * multiple of 64. */
struct kgb_exec_sample {
	uint64_t event_ns; /* CUDA events around the ops, on an idle stream with cold caches */
	uint64_t activity_ns; /* 0: not measured */
	uint64_t host_ns; /* this process' clock from the first launch to the end of the stream */
	uint32_t slot;
	uint32_t sm_mhz; /* clock before the sample, 0 unknown */
};

/* How a request ended. Values are part of the protocol: append only. */
enum kgb_exec_status {
	KGB_EXEC_OK,
	KGB_EXEC_BAD_REQUEST, /* text says what */
	KGB_EXEC_UNAVAILABLE, /* no driver, no device: text says what is missing */
	KGB_EXEC_BAD_PLAN, /* cannot be replayed: an op that has no counterpart, a kernel that the
			      image does not hold, wrong size of parameters */
	KGB_EXEC_NO_MEMORY,
	KGB_EXEC_RESERVATION, /* the address range is taken in this process: start another one */
	KGB_EXEC_GPU_FAULT, /* illegal address, trap ...: this process is of no further use */
	KGB_EXEC_SLACK, /* a run wrote outside all blocks, on mapped memory: address in `value` */
	KGB_EXEC_N_STATUSES,
};

struct kgb_exec_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t status;
	uint64_t id;
	uint64_t value;
	uint64_t wall_ns; /* of the whole request */
	uint32_t cuda_error; /* CUresult, 0 none */
	uint32_t text_len;
	char text[KGB_EXEC_TEXT];
};

_Static_assert(sizeof(struct kgb_exec_request) == 88 + 16 * KGB_EXEC_RANGES, "no padding");
_Static_assert(sizeof(struct kgb_exec_sample) == 32, "no padding");
_Static_assert(sizeof(struct kgb_exec_reply) == 40 + KGB_EXEC_TEXT, "no padding");

#endif
