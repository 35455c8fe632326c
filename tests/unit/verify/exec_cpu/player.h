/* SPDX-License-Identifier: MIT */
/** \file
 * A kgb-exec-cpu that a test started, its arena of three slots, and plans for it. One at a time.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_EXEC_CPU_PLAYER_H
#define KGB_TESTS_UNIT_VERIFY_EXEC_CPU_PLAYER_H

#include "tests/unit/base/support.h"
#include "verify/process/exec_client.h"
#include "verify/protocol/record.h"
#include "verify/protocol/torch_move.h"

#define POOL KGB_POOL_ADDRESS
#define ARENA KGB_ARENA_ADDRESS
enum {
	FLOATS = 1000, /* in a tensor; not a multiple of a block's lanes */
	TENSORS = 3, /* in the arena, one behind the other */
	SLOTS = 3,
	ARENA_BYTES = TENSORS * FLOATS * 4 + 5,
	OUTPUT_BYTES = 1 << 20,
	WAIT_MS = 60000,
	ADD = 1, /* ids of images */
	TORCH,
	OTHER,
};

struct player {
	struct kgb_exec_client exec;
	int input_fd, output_fd;
	char *input, *output;
	struct kgb_exec_layout layout;
	struct kgb_err err;
};
extern struct player g;

/** A new process; ends the old one. */
void start(int n_threads);
void stop(void);

uint64_t tensor(size_t i);
float float_at(const char *bytes, size_t i);
const char *image_of(size_t slot);
/** What a RUN brought back of range i. */
const char *range(size_t i);
bool is_poison(uint64_t seed, uint64_t address, const char *bytes, size_t len);
/** Of n floats, how many are not the sum of tensors 0 and 1 of that slot. */
size_t count_wrong(size_t slot, const char *sum, size_t n);

/** A record that has the images ADD and TORCH, and OTHER with this module if it is not NULL. */
struct kgb_buf record_begin(const char *other_module);
void put_block(struct kgb_buf *record, uint64_t address, uint64_t bytes);
void put_launch(struct kgb_buf *record, uint32_t image, const char *kernel, uint32_t grid,
		const uint64_t *slots, size_t n_slots);
/** out = a + b, n floats, by the kernel of add.ttir. */
void put_add(struct kgb_buf *record, uint64_t a, uint64_t b, uint64_t out, size_t n);
void put_move(struct kgb_buf *record, const struct kgb_torch_move *move);
void put_copy(struct kgb_buf *record, uint64_t dst, uint64_t src, uint64_t bytes);
void put_memset(struct kgb_buf *record, uint64_t dst, uint32_t value, uint32_t element_bytes,
		uint64_t width);
/** Send it as plan `number`; releases it. */
enum kgb_exec_outcome send_plan(struct kgb_buf *record, uint32_t number);

struct kgb_exec_request run_spec(uint32_t plan, uint64_t poison);
enum kgb_exec_outcome run(const struct kgb_exec_request *spec);
/** The plan as number 0, and a run of it. */
enum kgb_exec_outcome play(struct kgb_buf *record);

/** A file of this folder; the caller frees it. */
char *read_module(const char *name);
/** A module with the kernel `f`; lines of the body begin in line 3. */
char *module_of(const char *signature, const char *body);

#endif
