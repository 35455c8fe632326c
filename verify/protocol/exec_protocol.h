/* SPDX-License-Identifier: MIT */
/** \file
 * The protocol between the judge and kgb-exec. kgb-exec replays plans, on a GPU or, as
 * kgb-exec-cpu, by the machine for Triton's IR: it has no secret, makes no decision, and every byte
 * that it returns is data to be checked, because the kernels that it runs are hostile code in its
 * address space. One SOCK_SEQPACKET socket (descriptor KGB_EXEC_FD); requests and replies are fixed
 * structs, one datagram each, little endian. One reply follows each request; kgb-exec ends when the
 * socket is closed, and after a GPU_FAULT reply.
 *
 * On the CPU memory is exact: blocks of plan and prologue and the parts of the arena, no pages and
 * no slack. An access to any other memory is a KERNEL_FAULT. Times of the machine mean nothing:
 * MEASURE and TIME are UNAVAILABLE.
 *
 * Order: OPEN, which begins anew when it comes again; MEASURE before any PLAN; ARENA and PLAN any
 * number of times; RUN and TIME after both. Fields that a request does not use must be zero (`skip`
 * and `prologue` have special values for "none", only in RUN and TIME). */
#ifndef KGB_VERIFY_PROTOCOL_EXEC_PROTOCOL_H
#define KGB_VERIFY_PROTOCOL_EXEC_PROTOCOL_H

#include <stdint.h>

#define KGB_EXEC_FD 3
#define KGB_EXEC_MAGIC 0x4558474bu /* "KGXE" */
#define KGB_EXEC_VERSION 8
#define KGB_EXEC_RANGES 16
#define KGB_EXEC_PLANS_MAX 64
#define KGB_EXEC_SETS_MAX 16
/** Copies of an image of code, at different places on the GPU: an image of torch takes tens of ms
 * to load (docs/timing.md). */
#define KGB_EXEC_CODE_COPIES 8
#define KGB_EXEC_SLOTS_MAX 256
#define KGB_EXEC_NO_PLAN UINT32_MAX
#define KGB_EXEC_NO_PLACEMENT UINT32_MAX
#define KGB_EXEC_SAMPLES_MAX 4096
#define KGB_EXEC_FLUSH_MAX (UINT64_C(1) << 30)
#define KGB_EXEC_OUTPUT_MAX (UINT64_C(128) << 30)
#define KGB_EXEC_TEXT 1024

enum kgb_exec_op {
	KGB_EXEC_OPEN, /* make a context on `device`, or, where it is there, drop all sets; value of
			  the reply: bytes of L2 cache; text: the device's name */
	/** Descriptors [input, output]: memfds of at least (n_slots - n_turned) * arena_bytes and
	 * output_bytes, whose size is sealed. The last n_turned slots have no image of their own:
	 * slot s has image s % (n_slots - n_turned), in which the bytes of each of `ranges` are
	 * turned (kgb_exec_turn). All of the arena is memory then. On a GPU only. Replaces an
	 * earlier arena. Images may be kept from their first use on: send ARENA again after
	 * changing one. With `ranges` only these parts of the arena are memory, in pages of
	 * KGB_GPU_PAGE, and only these bytes of images and output are read and written: an access
	 * to another page faults. Without any, all of it is. */
	KGB_EXEC_ARENA,
	/** Descriptor [record]: its one window and its images become plan `plan`, replacing an
	 * earlier one of that number (which is gone in any case), also of another set. Value: bytes
	 * of GPU memory mapped for all plans of the set; on the CPU bytes of this plan's blocks. */
	KGB_EXEC_PLAN,
	KGB_EXEC_RUN, /* run plan once, untimed */
	KGB_EXEC_TIME, /* run plan n_samples times in fresh mode */
	/** Put `placement` in force, as the TIME that names it would do first: so several processes
	 * can do it at the same time. On a GPU only. */
	KGB_EXEC_PLACE,
	/** Load the code of all plans of the set to all places among which placements choose. On a
	 * GPU only. */
	KGB_EXEC_LOAD,
	/** Put `set` in force. A set is an arena, copies of its images on the device, and plans
	 * that run on it: ARENA, PLAN, RUN, TIME and FORGET are about the set in force (0 in the
	 * beginning). Only that one has memory at the addresses of arena and blocks, which loses
	 * its contents; no placement is in force afterwards. On a GPU only. */
	KGB_EXEC_SELECT,
	KGB_EXEC_FORGET, /* drop all plans of the set, and its copies of images; its arena stays.
			    Some memory of the plans may stay mapped, as slack */
	/** Measure the device: the reply's `machine` is complete. Tests some memory too. Only
	 * before any PLAN: hostile kernels could falsify the figures. */
	KGB_EXEC_MEASURE,
	/** Fill the output, from its start, with what the conditions of kernels were in all runs of
	 * whole plans since OPEN: structs kgb_exec_condition in the order of place and ordinal,
	 * each condition once. Value: their number. On the CPU only, and after an ARENA. NO_MEMORY:
	 * the output is too small. */
	KGB_EXEC_CONDITIONS,
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
	uint32_t prologue; /* RUN, TIME: plan to run before on the same memory, or KGB_EXEC_NO_PLAN;
			      the arena is zero for it, and is filled afterwards; its data in the
			      pool stay */
	int32_t skip; /* RUN: number of an op that is left out, -1 none; TIME: -1 */
	uint32_t slot; /* RUN: number of the input image; TIME: the first one, the next sample takes
			  the next, round robin over slots 0 .. n_slots - 1 */
	uint32_t n_slots; /* ARENA: number of inputs; TIME: number of them that samples use */
	uint32_t n_samples; /* TIME */
	uint32_t flags; /* RUN, TIME: KGB_EXEC_* below. ARENA: bit i: no op of a plan may write to
			   part i (checked on the CPU only) */
	uint64_t poison; /* RUN, TIME: seed of the random bytes that all pool memory and slack is
			    filled with before each run (kgb_exec_poison_word); sample i of TIME
			    has the seed kgb_exec_poison_word(poison, 8 * i) */
	uint64_t arena_bytes; /* ARENA */
	uint64_t output_bytes; /* ARENA */
	uint64_t flush_bytes; /* TIME: written and read before each run to clear the caches */
	uint32_t n_ranges; /* RUN, TIME: brought back after the (last) run. ARENA: its parts, or
			      the bytes that turn, in order, apart from each other, in arena_bytes
			      from KGB_ARENA_ADDRESS on */
	/** PLACE, TIME: number of the placement in the GPU's memory. Unless it is the number in
	 * force (0 in the beginning) other pages replace all physical memory of arena and blocks,
	 * at the same addresses. The number seeds their places; an earlier number need not give the
	 * same pages again. NO_MEMORY, without a change, when twice the memory is not available for
	 * a moment. */
	uint32_t placement;
	uint32_t n_turned; /* ARENA: number of slots that are turned images, below n_slots */
	uint32_t set; /* SELECT */
	struct kgb_exec_range ranges[KGB_EXEC_RANGES];
};
/** TIME: run n_samples more under CUPTI, for the time from the first start to the last end. The
 * events of the samples are not taken under CUPTI. CUPTI stays loaded, so make it the last
 * measurement of a process. Without CUPTI activity_ns is 0 and the text of the (good) reply gives
 * the cause. */
#define KGB_EXEC_WITH_ACTIVITY 1u
/** RUN, TIME: only the ranges are brought back; the output's part for the arena stays as it was. */
#define KGB_EXEC_WITHOUT_ARENA 2u
/** RUN on the CPU: the input has values that no valid call has. What the conditions are is noted
 * apart, and a program has little fuel. */
#define KGB_EXEC_OUTSIDE 4u

/* After RUN and TIME the output memfd holds the arena as the (last) run left it, then every range
 * at the next multiple of 64, then, after TIME, n_samples of struct kgb_exec_sample at the next
 * multiple of 64 (kgb_exec_layout). */
struct kgb_exec_sample {
	uint64_t event_ns; /* CUDA events around the ops, on an idle stream with cold caches */
	uint64_t activity_ns; /* 0: not measured */
	uint64_t host_ns; /* this process's clock, from the release of the first op to the detected
			     end */
	uint32_t slot;
	uint32_t sm_mhz; /* clock before the sample, 0 unknown */
};

/** A condition of a kernel: an operation of Triton's IR whose result is true or false
 * (docs/machine.md). Modules that are compiled from one place in the source share it. */
struct kgb_exec_condition {
	uint64_t place; /* a hash of the location in the source */
	uint32_t ordinal; /* number of conditions of its module before it with that place */
	uint32_t line; /* of the source; 0: unknown */
	uint32_t outcomes; /* that occurred: KGB_EXEC_WAS_* */
	uint32_t outside; /* that occurred in runs with KGB_EXEC_OUTSIDE */
	uint32_t lanes; /* that had an outcome since the last CONDITIONS: some of many */
	char file[36]; /* of the source, without folders */
};
#define KGB_EXEC_WAS_TRUE 1u
#define KGB_EXEC_WAS_FALSE 2u
#define KGB_EXEC_CONDITIONS_MAX 65536u

/* The end of a request. Values are part of the protocol: append only. */
enum kgb_exec_status {
	KGB_EXEC_OK,
	KGB_EXEC_BAD_REQUEST, /* text: the fault */
	KGB_EXEC_UNAVAILABLE, /* no driver, no device: the text names it */
	KGB_EXEC_BAD_PLAN, /* cannot be replayed: an op without a counterpart, a kernel that the
			      image lacks, wrong size of parameters */
	KGB_EXEC_NO_MEMORY,
	KGB_EXEC_RESERVATION, /* the address range is taken in this process: start another one */
	/** Illegal address, trap ...: the process must end. `value`: number of the first op without
	 * a mark of its end; UINT64_MAX: unknown. */
	KGB_EXEC_GPU_FAULT,
	/** A run wrote outside all blocks of its plans, on mapped memory: lowest address in
	 * `value`. The results are brought back nevertheless. */
	KGB_EXEC_SLACK,
	/** CPU: the machine ended a kernel for a fault: device_error is an enum kgb_exec_fault,
	 * `value` the number of the op, UINT64_MAX one of the prologue. The process goes on. */
	KGB_EXEC_KERNEL_FAULT,
	/** CPU: a module has an operation that the machine lacks, or is too large for it. `value`:
	 * number of an op that launches it. */
	KGB_EXEC_UNSUPPORTED,
	KGB_EXEC_N_STATUSES,
};

/** Faults for which the machine for Triton's IR ends a kernel (docs/machine.md). Values are part of
 * the protocol: append only. */
enum kgb_exec_fault {
	KGB_EXEC_FAULT_NONE,
	KGB_EXEC_FAULT_ACCESS, /* memory outside of the call */
	KGB_EXEC_FAULT_ALIGNMENT,
	KGB_EXEC_FAULT_CLAIM, /* an argument that is less divisible than the module claims */
	KGB_EXEC_FAULT_RACE,
	KGB_EXEC_FAULT_INDEX,
	KGB_EXEC_FAULT_ASSERT,
	KGB_EXEC_FAULT_FUEL, /* an endless loop */
	KGB_EXEC_FAULT_INPUT, /* a write to a read-only part of the arena; by torch, too */
	KGB_EXEC_FAULT_HINT, /* a value that contradicts tl.multiple_of or the like */
	KGB_EXEC_N_FAULTS,
};

/** The device: in replies to OPEN and MEASURE, else zeros. 0 and "" are unknown. */
struct kgb_exec_machine {
	char name[128];
	char uuid[48]; /* "GPU-01234567-89ab-..." */
	char driver[32]; /* of the driver, not of CUDA: "580.159.03" */
	char pci[32]; /* "0000:0f:00.0" */
	uint32_t cc_major, cc_minor; /* compute capability */
	uint32_t n_sms;
	uint32_t sm_mhz; /* highest clock */
	uint64_t l2_bytes, memory_bytes;
	uint64_t free_bytes; /* of memory, at the time of the request */
	uint64_t peak_bytes_per_s; /* clock times width of the memory's bus */
	/* MEASURE only */
	uint64_t bytes_per_s; /* highest measured rate of reading memory */
	uint64_t launch_floor_ns; /* shortest measured time of an empty kernel, as TIME measures it
				   */
	uint64_t tested_bytes; /* of memory */
	uint64_t n_wrong; /* words of it that differ from the written ones */
};

struct kgb_exec_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t status;
	uint64_t id;
	uint64_t value;
	uint64_t wall_ns; /* of the whole request */
	uint32_t device_error; /* CUresult; of KERNEL_FAULT an enum kgb_exec_fault; 0 none */
	uint32_t text_len;
	char text[KGB_EXEC_TEXT];
	struct kgb_exec_machine machine;
};

_Static_assert(sizeof(struct kgb_exec_request) == 96 + 16 * KGB_EXEC_RANGES, "no padding");
_Static_assert(sizeof(struct kgb_exec_sample) == 32, "no padding");
_Static_assert(sizeof(struct kgb_exec_condition) == 64, "no padding");
_Static_assert(sizeof(struct kgb_exec_machine) == 320, "no padding");
_Static_assert(sizeof(struct kgb_exec_reply) == 360 + KGB_EXEC_TEXT, "no padding");

#endif
