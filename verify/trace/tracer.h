/* SPDX-License-Identifier: MIT */
/** \file
 * Turns the memory and the work of the process on the GPU into blocks and ops of a record. One
 * mutex of the owner guards all of it; calls from here to the driver change nothing.
 */
#ifndef KGB_VERIFY_TRACE_TRACER_H
#define KGB_VERIFY_TRACE_TRACER_H

#include <stdatomic.h>

#include "verify/cuda/driver.h"
#include "verify/protocol/record.h"
#include "verify/recorder/address_table.h"
#include "verify/recorder/images.h"
#include "verify/recorder/recorder.h"
#include "verify/trace/functions.h"

#define KGB_TRACER_STICKY 16

struct kgb_tracer {
	const struct kgb_cuda *cu; /* borrowed */
	struct kgb_images images;
	struct kgb_functions functions;
	struct kgb_address_table graphs; /* CUgraphExec -> struct kgb_graph *, owned */
	/* Address -> bytes: */
	struct kgb_address_table pool; /* live blocks of our pool */
	struct kgb_address_table foreign; /* all other live blocks */
	struct kgb_address_table globals; /* variables of modules whose address was asked for */
	struct kgb_address_table checked; /* parameter words that are no host pointers -> 0 */
	struct kgb_recorder recorder;
	const char *sticky[KGB_TRACER_STICKY]; /* static texts: why all later windows are spoiled */
	size_t n_sticky;
	bool sticky_full;
	atomic_int captures; /* stream captures under way; read without the mutex too */
	uint32_t n_texts; /* images of kernels whose launches are only recorded */
	unsigned char params[KGB_LAUNCH_PARAMS_MAX]; /* scratch */
};

struct kgb_launch_request {
	CUfunction function; /* or a CUkernel */
	unsigned grid[3], block[3];
	unsigned shared_bytes;
	void *const *params; /* NULL: see extra */
	void *const *extra;
	const CUlaunchAttribute *attrs;
	unsigned n_attrs;
};

/** Where an address points. */
enum kgb_address_space {
	KGB_SPACE_DEVICE,
	KGB_SPACE_GLOBAL, /* a variable of a module */
	KGB_SPACE_MANAGED,
	KGB_SPACE_HOST, /* memory of the host that the driver has registered */
	KGB_SPACE_UNKNOWN, /* other memory of the host, or none */
};

void kgb_tracer_init(struct kgb_tracer *tracer, const struct kgb_cuda *cu);
/** Free all but the graphs, which their owner frees first (kgb_graphs_release). */
void kgb_tracer_release(struct kgb_tracer *tracer);

/** Open a window. It begins with the live blocks and the reasons that spoil every window. */
KGB_MUST_CHECK int kgb_tracer_begin(struct kgb_tracer *tracer, uint32_t number,
				    struct kgb_err *err);

/** `name` (static text) makes this window and all later ones unsupported. */
void kgb_tracer_stick(struct kgb_tracer *tracer, const char *name);

enum kgb_address_space kgb_tracer_place(struct kgb_tracer *tracer, uint64_t address);

/** Make an op of a launch. Parameters go to `params` (KGB_LAUNCH_PARAMS_MAX bytes), the name is
 * borrowed from the function. Returns NULL, or a static text: why it cannot be recorded. */
const char *kgb_tracer_build_launch(struct kgb_tracer *tracer,
				    const struct kgb_launch_request *request, unsigned char *params,
				    struct kgb_op *op);
/** Record an op that was built before; the parameters of a launch are checked first. */
void kgb_tracer_emit(struct kgb_tracer *tracer, const struct kgb_op *op);

/** Keep the image of a kernel whose launches are only recorded; returns its number, from 1 on. */
uint32_t kgb_tracer_load_text(struct kgb_tracer *tracer, const void *image, size_t len);
/** Record a launch of it; launch->image is not used. Number 0 is the image of torch's fills and
 * copies (verify/protocol/torch_move.h). */
void kgb_tracer_launch_text(struct kgb_tracer *tracer, uint64_t stream, uint32_t number,
			    const struct kgb_launch *launch);
/** Record that such a launch of torch's image does what the last `n_replaced` ops do. */
void kgb_tracer_replace(struct kgb_tracer *tracer, uint64_t stream, uint64_t n_replaced,
			const struct kgb_launch *launch);
void kgb_tracer_launch(struct kgb_tracer *tracer, uint64_t stream,
		       const struct kgb_launch_request *request);
/** Any 1-D copy; `name` is recorded when it is not supported. */
void kgb_tracer_copy(struct kgb_tracer *tracer, uint64_t stream, uint64_t dst, uint64_t src,
		     uint64_t bytes, const char *name);
void kgb_tracer_memset(struct kgb_tracer *tracer, const struct kgb_op *op, const char *name);

/** A block of device memory was allocated, or freed. `foreign`: it is not from the pool. */
void kgb_tracer_block(struct kgb_tracer *tracer, uint64_t address, uint64_t bytes, bool foreign);
void kgb_tracer_block_gone(struct kgb_tracer *tracer, uint64_t address, bool foreign);

#endif
