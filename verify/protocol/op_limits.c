/* SPDX-License-Identifier: MIT */
#include "verify/protocol/op_limits.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define refuse(err, ...) kgb_fail((err), KGB_ERR_INVALID, __VA_ARGS__)
#define DIMS "%" PRIu32 "x%" PRIu32 "x%" PRIu32

/* Limits of every GPU that CUDA supports now (CUDA C programming guide, compute capabilities). */
#define GRID_X_MAX INT32_MAX
#define GRID_YZ_MAX 65535
#define BLOCK_XY_MAX 1024
#define BLOCK_Z_MAX 64
#define BLOCK_THREADS_MAX 1024
#define SHARED_BYTES_MAX (228u << 10)
#define CLUSTER_BLOCKS_MAX 16

/* Numbers of enum CUlaunchAttributeID; its header may be missing when this file is compiled. */
enum {
	ATTR_IGNORE = 0,
	ATTR_COOPERATIVE = 2,
	ATTR_CLUSTER = 4,
	ATTR_PREFERRED_CLUSTER = 11,
};
static const struct {
	const char *name;
	size_t bytes; /* of the value that are used; 0: the attribute cannot be replayed */
} attrs[] = {
	[ATTR_IGNORE] = {"ignored", 0},
	[1] = {"access policy window", 0},
	[ATTR_COOPERATIVE] = {"cooperative", 4},
	[3] = {"synchronization policy", 0},
	[ATTR_CLUSTER] = {"cluster dimension", 12},
	[5] = {"cluster scheduling policy preference", 4}, /* Triton's clusters set it */
	[6] = {"programmatic stream serialization", 4},
	[7] = {"programmatic event", 0},
	[8] = {"priority", 4},
	[9] = {"memory synchronization domain map", 0},
	[10] = {"memory synchronization domain", 0},
	[ATTR_PREFERRED_CLUSTER] = {"preferred cluster dimension", 12},
	[12] = {"launch completion event", 0},
	[13] = {"device updatable kernel node", 0},
	[14] = {"preferred shared memory carveout", 4},
};

/* Insert by id; -1 when it is there already. */
static int insert_attr(struct kgb_launch_attr out[], size_t n, const struct kgb_launch_attr *attr,
		       size_t bytes)
{
	size_t at = n;

	for (; at > 0 && out[at - 1].id >= attr->id; at--) {
		if (out[at - 1].id == attr->id)
			return -1;
	}
	memmove(&out[at + 1], &out[at], (n - at) * sizeof(out[0]));
	out[at] = (struct kgb_launch_attr){.id = attr->id};
	memcpy(out[at].value, attr->value, bytes);
	return 0;
}

int kgb_launch_attrs(const struct kgb_launch *launch, struct kgb_launch_attr out[], size_t *n_out,
		     struct kgb_err *err)
{
	struct kgb_launch_attr sorted[KGB_LAUNCH_ATTRS_MAX] = {{0}};
	size_t n = 0;

	for (size_t i = 0; i < launch->n_attrs; i++) {
		const struct kgb_launch_attr *attr = &launch->attrs[i];
		if (attr->id == ATTR_IGNORE)
			continue;
		const bool known = attr->id < KGB_ARRAY_LEN(attrs) && attrs[attr->id].name;
		if (!known || attrs[attr->id].bytes == 0)
			return refuse(err, "launch attribute %" PRIu32 " (%s) cannot be replayed",
				      attr->id, known ? attrs[attr->id].name : "unknown");
		if (insert_attr(sorted, n, attr, attrs[attr->id].bytes) < 0)
			return refuse(err, "launch attribute '%s' twice", attrs[attr->id].name);
		n++;
	}
	memcpy(out, sorted, n * sizeof(out[0]));
	*n_out = n;
	return 0;
}

static int check_clusters(const struct kgb_launch *launch, const struct kgb_launch_attr *attr,
			  struct kgb_err *err)
{
	const uint32_t *grid = launch->grid;
	uint32_t dims[3];
	uint64_t blocks = 1;

	memcpy(dims, attr->value, sizeof(dims));
	for (size_t i = 0; i < 3; i++) {
		if (dims[i] == 0 || dims[i] > CLUSTER_BLOCKS_MAX ||
		    (attr->id == ATTR_CLUSTER && grid[i] % dims[i] != 0))
			return refuse(err, "clusters of " DIMS " do not divide a grid of " DIMS,
				      dims[0], dims[1], dims[2], grid[0], grid[1], grid[2]);
		blocks *= dims[i];
	}
	return blocks <= CLUSTER_BLOCKS_MAX ? 0
					    : refuse(err, "clusters of %" PRIu64 " blocks", blocks);
}

static int check_attrs(const struct kgb_launch *launch, struct kgb_err *err)
{
	struct kgb_launch_attr sorted[KGB_LAUNCH_ATTRS_MAX] = {{0}};
	size_t n = 0;

	if (kgb_launch_attrs(launch, sorted, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if ((sorted[i].id == ATTR_CLUSTER || sorted[i].id == ATTR_PREFERRED_CLUSTER) &&
		    check_clusters(launch, &sorted[i], err) < 0)
			return -1;
	return 0;
}

static int check_launch(const struct kgb_launch *launch, struct kgb_err *err)
{
	const uint32_t *grid = launch->grid, *block = launch->block;
	const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > GRID_X_MAX ||
	    grid[1] > GRID_YZ_MAX || grid[2] > GRID_YZ_MAX)
		return refuse(err, "a grid of " DIMS, grid[0], grid[1], grid[2]);
	if (block[0] > BLOCK_XY_MAX || block[1] > BLOCK_XY_MAX || block[2] > BLOCK_Z_MAX ||
	    threads == 0 || threads > BLOCK_THREADS_MAX)
		return refuse(err, "blocks of " DIMS " threads", block[0], block[1], block[2]);
	if (launch->shared_bytes > SHARED_BYTES_MAX)
		return refuse(err, "%" PRIu32 " bytes of shared memory", launch->shared_bytes);
	if (launch->carveout < -1 || launch->carveout > 100)
		return refuse(err, "%" PRId32 " %% of L1 used as shared memory", launch->carveout);
	return check_attrs(launch, err);
}

/* Bytes from the first to the last that a memset writes. -1: it writes none, its rows overlap, or
 * the number does not fit. */
static int measure_memset(const struct kgb_op *op, uint64_t *bytes)
{
	const uint64_t element = op->memset.element_bytes, height = op->memset.height;
	uint64_t row, above = 0;

	if (op->memset.width == 0 || height == 0 ||
	    __builtin_mul_overflow(op->memset.width, element, &row))
		return -1;
	if (height > 1 && (op->memset.pitch < row || op->memset.pitch % element != 0 ||
			   __builtin_mul_overflow(height - 1, op->memset.pitch, &above)))
		return -1;
	return __builtin_add_overflow(above, row, bytes) ? -1 : 0;
}

static int check_memset(const struct kgb_op *op, struct kgb_err *err)
{
	const uint32_t element = op->memset.element_bytes;
	uint64_t bytes;

	if ((element != 1 && element != 2 && element != 4) || op->memset.dst % element != 0)
		return refuse(err, "sets elements of %" PRIu32 " bytes at 0x%" PRIx64, element,
			      op->memset.dst);
	if (measure_memset(op, &bytes) < 0)
		return refuse(err, "sets %" PRIu64 " rows of %" PRIu64 " elements, pitch %" PRIu64,
			      op->memset.height, op->memset.width, op->memset.pitch);
	return 0;
}

int kgb_op_check(const struct kgb_op *op, struct kgb_err *err)
{
	if (op->kind == KGB_OP_LAUNCH)
		return check_launch(&op->launch, err);
	if (op->kind == KGB_OP_MEMSET)
		return check_memset(op, err);
	if (op->kind == KGB_OP_REPLACES)
		return refuse(err, "has two forms");
	if (op->kind == KGB_OP_UNSUPPORTED)
		return refuse(err, "cannot be replayed: %.300s", op->why);
	return 0;
}

size_t kgb_op_ranges(const struct kgb_op *op, struct kgb_op_range out[KGB_OP_RANGES_MAX])
{
	uint64_t bytes = 0;

	switch (op->kind) {
	case KGB_OP_MEMSET:
		(void)measure_memset(op, &bytes);
		out[0] = (struct kgb_op_range){"destination", op->memset.dst, bytes};
		return 1;
	case KGB_OP_COPY:
		out[0] = (struct kgb_op_range){"destination", op->copy.dst, op->copy.bytes};
		out[1] = (struct kgb_op_range){"source", op->copy.src, op->copy.bytes};
		return 2;
	case KGB_OP_UPLOAD:
		out[0] = (struct kgb_op_range){"destination", op->upload.dst, op->upload.bytes};
		return 1;
	case KGB_OP_DOWNLOAD:
		out[0] = (struct kgb_op_range){"source", op->download.src, op->download.bytes};
		return 1;
	case KGB_OP_LAUNCH:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_SYNC:
	case KGB_OP_UNSUPPORTED:
	case KGB_OP_REPLACES:
		return 0;
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

bool kgb_op_writes(const struct kgb_op *op)
{
	return op->kind == KGB_OP_LAUNCH || op->kind == KGB_OP_MEMSET || op->kind == KGB_OP_COPY ||
	       op->kind == KGB_OP_UPLOAD;
}

static bool overlaps(uint64_t start, uint64_t end, uint64_t base, uint64_t bytes)
{
	return start < base + bytes && base < end;
}

const char *kgb_block_fault(const struct kgb_block *block)
{
	uint64_t end;

	if (__builtin_add_overflow(block->address, block->bytes, &end) || end > KGB_GPU_ADDRESS_END)
		return "ends beyond all addresses";
	if (!block->foreign)
		return block->address >= KGB_POOL_ADDRESS &&
				       end <= KGB_POOL_ADDRESS + KGB_POOL_BYTES
			       ? NULL
			       : "lies outside the pool";
	if (overlaps(block->address, end, KGB_POOL_ADDRESS, KGB_POOL_BYTES) ||
	    overlaps(block->address, end, KGB_ARENA_ADDRESS, KGB_ARENA_SPAN))
		return "of the candidate's own lies in our address ranges";
	return block->address < KGB_GPU_PAGE ? "lies at the bottom of all addresses" : NULL;
}
