/* SPDX-License-Identifier: MIT */
/* May a recorded call be replayed as it is? */
#include <inttypes.h>
#include <string.h>

#include "verify/record/record_canonical.h"

/* Limits of every GPU that CUDA supports now (CUDA C programming guide, compute capabilities). */
#define GRID_X_MAX INT32_MAX
#define GRID_YZ_MAX 65535
#define BLOCK_XY_MAX 1024
#define BLOCK_Z_MAX 64
#define BLOCK_THREADS_MAX 1024
#define SHARED_BYTES_MAX (228u << 10)
#define CLUSTER_BLOCKS_MAX 16

/* By number, as in enum CUlaunchAttributeID, which may not be there when this is compiled. */
enum {
	ATTR_IGNORE = 0,
	ATTR_COOPERATIVE = 2,
	ATTR_CLUSTER = 4,
	ATTR_PREFERRED_CLUSTER = 11,
};
static const struct {
	const char *name;
	size_t bytes; /* of the value that count; 0: cannot be replayed */
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
		     struct kgb_call_finding *finding)
{
	struct kgb_launch_attr sorted[KGB_LAUNCH_ATTRS_MAX] = {{0}};
	size_t n = 0;

	for (size_t i = 0; i < launch->n_attrs; i++) {
		const struct kgb_launch_attr *attr = &launch->attrs[i];
		if (attr->id == ATTR_IGNORE)
			continue;
		const bool known = attr->id < KGB_ARRAY_LEN(attrs) && attrs[attr->id].name;
		if (!known || attrs[attr->id].bytes == 0) {
			kgb_call_finding_set(finding, finding->op,
					     "launch attribute %" PRIu32 " (%s) cannot be replayed",
					     attr->id, known ? attrs[attr->id].name : "unknown");
			return -1;
		}
		if (insert_attr(sorted, n, attr, attrs[attr->id].bytes) < 0) {
			kgb_call_finding_set(finding, finding->op, "launch attribute '%s' twice",
					     attrs[attr->id].name);
			return -1;
		}
		n++;
	}
	memcpy(out, sorted, n * sizeof(out[0]));
	*n_out = n;
	return 0;
}

static void get_dims(const struct kgb_launch_attr *attr, uint32_t dims[3])
{
	memcpy(dims, attr->value, 3 * sizeof(dims[0]));
}

static bool check_clusters(const struct kgb_launch *launch, const struct kgb_launch_attr *attr,
			   struct kgb_call_finding *finding)
{
	uint32_t dims[3];
	uint64_t blocks = 1;

	get_dims(attr, dims);
	for (size_t i = 0; i < 3; i++) {
		if (dims[i] == 0 || dims[i] > CLUSTER_BLOCKS_MAX ||
		    (attr->id == ATTR_CLUSTER && launch->grid[i] % dims[i] != 0)) {
			kgb_call_finding_set(finding, finding->op,
					     "clusters of %" PRIu32 "x%" PRIu32 "x%" PRIu32
					     " do not divide a grid of %" PRIu32 "x%" PRIu32
					     "x%" PRIu32,
					     dims[0], dims[1], dims[2], launch->grid[0],
					     launch->grid[1], launch->grid[2]);
			return false;
		}
		blocks *= dims[i];
	}
	if (blocks <= CLUSTER_BLOCKS_MAX)
		return true;
	kgb_call_finding_set(finding, finding->op, "clusters of %" PRIu64 " blocks", blocks);
	return false;
}

static bool check_attrs(const struct kgb_launch *launch, struct kgb_call_finding *finding)
{
	struct kgb_launch_attr sorted[KGB_LAUNCH_ATTRS_MAX] = {{0}};
	size_t n = 0;

	if (kgb_launch_attrs(launch, sorted, &n, finding) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		const bool cluster =
			sorted[i].id == ATTR_CLUSTER || sorted[i].id == ATTR_PREFERRED_CLUSTER;
		if (cluster && !check_clusters(launch, &sorted[i], finding))
			return false;
	}
	return true;
}

static bool check_launch(const struct kgb_launch *launch, struct kgb_call_finding *finding)
{
	const uint32_t *grid = launch->grid, *block = launch->block;
	const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > GRID_X_MAX ||
	    grid[1] > GRID_YZ_MAX || grid[2] > GRID_YZ_MAX)
		kgb_call_finding_set(finding, finding->op,
				     "a grid of %" PRIu32 "x%" PRIu32 "x%" PRIu32, grid[0], grid[1],
				     grid[2]);
	else if (block[0] > BLOCK_XY_MAX || block[1] > BLOCK_XY_MAX || block[2] > BLOCK_Z_MAX ||
		 threads == 0 || threads > BLOCK_THREADS_MAX)
		kgb_call_finding_set(finding, finding->op,
				     "blocks of %" PRIu32 "x%" PRIu32 "x%" PRIu32 " threads",
				     block[0], block[1], block[2]);
	else if (launch->shared_bytes > SHARED_BYTES_MAX)
		kgb_call_finding_set(finding, finding->op, "%" PRIu32 " bytes of shared memory",
				     launch->shared_bytes);
	else if (launch->carveout < -1 || launch->carveout > 100)
		kgb_call_finding_set(finding, finding->op,
				     "%" PRId32 " %% of L1 used as shared memory",
				     launch->carveout);
	else
		return check_attrs(launch, finding);
	return false;
}

static bool check_range(const struct kgb_canonical *canonical, uint64_t address, uint64_t bytes,
			const char *what, struct kgb_call_finding *finding)
{
	char word[KGB_WORD_TEXT];

	if (kgb_canonical_holds(canonical, address, bytes))
		return true;
	kgb_call_finding_set(
		finding, finding->op,
		"%s %" PRIu64 " bytes at %s (0x%" PRIx64
		"), which is not wholly in an argument or in memory that torch allocated",
		what, bytes, kgb_canonical_word(canonical, address, word), address);
	return false;
}

static bool check_memset(const struct kgb_canonical *canonical, const struct kgb_op *op,
			 struct kgb_call_finding *finding)
{
	const uint64_t element = op->memset.element_bytes;
	uint64_t row, above = 0, bytes;

	if (op->memset.dst % element != 0) {
		kgb_call_finding_set(finding, finding->op,
				     "sets elements of %" PRIu64 " bytes at 0x%" PRIx64, element,
				     op->memset.dst);
		return false;
	}
	if (__builtin_mul_overflow(op->memset.width, element, &row) ||
	    (op->memset.height > 1 &&
	     (op->memset.pitch < row || op->memset.pitch % element != 0 ||
	      __builtin_mul_overflow(op->memset.height - 1, op->memset.pitch, &above))) ||
	    __builtin_add_overflow(above, row, &bytes)) {
		kgb_call_finding_set(finding, finding->op,
				     "sets %" PRIu64 " rows of %" PRIu64
				     " elements, pitch %" PRIu64,
				     op->memset.height, op->memset.width, op->memset.pitch);
		return false;
	}
	return check_range(canonical, op->memset.dst, bytes, "sets", finding);
}

static bool check_op(const struct kgb_canonical *canonical, const struct kgb_op *op,
		     struct kgb_call_finding *finding)
{
	switch (op->kind) {
	case KGB_OP_LAUNCH:
		return check_launch(&op->launch, finding);
	case KGB_OP_MEMSET:
		return check_memset(canonical, op, finding);
	case KGB_OP_COPY:
		return check_range(canonical, op->copy.dst, op->copy.bytes, "writes", finding) &&
		       check_range(canonical, op->copy.src, op->copy.bytes, "reads", finding);
	case KGB_OP_UPLOAD:
		return check_range(canonical, op->upload.dst, op->upload.bytes, "uploads", finding);
	case KGB_OP_UNSUPPORTED:
		kgb_call_finding_set(finding, finding->op, "cannot be replayed: %.300s", op->why);
		return false;
	case KGB_OP_DOWNLOAD:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_SYNC:
		return true;
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

bool kgb_canonical_check(const struct kgb_canonical *canonical, struct kgb_call_finding *finding)
{
	char title[KGB_OP_TITLE];

	if (canonical->fault.text[0] != '\0') {
		*finding = canonical->fault;
		return false;
	}
	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_canonical_op *kept = &canonical->ops[i];
		struct kgb_call_finding inner = {.op = kept->source};
		if (check_op(canonical, kept->op, &inner))
			continue;
		*finding = (struct kgb_call_finding){.op = kept->source};
		kgb_call_finding_set(finding, kept->source, "op %zu (%s): %.300s", kept->source,
				     kgb_op_title(kept->op, title), inner.text);
		return false;
	}
	return true;
}

bool kgb_canonical_check_downloads(const struct kgb_canonical *canonical,
				   struct kgb_call_finding *finding)
{
	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_canonical_op *kept = &canonical->ops[i];
		if (kept->op->kind != KGB_OP_DOWNLOAD)
			continue;
		char word[KGB_WORD_TEXT];
		*finding = (struct kgb_call_finding){.op = kept->source};
		kgb_call_finding_set(finding, kept->source,
				     "op %zu: the host reads %" PRIu64
				     " bytes at %s (.item(), .cpu(), a condition on a tensor ...)",
				     kept->source, kept->op->download.bytes,
				     kgb_canonical_word(canonical, kept->op->download.src, word));
		return false;
	}
	return true;
}

/* ---- work that nobody waits for ---- */

/* For every stream: how many ops of every stream are over when its next one begins. */
struct clocks {
	uint32_t known[KGB_CANONICAL_STREAMS_MAX][KGB_CANONICAL_STREAMS_MAX];
	uint32_t host[KGB_CANONICAL_STREAMS_MAX]; /* the same of what the host does next */
	uint32_t n_ops[KGB_CANONICAL_STREAMS_MAX]; /* so far */
	size_t last[KGB_CANONICAL_STREAMS_MAX]; /* of each stream, in the canonical */
	uint32_t (*at_event)[KGB_CANONICAL_STREAMS_MAX]; /* for each event that is waited for */
};

static void learn(uint32_t to[KGB_CANONICAL_STREAMS_MAX],
		  const uint32_t from[KGB_CANONICAL_STREAMS_MAX])
{
	for (size_t i = 0; i < KGB_CANONICAL_STREAMS_MAX; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
}

static void tick(struct clocks *clocks, const struct kgb_canonical *canonical, size_t op)
{
	const struct kgb_canonical_op *kept = &canonical->ops[op];
	uint32_t *known = clocks->known[kept->stream];

	learn(known, clocks->host);
	if (kept->op->kind == KGB_OP_EVENT_WAIT) {
		learn(known, clocks->at_event[kept->event]);
	} else if (kept->op->kind == KGB_OP_EVENT_RECORD) {
		memcpy(clocks->at_event[kept->event], known, sizeof(clocks->known[0]));
	} else {
		known[kept->stream] = ++clocks->n_ops[kept->stream];
		clocks->last[kept->stream] = op;
	}
}

/* The caller's stream is the default one. Whoever waits on the host for something is taken to wait
 * for all; but the last wait of a window is the runner's own. */
static void run_clocks(struct clocks *clocks, const struct kgb_canonical *canonical)
{
	const struct kgb_window *window = canonical->capture->window;
	size_t next = 0;

	for (size_t i = 0; i < window->n_ops; i++) {
		if (window->ops[i].kind == KGB_OP_SYNC && i + 1 < window->n_ops)
			memcpy(clocks->host, clocks->n_ops, sizeof(clocks->host));
		if (next < canonical->n_ops && canonical->ops[next].source == i)
			tick(clocks, canonical, next++);
	}
}

bool kgb_canonical_check_joined(const struct kgb_canonical *canonical,
				struct kgb_call_finding *finding)
{
	KGB_AUTO(free) struct clocks *clocks = NULL;
	KGB_AUTO(free) uint32_t(*at_event)[KGB_CANONICAL_STREAMS_MAX] = NULL;
	uint32_t *callers;
	char title[KGB_OP_TITLE];

	if (canonical->n_streams == 1 && canonical->streams[0] == 0)
		return true;
	clocks = kgb_xcalloc(1, sizeof(*clocks));
	at_event = kgb_xcalloc(canonical->n_ops + 1, sizeof(*at_event));
	clocks->at_event = at_event;
	run_clocks(clocks, canonical);
	callers = clocks->host;
	for (size_t i = 0; i < canonical->n_streams; i++)
		if (canonical->streams[i] == 0)
			learn(callers, clocks->known[i]);
	for (size_t i = 0; i < canonical->n_streams; i++) {
		if (canonical->streams[i] == 0 || callers[i] >= clocks->n_ops[i])
			continue;
		const struct kgb_canonical_op *kept = &canonical->ops[clocks->last[i]];
		*finding = (struct kgb_call_finding){.op = kept->source};
		kgb_call_finding_set(finding, kept->source,
				     "op %zu (%s) runs on another stream, and the caller's does "
				     "not wait for it",
				     kept->source, kgb_op_title(kept->op, title));
		return false;
	}
	return true;
}
