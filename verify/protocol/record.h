/* SPDX-License-Identifier: MIT */
/** \file
 * The work of one process on a GPU, as bytes. The trace library in the runner writes records, the
 * judge parses them (they are untrusted), and writes plans for kgb-exec in the same format. A
 * record holds windows (one call of a candidate each) and the images (cubins, fatbins) that kernels
 * were launched from. Little endian.
 *
 * Addresses: the judge lays out all arguments of a call in one arena at KGB_ARENA_ADDRESS, the same
 * in the runner and in kgb-exec. The runner has the same memory a second time, KGB_ARENA_STRIDE
 * bytes further: there bit 31 of addresses is set, and two storages may be more than 2^32 bytes
 * apart. A call finds each storage in one of these windows. The candidate's allocations through
 * torch are in a pool of our allocator at KGB_POOL_ADDRESS, every block in a separate mapping with
 * unmapped memory around it. The driver grants both ranges at every start, so a plan needs no
 * relocation: pointers in kernel parameters, in tensor maps and in uploaded tables stay right.
 * Their upper halves (4951 and 10955) are numbers that no size of a test case has, and in the
 * second window of the arena their lower halves are, because two 32-bit sizes side by side must not
 * look like an address. */
#ifndef KGB_VERIFY_PROTOCOL_RECORD_H
#define KGB_VERIFY_PROTOCOL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#define KGB_ARENA_ADDRESS UINT64_C(0x135700000000)
#define KGB_ARENA_BYTES_MAX (UINT64_C(64) << 30)
#define KGB_ARENA_WINDOWS 2
#define KGB_ARENA_STRIDE (KGB_ARENA_BYTES_MAX + (UINT64_C(2) << 30))
#define KGB_ARENA_SPAN (KGB_ARENA_WINDOWS * KGB_ARENA_STRIDE) /* all addresses of the arena */
#define KGB_POOL_ADDRESS UINT64_C(0x2acb00000000)
#define KGB_POOL_BYTES (UINT64_C(1) << 40)
#define KGB_GPU_PAGE (UINT64_C(2) << 20) /* granularity of GPU mappings */
#define KGB_GPU_ADDRESS_END (UINT64_C(1) << 47) /* end of the addresses that a driver maps */

#define KGB_RECORD_WINDOWS_MAX 64
#define KGB_RECORD_OPS_MAX (64u << 10) /* of one record */
#define KGB_RECORD_BLOCKS_MAX (64u << 10)
#define KGB_RECORD_IMAGES_MAX 1024
#define KGB_RECORD_IMAGE_BYTES_MAX (64u << 20) /* one image */
#define KGB_RECORD_BYTES_MAX (256u << 20)
#define KGB_LAUNCH_PARAMS_MAX (32u << 10) /* bytes of a launch's parameters (CUDA 12.1: 32,764) */
#define KGB_LAUNCH_ATTRS_MAX 8
#define KGB_KERNEL_NAME_MAX 4096 /* mangled names of ATen's templates reach 1,500 bytes */

/** Where the window of that number begins. */
static inline uint64_t kgb_arena_window_at(uint64_t number)
{
	return KGB_ARENA_ADDRESS + number * KGB_ARENA_STRIDE;
}
/** The place in the arena of an address of any window. */
static inline uint64_t kgb_arena_offset(uint64_t address)
{
	return (address - KGB_ARENA_ADDRESS) % KGB_ARENA_STRIDE;
}
/** Where the window of an address of the arena begins. */
static inline uint64_t kgb_arena_window(uint64_t address)
{
	return address - kgb_arena_offset(address);
}
/** Whether an address is that of one of the first `bytes` bytes of the arena, in any window. */
static inline bool kgb_arena_has(uint64_t address, uint64_t bytes)
{
	return address - KGB_ARENA_ADDRESS < KGB_ARENA_SPAN && kgb_arena_offset(address) < bytes;
}

/* Values are part of the format: append only. */
enum kgb_op_kind {
	KGB_OP_LAUNCH,
	KGB_OP_MEMSET,
	KGB_OP_COPY, /* device to device */
	KGB_OP_UPLOAD, /* host to device, with its bytes */
	KGB_OP_DOWNLOAD, /* device to host: the host has read data */
	KGB_OP_EVENT_RECORD,
	KGB_OP_EVENT_WAIT,
	KGB_OP_SYNC, /* the host waited for a stream, an event or the device */
	KGB_OP_UNSUPPORTED, /* an operation that a replay cannot repeat; `why` names it */
	KGB_OP_REPLACES, /* the launch behind it, a fill or copy of torch (torch_move.h), does what
			    the ops before it do on a GPU (verify/record/window_form.h) */
	KGB_N_OP_KINDS,
};
const char *kgb_op_kind_name(enum kgb_op_kind kind);

struct kgb_launch_attr {
	uint32_t id; /* CUlaunchAttributeID */
	unsigned char value[64]; /* CUlaunchAttributeValue */
};

struct kgb_launch {
	/* In a record: */
	uint32_t image; /* id of the image that holds the kernel */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes; /* dynamic shared memory */
	int32_t carveout; /* preferred share of L1 used as shared memory in percent, -1: default */
	uint32_t n_attrs;
	uint32_t params_bytes;
	uint32_t name_bytes; /* of `kernel` with its NUL; kgb_record_put_op computes it */
	/* Only in memory: */
	const char *kernel; /* its symbol */
	struct kgb_launch_attr attrs[KGB_LAUNCH_ATTRS_MAX];
	const unsigned char *params; /* packed as the kernel's parameter buffer is; gaps are zero */
};

#define KGB_OP_HEAD_MAX 48
/** One operation of a stream. Pointers lead into the parsed bytes. The first members of every
 * struct are the bytes in a record (kgb_op_head_bytes): do not reorder them. */
struct kgb_op {
	enum kgb_op_kind kind;
	uint64_t stream; /* an arbitrary number for each stream; 0: the default stream */
	union {
		unsigned char head[KGB_OP_HEAD_MAX];
		struct kgb_launch launch;
		struct {
			uint64_t dst, pitch; /* pitch counts with height > 1 only */
			uint64_t width, height; /* width in elements */
			uint32_t value, element_bytes; /* 1, 2 or 4 */
		} memset;
		struct {
			uint64_t dst, src, bytes;
		} copy;
		struct {
			uint64_t dst, bytes;
			const unsigned char *data;
		} upload;
		struct {
			uint64_t src, bytes;
		} download;
		uint64_t n_replaced; /* REPLACES: number of ops right before it */
		uint64_t event; /* EVENT_RECORD, EVENT_WAIT: an arbitrary number */
		const char *why; /* UNSUPPORTED */
	};
};

/** Device memory that existed during a window. */
struct kgb_block {
	uint64_t address, bytes; /* as requested: the rest of the last page is slack */
	bool foreign; /* not from our pool (the candidate called the driver's allocator itself) */
	bool before; /* allocated before the window began */
	bool again; /* the same, but freed and allocated again in it */
};

struct kgb_window {
	uint32_t number;
	const struct kgb_op *ops; /* in the order in which the host issued them */
	size_t n_ops;
	const struct kgb_block *blocks; /* sorted by address, no two alike; may overlap in address
					   only if one was freed before the other was made */
	size_t n_blocks;
};

struct kgb_image {
	uint32_t id;
	const unsigned char *bytes; /* ELF (cubin) or fatbin */
	size_t len;
	char *sha256; /* room for the digest, empty until kgb_image_sha256; NULL: none is kept */
	const struct kgb_image_proof *proof; /* borrowed; NULL until kgb_provenance_prove */
};

struct kgb_record {
	struct kgb_arena arena; /* everything that was decoded */
	struct kgb_window windows[KGB_RECORD_WINDOWS_MAX];
	size_t n_windows;
	struct kgb_image *images; /* sorted by id */
	size_t n_images;
};

/** Parse untrusted bytes, which must outlive *out. After success every count and length is within
 * its limit, names are printable ASCII, every launch's image id exists in the record, windows are
 * numbered apart. Addresses are NOT checked. INVALID names the offset otherwise. Pair with
 * kgb_record_release. */
KGB_MUST_CHECK int kgb_record_parse(const void *bytes, size_t len, struct kgb_record *out,
				    struct kgb_err *err);
void kgb_record_release(struct kgb_record *record);
const struct kgb_window *kgb_record_window(const struct kgb_record *record, uint32_t number);
const struct kgb_image *kgb_record_image(const struct kgb_record *record, uint32_t id);
/** SHA-256 of an image's bytes in hexadecimal digits. Those of a parsed record, which have
 * megabytes, are hashed once; one thread. */
void kgb_image_sha256(const struct kgb_image *image, char out[KGB_SHA256_HEX_LEN]);

/* Writing: a header once, then images and windows in any order; ops and blocks between _begin and
 * _end. */
void kgb_record_put_header(struct kgb_buf *out);
void kgb_record_put_image(struct kgb_buf *out, uint32_t id, const void *bytes, size_t len);
void kgb_record_put_window_begin(struct kgb_buf *out, uint32_t number);
void kgb_record_put_window_end(struct kgb_buf *out);
/** Sort the blocks of one window and merge those that were freed and made again alike. Returns the
 * number left. */
size_t kgb_blocks_sort(struct kgb_block *blocks, size_t n);
void kgb_record_put_block(struct kgb_buf *out, const struct kgb_block *block);
void kgb_record_put_op(struct kgb_buf *out, const struct kgb_op *op);

#endif
