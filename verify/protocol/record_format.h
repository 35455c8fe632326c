/* SPDX-License-Identifier: MIT */
/** \file
 * The bytes of a record, only for its writer and its parser. docs/record-format.md describes them.
 * A record is a header and chunks; every chunk is padded with zeros to a multiple of
 * KGB_RECORD_ALIGN, so that images and parameters lie aligned in an aligned record. */
#ifndef KGB_VERIFY_PROTOCOL_RECORD_FORMAT_H
#define KGB_VERIFY_PROTOCOL_RECORD_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "verify/protocol/record.h"

#define KGB_RECORD_MAGIC 0x4352474bu /* "KGRC" */
#define KGB_RECORD_VERSION 1
#define KGB_RECORD_ALIGN 8

/* Values are part of the format: append only. */
enum kgb_chunk_tag {
	KGB_CHUNK_IMAGE = 1,
	KGB_CHUNK_WINDOW_BEGIN,
	KGB_CHUNK_WINDOW_END,
	KGB_CHUNK_BLOCK,
	KGB_CHUNK_OP,
	KGB_N_CHUNKS,
};

struct kgb_record_header {
	uint32_t magic, version;
};

struct kgb_chunk_header {
	uint32_t tag;
	uint32_t bytes; /* that follow, without the padding */
};

struct kgb_chunk_image { /* then the image */
	uint32_t id, zero;
};

struct kgb_chunk_window {
	uint32_t number, zero;
};

#define KGB_BLOCK_FOREIGN 1u
#define KGB_BLOCK_BEFORE 2u
#define KGB_BLOCK_AGAIN 4u
struct kgb_chunk_block {
	uint64_t address, bytes;
	uint32_t flags, zero;
};

struct kgb_chunk_op { /* then the head of its kind, and more: kgb_op_head_bytes */
	uint32_t kind, zero;
	uint64_t stream;
};

/** Bytes of struct kgb_op.head in a record. After them: of a launch the parameters, the attributes
 * and the kernel's name with its NUL; of an upload the data; of UNSUPPORTED the reason with its
 * NUL. */
size_t kgb_op_head_bytes(enum kgb_op_kind kind);

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are written as they lie");
_Static_assert(sizeof(struct kgb_record_header) == 8 && sizeof(struct kgb_chunk_header) == 8 &&
		       sizeof(struct kgb_chunk_image) == 8 &&
		       sizeof(struct kgb_chunk_window) == 8 &&
		       sizeof(struct kgb_chunk_block) == 24 && sizeof(struct kgb_chunk_op) == 16,
	       "no padding in the format");

#endif
