/* SPDX-License-Identifier: MIT */
#include "verify/record/replay_plan.h"

#include <string.h>

#include "verify/protocol/op_limits.h"
#include "verify/record/record_canonical.h"

#define NO_IMAGE UINT32_MAX
/* Triton's kernels have two more parameters, addresses of memory that none of these needs. */
#define SCRATCH_BYTES 16

/* Images get numbers in the order of their first use. */
struct images {
	uint32_t *ids; /* by index in the record; NO_IMAGE: not used */
	size_t *indices; /* by number */
	uint32_t n;
};

static struct images number_images(struct kgb_arena *arena, const struct kgb_canonical *canonical)
{
	const struct kgb_record *record = canonical->capture->record;
	struct images images = {
		.ids = kgb_arena_array(arena, record->n_images, sizeof(*images.ids)),
		.indices = kgb_arena_array(arena, record->n_images, sizeof(*images.indices)),
	};

	for (size_t i = 0; i < record->n_images; i++)
		images.ids[i] = NO_IMAGE;
	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_op *op = canonical->ops[i].op;
		if (op->kind != KGB_OP_LAUNCH)
			continue;
		const size_t index =
			(size_t)(kgb_record_image(record, op->launch.image) - record->images);
		if (images.ids[index] != NO_IMAGE)
			continue;
		images.indices[images.n] = index;
		images.ids[index] = images.n++;
	}
	return images;
}

static const struct kgb_launch_code *code_of(const struct kgb_owners *owners,
					     const struct kgb_image *image)
{
	return owners->code ? owners->code(image) : NULL;
}

static void put_images(const struct kgb_record *record, const struct kgb_owners *owners,
		       const struct images *images, struct kgb_buf *out)
{
	for (uint32_t id = 0; id < images->n; id++) {
		const struct kgb_image *image = &record->images[images->indices[id]];
		const struct kgb_launch_code *code = code_of(owners, image);
		kgb_record_put_image(out, id, code ? code->cubin : image->bytes,
				     code ? code->len : image->len);
	}
}

/* Pack the words of the launch's parameters as the code's parameter buffer is. */
static int pack_params(struct kgb_arena *arena, const struct kgb_launch_code *code,
		       struct kgb_launch *launch, struct kgb_err *err)
{
	const unsigned char *words = launch->params;
	size_t at = 0;

	if (launch->params_bytes != code->n_params * sizeof(uint64_t))
		return kgb_fail(err, KGB_ERR_INVALID,
				"launch of '%.100s' with %u bytes of parameters, its IR has %zu "
				"parameters",
				launch->kernel, launch->params_bytes, code->n_params);
	unsigned char *packed = kgb_arena_array(
		arena, code->n_params * sizeof(uint64_t) + SCRATCH_BYTES + sizeof(uint64_t), 1);
	for (size_t i = 0; i < code->n_params; i++) {
		const size_t bytes = code->param_bytes[i];
		at = (at + bytes - 1) / bytes * bytes;
		memcpy(packed + at, words + i * sizeof(uint64_t), bytes); /* little endian */
		at += bytes;
	}
	at = (at + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
	launch->params = packed;
	launch->params_bytes = (uint32_t)at + SCRATCH_BYTES;
	launch->shared_bytes = code->shared_bytes;
	launch->block[0] = code->n_threads;
	return 0;
}

static void put_blocks(const struct kgb_canonical *canonical, struct kgb_replay_plan *plan)
{
	plan->blocks = kgb_arena_array(&plan->arena, canonical->n_regions, sizeof(*plan->blocks));
	for (size_t i = 0; i < canonical->n_regions; i++) {
		const struct kgb_canonical_region *region = &canonical->regions[i];
		const struct kgb_block block = {
			.address = region->start,
			.bytes = region->end - region->start,
			.foreign = region->foreign,
			.before = region->before,
		};
		kgb_record_put_block(&plan->record, &block);
		plan->blocks[plan->n_blocks++] =
			(struct kgb_exec_range){.address = block.address, .bytes = block.bytes};
		plan->block_bytes += block.bytes;
	}
}

/* The op as kgb-exec gets it: canonical numbers, unused fields cleared. */
static int plan_op(const struct kgb_canonical *canonical, const struct kgb_canonical_op *kept,
		   const struct kgb_owners *owners, const struct images *images,
		   struct kgb_arena *arena, struct kgb_op *out, struct kgb_err *err)
{
	const struct kgb_record *record = canonical->capture->record;
	struct kgb_op op = *kept->op;

	op.stream = kept->stream;
	if (op.kind == KGB_OP_EVENT_RECORD || op.kind == KGB_OP_EVENT_WAIT)
		op.event = kept->event;
	if (op.kind == KGB_OP_MEMSET && op.memset.height == 1)
		op.memset.pitch = 0;
	*out = op;
	if (op.kind != KGB_OP_LAUNCH)
		return 0;

	const struct kgb_image *image = kgb_record_image(record, op.launch.image);
	const struct kgb_launch_code *code = code_of(owners, image);
	struct kgb_err ignored = KGB_ERR_INIT;
	size_t n_attrs = 0;
	out->launch.image = images->ids[image - record->images];
	const int rc = kgb_launch_attrs(&kept->op->launch, out->launch.attrs, &n_attrs, &ignored);
	KGB_ASSERT(rc == 0); /* kgb_canonical_check checked them */
	out->launch.n_attrs = (uint32_t)n_attrs;
	return code ? pack_params(arena, code, &out->launch, err) : 0;
}

static int put_ops(const struct kgb_canonical *canonical, const struct kgb_owners *owners,
		   const struct images *images, struct kgb_replay_plan *plan, struct kgb_err *err)
{
	plan->n_ops = canonical->n_ops;
	plan->ops = kgb_arena_array(&plan->arena, plan->n_ops, sizeof(*plan->ops));
	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_canonical_op *kept = &canonical->ops[i];
		struct kgb_op op;
		if (plan_op(canonical, kept, owners, images, &plan->arena, &op, err) < 0)
			return kgb_ctx(err, "op %zu", kept->source);
		kgb_record_put_op(&plan->record, &op);
		plan->ops[i] = (struct kgb_replay_plan_op){
			.kind = op.kind, .writes = kgb_op_writes(&op), .source = kept->source};
		if (op.kind != KGB_OP_LAUNCH)
			continue;
		plan->ops[i].owner = kept->owner;
		plan->ops[i].kernel = kgb_arena_strdup(&plan->arena, op.launch.kernel);
	}
	return 0;
}

static int make(const struct kgb_canonical *canonical, const struct kgb_owners *owners,
		struct kgb_replay_plan *plan, struct kgb_err *err)
{
	if (kgb_canonical_check(canonical, err) < 0 ||
	    kgb_canonical_check_downloads(canonical, err) < 0)
		return -1;
	const struct images images = number_images(&plan->arena, canonical);
	kgb_record_put_header(&plan->record);
	put_images(canonical->capture->record, owners, &images, &plan->record);
	kgb_record_put_window_begin(&plan->record, 0);
	put_blocks(canonical, plan);
	if (put_ops(canonical, owners, &images, plan, err) < 0)
		return -1;
	kgb_record_put_window_end(&plan->record);
	if (plan->record.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "the plan of a call is over %u bytes",
				KGB_RECORD_BYTES_MAX);
	return 0;
}

int kgb_replay_plan_make(const struct kgb_recorded_call *capture, const struct kgb_owners *owners,
			 struct kgb_replay_plan *out, struct kgb_err *err)
{
	struct kgb_replay_plan plan = {
		.arena = KGB_ARENA_INIT,
		.record = KGB_BUF_INIT(KGB_RECORD_BYTES_MAX),
	};
	struct kgb_canonical canonical;

	kgb_canonical_init(&canonical, capture, owners);
	const int rc = make(&canonical, owners, &plan, err);
	kgb_canonical_release(&canonical);
	if (rc < 0) {
		kgb_replay_plan_release(&plan);
		return -1;
	}
	*out = plan;
	return 0;
}

void kgb_replay_plan_release(struct kgb_replay_plan *plan)
{
	if (!plan)
		return;
	kgb_buf_release(&plan->record);
	kgb_arena_release(&plan->arena);
	*plan = (struct kgb_replay_plan){
		.arena = KGB_ARENA_INIT,
		.record = KGB_BUF_INIT(KGB_RECORD_BYTES_MAX),
	};
}

int kgb_replay_plan_part(const struct kgb_replay_plan *plan, size_t n_ops, bool with_kernels,
			 struct kgb_buf *record, struct kgb_err *err)
{
	struct kgb_record whole;

	if (kgb_record_parse(plan->record.ptr, plan->record.len, &whole, err) < 0)
		return kgb_ctx(err, "part of a plan");
	const struct kgb_window *window = &whole.windows[0];
	KGB_ASSERT(whole.n_windows == 1 && window->n_ops == plan->n_ops && n_ops <= plan->n_ops);
	kgb_record_put_header(record);
	for (size_t i = 0; i < whole.n_images; i++)
		kgb_record_put_image(record, whole.images[i].id, whole.images[i].bytes,
				     whole.images[i].len);
	kgb_record_put_window_begin(record, 0);
	for (size_t i = 0; i < window->n_blocks; i++)
		kgb_record_put_block(record, &window->blocks[i]);
	for (size_t i = 0; i < n_ops; i++)
		if (with_kernels || !kgb_replay_plan_is_candidate(plan, i))
			kgb_record_put_op(record, &window->ops[i]);
	kgb_record_put_window_end(record);
	kgb_record_release(&whole);
	return 0;
}

bool kgb_replay_plan_is_candidate(const struct kgb_replay_plan *plan, size_t number)
{
	return number < plan->n_ops && plan->ops[number].kind == KGB_OP_LAUNCH &&
	       plan->ops[number].owner == KGB_OWNER_TRITON;
}

bool kgb_replay_plan_moves(const struct kgb_replay_plan *plan)
{
	for (size_t i = 0; i < plan->n_ops; i++)
		if (plan->ops[i].writes && !kgb_replay_plan_is_candidate(plan, i))
			return true;
	return false;
}
