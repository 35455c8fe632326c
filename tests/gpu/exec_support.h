/* SPDX-License-Identifier: MIT */
/** \file
 * What the parts of exec_check share: the kgb-exec that is looked at, plans for it, the data that
 * it works on, and how a finding is printed.
 */
#ifndef KGB_TESTS_GPU_EXEC_SUPPORT_H
#define KGB_TESTS_GPU_EXEC_SUPPORT_H

#include "verify/cuda/driver.h"
#include "verify/process/exec_client.h"
#include "verify/protocol/record.h"

enum {
	SLOTS = 3,
	WAIT_MS = 60000,
	EXTRA = 5, /* bytes of the arena behind its tensors: its end is not aligned */
	IMAGE = 1 /* id */
};

#define POOL KGB_POOL_ADDRESS
#define ARENA KGB_ARENA_ADDRESS

struct check {
	struct kgb_exec_spec spec;
	bool direct;
	bool fake;
	struct kgb_exec_client exec;
	size_t n; /* floats in a tensor */
	uint64_t arena_bytes;
	size_t output_bytes;
	int input_fd, output_fd;
	float *input; /* SLOTS images */
	char *output;
	void *cubin;
	size_t cubin_bytes;
	int n_failed;
	struct kgb_err err;
	struct kgb_exec_layout layout;
};
extern struct check g;

/** Print PASS or FAIL; returns `good`. */
bool verdict(bool good, const char *fmt, ...) KGB_PRINTF(2, 3);
KGB_NORETURN void give_up(const char *what);
void *driver_function(const char *name);
void need(const struct kgb_cuda *cu, CUresult result, const char *what);

/* --- plans --- */

struct add_params {
	uint64_t a, b, out;
	uint32_t n;
};

/** One window and the image of all kernels; what it needs follows. */
struct kgb_buf record_begin(void);
void put_block(struct kgb_buf *record, uint64_t address, uint64_t bytes);
struct kgb_op launch_op(const char *kernel, const void *params, uint32_t params_bytes);
void put_add_by(struct kgb_buf *record, const char *kernel, uint64_t a, uint64_t b, uint64_t out,
		size_t n);
void put_add_of(struct kgb_buf *record, uint64_t a, uint64_t b, uint64_t out, size_t n);
/** Sum of tensors 0 and 1. */
void put_add(struct kgb_buf *record, uint64_t out, size_t n);
/** Write one byte. */
void put_poke(struct kgb_buf *record, uint64_t address, uint32_t value);
void put_copy(struct kgb_buf *record, uint64_t stream, uint64_t dst, uint64_t src, uint64_t bytes);
void put_memset(struct kgb_buf *record, uint64_t stream, uint64_t dst, uint32_t value,
		uint32_t element_bytes, uint64_t width);
void put_event(struct kgb_buf *record, enum kgb_op_kind kind, uint64_t stream, uint64_t event);
/** Send it as plan `number`; releases it. */
enum kgb_exec_outcome send_plan(struct kgb_buf *record, uint32_t number);

/* --- the process and its data --- */

void make_data(void);
/** A new process without an arena. */
void start_process(struct kgb_exec_client *exec);
/** A new process with the arena of make_data; ends the old one. */
void start(void);
uint64_t tensor(size_t i);
const char *image_of(size_t slot);
float float_at(const char *bytes, size_t i);
/** `len` poison bytes from any address on. */
void poison_bytes(uint64_t seed, uint64_t address, void *out, size_t len);
/** `sum`: n floats that must be a + b of that slot. */
size_t count_wrong(size_t slot, const char *sum, size_t n);
bool is_poison(uint64_t seed, uint64_t address, const char *bytes, size_t len);
struct kgb_exec_request run_spec(uint64_t poison);
enum kgb_exec_outcome run(const struct kgb_exec_request *spec);
const char *range(size_t i);
/** Of two u64, for qsort. */
int by_size(const void *a, const void *b);

/* --- exec_memory.c --- */

void check_placements(void);
void check_holes(void);
/** After check_holes. */
void check_sets(void);
void time_requests(void);
void time_poison(void);

/* --- exec_timing.c --- */

void check_timing(void);

/* --- exec_check.c --- */

void check_results(void);

#endif
