/* SPDX-License-Identifier: MIT */
/** \file
 * The wire between the judge and its workers (runner, facts, reference). One SOCK_SEQPACKET socket
 * per worker.
 *
 * Judge to worker: one datagram of JSON, at most KGB_WIRE_REQUEST_MAX bytes, plus descriptors by
 * SCM_RIGHTS. Worker to judge: one struct kgb_wire_reply per request, byte for byte, little endian.
 * All bytes of a runner are untrusted: kgb_wire_reply_parse accepts only values within the ranges
 * written here, and names the reason of a refusal. verify/python/runner/wire.py packs the same
 * struct; a unit test compares the two. */
#ifndef KGB_VERIFY_PROTOCOL_WIRE_H
#define KGB_VERIFY_PROTOCOL_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/limits.h"
#include "verify/tensor/tensor_view.h"

#define KGB_WIRE_REQUEST_MAX (64u << 10)
#define KGB_WIRE_MAGIC 0x5242474bu /* "KGBR" */
#define KGB_WIRE_VERSION 1
#define KGB_WIRE_DIMS KGB_MAX_DIMS
#define KGB_WIRE_OUTPUTS 24 /* three times KGB_MAX_RESULTS: native, float64, magnitudes */
/* Bytes of a tensor: the reference answers in float64, which takes up to 8 times as much. */
#define KGB_WIRE_TENSOR_MAX (8 * (int64_t)KGB_LIMIT_TENSOR_BYTES)
#define KGB_WIRE_LAUNCHES 32
#define KGB_WIRE_OPS 8
#define KGB_WIRE_NAME 64 /* bytes of a name with its NUL */
#define KGB_WIRE_TEXT 4096
#define KGB_WIRE_FDS_MAX 4

/* The end of a request, as the worker reports it. Values are part of the format: append only. */
enum kgb_wire_status {
	KGB_WIRE_OK,
	KGB_WIRE_EXCEPTION, /* text: type and message; line: in kernel.py, 0 unknown */
	KGB_WIRE_EXIT, /* the candidate called sys.exit */
	KGB_WIRE_MEMORY, /* MemoryError or the allocator's own */
	KGB_WIRE_GUARD, /* a fault ended a kernel; text and line as above */
	KGB_WIRE_BAD_REQUEST,
	KGB_WIRE_DEVICE, /* an exception of the GPU or its driver; text and line as above */
	KGB_WIRE_COMPILE, /* an exception of Triton's compiler; text and line as above */
	KGB_WIRE_UNSUPPORTED, /* a kernel has an operation that the machine does not execute; text
				 names it */
	KGB_WIRE_NEEDS_LAUNCHES, /* the call has a kernel that cannot be only recorded */
	KGB_WIRE_N_STATUSES,
};

enum kgb_wire_kind {
	KGB_WIRE_NONE, /* Python None */
	KGB_WIRE_TENSOR, /* exactly torch.Tensor, strided, on the CPU */
	KGB_WIRE_OTHER, /* anything else; `type` names it */
	KGB_WIRE_NUMBER, /* a Python bool, int or float, as one element of bool, int64 or float64 */
	KGB_WIRE_N_KINDS,
};
enum kgb_wire_where {
	KGB_WIRE_FRESH, /* private memory of the worker; address is its pointer, which only
			   distinguishes results */
	KGB_WIRE_ARENA, /* inside the arena; address is the byte offset of the first element there
			 */
	KGB_WIRE_N_WHERES,
};

/* `value` of the reply to a call: the form of the candidate's return value. */
enum kgb_wire_form { KGB_WIRE_FORM_NONE, KGB_WIRE_FORM_SINGLE, KGB_WIRE_FORM_SEQUENCE };

/** One returned value. A tensor's elements are contiguous (row-major, independent of `strides`) at
 * `offset` of the output memory, `n_bytes` long; n_bytes is 0 when they did not fit and the judge
 * must refuse. */
struct kgb_wire_output {
	uint8_t kind;
	uint8_t dtype; /* enum kgb_dtype */
	uint8_t ndim;
	uint8_t where;
	uint32_t zero;
	int64_t sizes[KGB_WIRE_DIMS];
	int64_t strides[KGB_WIRE_DIMS]; /* in elements */
	uint64_t address;
	int64_t offset;
	int64_t n_bytes;
	char type[KGB_WIRE_NAME];
};

struct kgb_wire_launch {
	char name[KGB_WIRE_NAME];
	int64_t count;
};

struct kgb_wire_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t status;
	uint64_t id; /* of the request */
	int64_t value; /* facts: bytes written; reference: bytes its results take; runner: enum
			  kgb_wire_form */
	uint32_t n_outputs;
	uint32_t n_launches;
	uint32_t n_ops;
	uint32_t line;
	uint32_t text_len;
	uint32_t zero;
	struct kgb_wire_output outputs[KGB_WIRE_OUTPUTS];
	struct kgb_wire_launch launches[KGB_WIRE_LAUNCHES]; /* Triton kernels started, by name */
	char ops[KGB_WIRE_OPS][KGB_WIRE_NAME]; /* torch operators run outside the allowlist */
	char text[KGB_WIRE_TEXT];
};
_Static_assert(sizeof(struct kgb_wire_output) == 8 + 8 * 16 + 24 + KGB_WIRE_NAME,
	       "no padding on the wire");
_Static_assert(sizeof(struct kgb_wire_reply) ==
		       48 + KGB_WIRE_OUTPUTS * sizeof(struct kgb_wire_output) +
			       KGB_WIRE_LAUNCHES * sizeof(struct kgb_wire_launch) +
			       KGB_WIRE_OPS * KGB_WIRE_NAME + KGB_WIRE_TEXT,
	       "no padding on the wire");

/** Check a datagram and copy it out. After success every count is within its array, every enum
 * within its range, names and text end with NUL and hold only printable UTF-8 (the rest became '?';
 * text keeps line ends), sizes are not negative, their product with the element size fits
 * KGB_WIRE_TENSOR_MAX, unused entries are zero. INVALID names the field otherwise. `len` is the
 * kernel's length of the datagram, also beyond the buffer (MSG_TRUNC). */
KGB_MUST_CHECK int kgb_wire_reply_parse(const void *bytes, size_t len, uint64_t expected_id,
					struct kgb_wire_reply *out, struct kgb_err *err);

/** Elements from the first to the last one of a tensor, by its strides. 0: none, or more than
 * KGB_LIMIT_TENSOR_BYTES. */
int64_t kgb_wire_reach(const struct kgb_wire_output *output);
/** The tensor's sizes and strides, at offset 0 of a storage of unknown size. */
struct kgb_tensor_view kgb_wire_view(const struct kgb_wire_output *output);

/** Send one datagram with descriptors. Never blocks (a peer that does not read: errno EAGAIN in
 * err->code), never raises SIGPIPE. */
KGB_MUST_CHECK int kgb_wire_send(int fd, const void *data, size_t len, const int *fds, size_t n_fds,
				 struct kgb_err *err);
/** Wait until a datagram, or the end of the stream, can be received. False: `deadline_ms`
 * (monotonic; INT64_MAX: none) came first. */
bool kgb_wire_await(int fd, int64_t deadline_ms);
/** Receive one datagram without blocking. Returns its full length (more than `cap`: it was cut), 0
 * at the end of the stream, -2 when nothing is there yet, -1 on error. Descriptors that come along
 * are close-on-exec; more than `max_fds` are closed. */
ssize_t kgb_wire_recv(int fd, void *buf, size_t cap, int *fds, size_t max_fds, size_t *n_fds,
		      struct kgb_err *err);

#endif
