/* SPDX-License-Identifier: MIT */
/** \file
 * Builds windows and appends them to the record's file, each whole or not at all. Not thread-safe.
 */
#ifndef KGB_VERIFY_RECORDER_RECORDER_H
#define KGB_VERIFY_RECORDER_RECORDER_H

#include "base/buf.h"
#include "base/vec.h"
#include "verify/protocol/record.h"
#include "verify/recorder/address_table.h"
#include "verify/recorder/images.h"

struct kgb_recorder {
	struct kgb_images *images; /* borrowed */
	int fd; /* borrowed; -1: no record is open */
	uint64_t max_bytes, written;
	size_t n_ops, n_blocks, n_images; /* in the record so far */
	uint32_t numbers[KGB_RECORD_WINDOWS_MAX]; /* of the windows so far */
	size_t n_windows;

	bool in_window;
	uint32_t number;
	struct kgb_buf ops; /* of the open window, as they go to the file */
	size_t n_window_ops;
	KGB_VEC(struct kgb_block) blocks; /* of the open window */
	char broken[160]; /* why the open window cannot be written; empty: it can */
};

void kgb_recorder_init(struct kgb_recorder *rec, struct kgb_images *images);
void kgb_recorder_release(struct kgb_recorder *rec);

/** Empty the file and start a record of at most `max_bytes` in it. LIMIT when that is too little
 * even for the reasons of broken windows. */
KGB_MUST_CHECK int kgb_recorder_open(struct kgb_recorder *rec, int fd, uint64_t max_bytes,
				     struct kgb_err *err);
void kgb_recorder_close(struct kgb_recorder *rec);

KGB_MUST_CHECK int kgb_recorder_begin(struct kgb_recorder *rec, uint32_t number,
				      struct kgb_err *err);
/** All live blocks of one kind (address -> bytes), at the begin of a window. */
void kgb_recorder_live(struct kgb_recorder *rec, const struct kgb_address_table *live,
		       bool foreign);
/** A block that was made during the window. No effect without a window, as with all that follow. */
void kgb_recorder_block(struct kgb_recorder *rec, uint64_t address, uint64_t bytes, bool foreign);
void kgb_recorder_op(struct kgb_recorder *rec, const struct kgb_op *op);
/** An UNSUPPORTED op; what is not printable in `why` becomes '?'. */
void kgb_recorder_unsupported(struct kgb_recorder *rec, uint64_t stream, const char *why);
/** Give up the window: it will hold only UNSUPPORTED "trace: <reason>". The first reason
 * stays. */
void kgb_recorder_break(struct kgb_recorder *rec, const char *fmt, ...) KGB_PRINTF(2, 3);
KGB_MUST_CHECK int kgb_recorder_end(struct kgb_recorder *rec, struct kgb_err *err);

#endif
