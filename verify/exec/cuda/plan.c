/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/plan.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "verify/protocol/op_limits.h"
#include "verify/protocol/plan_check.h"

enum { PARAMS_ALIGN = 128, PARAMS_PADDING_MAX = 16 };

static enum kgb_exec_status read_record(struct kgb_gpu_plan *plan, int fd, struct kgb_err *err)
{
	struct stat st;
	size_t len;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (off_t)KGB_RECORD_BYTES_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST,
				     "no record, or one of more than %u bytes",
				     KGB_RECORD_BYTES_MAX);
	len = (size_t)st.st_size;
	plan->bytes = kgb_xmalloc(len);
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, plan->bytes + done, len - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST,
					     "the record cannot be read");
		done += (size_t)n;
	}
	if (kgb_record_parse(plan->bytes, len, &plan->record, err) < 0 ||
	    kgb_exec_check_plan(&plan->record, err) < 0)
		return KGB_EXEC_BAD_PLAN;
	plan->window = &plan->record.windows[0];
	kgb_exec_blocks(plan->window, &plan->blocks);
	return KGB_EXEC_OK;
}

static enum kgb_exec_status load_images(struct kgb_gpu_plan *plan, struct kgb_err *err)
{
	plan->images = kgb_xcalloc(plan->record.n_images + 1, sizeof(struct kgb_loaded *));
	for (size_t i = 0; i < plan->record.n_images; i++) {
		const struct kgb_image *image = &plan->record.images[i];
		enum kgb_exec_status status =
			kgb_code_take(plan->code, image->bytes, image->len, &plan->images[i], err);
		if (status) {
			(void)kgb_ctx(err, "image %u", image->id);
			return status;
		}
		plan->n_images++;
	}
	return KGB_EXEC_OK;
}

static enum kgb_exec_status find_kernel(struct kgb_gpu_plan *plan, const struct kgb_launch *launch,
					struct kgb_kernel **out, struct kgb_err *err)
{
	size_t image = 0;

	while (plan->record.images[image].id != launch->image)
		image++;
	enum kgb_exec_status status =
		kgb_code_kernel(plan->code, plan->images[image], launch->kernel, out, err);
	if (status)
		(void)kgb_ctx(err, "image %u", launch->image);
	return status;
}

static bool has_cluster(const struct kgb_launch *launch)
{
	for (uint32_t i = 0; i < launch->n_attrs; i++)
		if (launch->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			return true;
	return false;
}

static void copy_attrs(struct kgb_gpu_plan_launch *made, const struct kgb_launch *launch)
{
	made->attrs = kgb_xcalloc(launch->n_attrs + 1, sizeof(made->attrs[0]));
	for (uint32_t i = 0; i < launch->n_attrs; i++) {
		made->attrs[i].id = (CUlaunchAttributeID)launch->attrs[i].id;
		_Static_assert(sizeof(made->attrs[i].value) == sizeof(launch->attrs[i].value),
			       "attributes are copied whole");
		memcpy(&made->attrs[i].value, launch->attrs[i].value, sizeof(made->attrs[i].value));
	}
}

static enum kgb_exec_status prepare_launch(struct kgb_gpu_plan *plan,
					   const struct kgb_launch *launch,
					   struct kgb_gpu_plan_launch *made, struct kgb_err *err)
{
	enum kgb_exec_status status = find_kernel(plan, launch, &made->kernel, err);

	if (status)
		return status;
	const struct kgb_kernel *kernel = made->kernel;
	/* A buffer may be padded to the alignment of its largest member. */
	if (launch->params_bytes < kernel->params_bytes ||
	    launch->params_bytes - kernel->params_bytes >= PARAMS_PADDING_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN,
				     "%u bytes of parameters, kernel '%.100s' takes %llu",
				     launch->params_bytes, kernel->name,
				     (unsigned long long)kernel->params_bytes);
	/* Aligned by hand: room for the whole of it behind any start. */
	made->params = kgb_xcalloc(1, launch->params_bytes + 2 * (size_t)PARAMS_ALIGN);
	unsigned char *aligned =
		made->params + (-(uintptr_t)made->params & (uintptr_t)(PARAMS_ALIGN - 1));
	if (launch->params_bytes > 0)
		memcpy(aligned, launch->params, launch->params_bytes);
	made->pointers = kgb_xcalloc(kernel->n_params + 1, sizeof(made->pointers[0]));
	for (size_t i = 0; i < kernel->n_params; i++)
		made->pointers[i] = aligned + kernel->offsets[i];
	plan->params_bytes += launch->params_bytes;
	copy_attrs(made, launch);
	if (has_cluster(launch))
		kgb_code_allow_clusters(plan->code, made->kernel);
	return kgb_code_allow_shared(plan->code, made->kernel, launch->shared_bytes, err);
}

static enum kgb_exec_status find_stream(struct kgb_gpu_plan *plan, uint64_t number, size_t *out,
					struct kgb_err *err)
{
	const struct kgb_cuda *cu = plan->gpu->cu;
	enum kgb_exec_status status;

	for (*out = 0; *out < plan->n_streams; (*out)++)
		if (plan->stream_numbers[*out] == number)
			return KGB_EXEC_OK;
	if (plan->n_streams == KGB_EXEC_STREAMS_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN, "more than %d streams",
				     KGB_EXEC_STREAMS_MAX);
	status = kgb_gpu_check(plan->gpu,
			       cu->cuEventCreate(&plan->joins[*out], CU_EVENT_DISABLE_TIMING),
			       KGB_EXEC_NO_MEMORY, err, "make an event");
	/* The first stream of a plan, whatever its number, is our main one. */
	if (!status && *out == 0)
		plan->streams[0] = plan->gpu->stream;
	else if (!status)
		status = kgb_gpu_check(
			plan->gpu, cu->cuStreamCreate(&plan->streams[*out], CU_STREAM_NON_BLOCKING),
			KGB_EXEC_NO_MEMORY, err, "make a stream");
	plan->stream_numbers[*out] = number;
	plan->n_streams++;
	return status;
}

/* `make`: an event that is not known yet is made. */
static enum kgb_exec_status find_event(struct kgb_gpu_plan *plan, uint64_t number, bool make,
				       size_t *out, bool *known, struct kgb_err *err)
{
	for (*out = 0; *out < plan->n_events; (*out)++) {
		if (plan->event_numbers[*out] == number) {
			*known = true;
			return KGB_EXEC_OK;
		}
	}
	*known = false;
	if (!make)
		return KGB_EXEC_OK;
	if (plan->n_events == KGB_EXEC_EVENTS_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN, "more than %d events",
				     KGB_EXEC_EVENTS_MAX);
	if (!plan->events) {
		plan->events = kgb_xcalloc(KGB_EXEC_EVENTS_MAX, sizeof(CUevent));
		plan->event_numbers =
			kgb_xcalloc(KGB_EXEC_EVENTS_MAX, sizeof(plan->event_numbers[0]));
	}
	enum kgb_exec_status status = kgb_gpu_check(
		plan->gpu,
		plan->gpu->cu->cuEventCreate(&plan->events[*out], CU_EVENT_DISABLE_TIMING),
		KGB_EXEC_NO_MEMORY, err, "make an event");
	if (!status) {
		plan->event_numbers[*out] = number;
		plan->n_events++;
	}
	return status;
}

static enum kgb_exec_status prepare_op(struct kgb_gpu_plan *plan, size_t i, struct kgb_err *err)
{
	const struct kgb_op *op = &plan->window->ops[i];
	struct kgb_gpu_plan_op *made = &plan->ops[i];
	enum kgb_exec_status status = find_stream(plan, op->stream, &made->stream, err);
	bool known;

	if (status)
		return status;
	plan->n_activities += kgb_op_writes(op) || op->kind == KGB_OP_DOWNLOAD;
	switch (op->kind) {
	case KGB_OP_LAUNCH:
		return prepare_launch(plan, &op->launch, &made->launch, err);
	case KGB_OP_EVENT_RECORD:
		return find_event(plan, op->event, true, &made->event, &known, err);
	case KGB_OP_EVENT_WAIT:
		/* What was recorded before the window has happened before it runs. */
		return find_event(plan, op->event, false, &made->event, &made->waits, err);
	case KGB_OP_MEMSET:
	case KGB_OP_COPY:
	case KGB_OP_UPLOAD:
	case KGB_OP_DOWNLOAD:
	case KGB_OP_SYNC:
	case KGB_OP_UNSUPPORTED:
	case KGB_N_OP_KINDS:
		return KGB_EXEC_OK;
	}
	KGB_UNREACHABLE();
}

/* Payloads of uploads in pinned memory: a copy from other memory would make the host wait for the
 * stream, and the stream may wait for the host. */
static enum kgb_exec_status pin_payloads(struct kgb_gpu_plan *plan, struct kgb_err *err)
{
	uint64_t download_bytes = 0;
	uint64_t at = 0;

	for (size_t i = 0; i < plan->window->n_ops; i++) {
		const struct kgb_op *op = &plan->window->ops[i];
		if (op->kind == KGB_OP_UPLOAD)
			plan->upload_bytes += op->upload.bytes;
		if (op->kind == KGB_OP_DOWNLOAD && op->download.bytes > download_bytes)
			download_bytes = op->download.bytes;
	}
	const uint64_t bytes = plan->upload_bytes + download_bytes;
	void *pinned = NULL;
	if (bytes == 0)
		return KGB_EXEC_OK;
	enum kgb_exec_status status = kgb_gpu_check(
		plan->gpu, plan->gpu->cu->cuMemHostAlloc(&pinned, bytes, 0), KGB_EXEC_NO_MEMORY,
		err, "%llu bytes of pinned memory", (unsigned long long)bytes);
	if (status)
		return status;
	plan->pinned = pinned;
	for (size_t i = 0; i < plan->window->n_ops; i++) {
		const struct kgb_op *op = &plan->window->ops[i];
		if (op->kind != KGB_OP_UPLOAD || op->upload.bytes == 0)
			continue;
		memcpy(plan->pinned + at, op->upload.data, op->upload.bytes);
		plan->ops[i].upload = plan->pinned + at;
		at += op->upload.bytes;
	}
	return KGB_EXEC_OK;
}

static enum kgb_exec_status prepare_ops(struct kgb_gpu_plan *plan, struct kgb_err *err)
{
	const size_t n = plan->window->n_ops;
	enum kgb_exec_status status = KGB_EXEC_OK;

	plan->ops = kgb_xcalloc(n + 1, sizeof(plan->ops[0]));
	for (size_t i = 0; !status && i < n; i++) {
		status = prepare_op(plan, i, err);
		if (status)
			(void)kgb_ctx(err, "op %zu (%s)", i,
				      kgb_op_kind_name(plan->window->ops[i].kind));
	}
	return status ? status : pin_payloads(plan, err);
}

enum kgb_exec_status kgb_gpu_plan_load(struct kgb_gpu_plan *plan, struct kgb_memory *memory,
				       struct kgb_code *code, int record_fd, struct kgb_err *err)
{
	enum kgb_exec_status status;

	*plan = (struct kgb_gpu_plan){.gpu = memory->gpu, .code = code};
	status = read_record(plan, record_fd, err);
	if (!status)
		status = kgb_memory_map_blocks(memory, &plan->blocks, err);
	if (!status)
		status = load_images(plan, err);
	if (!status)
		status = prepare_ops(plan, err);
	if (status)
		kgb_gpu_plan_release(plan);
	return status;
}

void kgb_gpu_plan_release(struct kgb_gpu_plan *plan)
{
	if (!plan->gpu)
		return;
	const struct kgb_cuda *cu = plan->gpu->cu;
	for (size_t i = 0; plan->ops && i < plan->window->n_ops; i++) {
		kgb_free(plan->ops[i].launch.params);
		kgb_free(plan->ops[i].launch.pointers);
		kgb_free(plan->ops[i].launch.attrs);
	}
	for (size_t i = 0; i < plan->n_streams; i++) {
		if (plan->joins[i])
			(void)cu->cuEventDestroy(plan->joins[i]);
		if (i > 0 && plan->streams[i])
			(void)cu->cuStreamDestroy(plan->streams[i]);
	}
	for (size_t i = 0; i < plan->n_events; i++)
		(void)cu->cuEventDestroy(plan->events[i]);
	for (size_t i = 0; i < plan->n_images; i++)
		kgb_code_give(plan->code, plan->images[i]);
	if (plan->pinned)
		(void)cu->cuMemFreeHost(plan->pinned);
	kgb_free(plan->ops);
	kgb_free(plan->events);
	kgb_free(plan->event_numbers);
	kgb_free(plan->images);
	kgb_spans_release(&plan->blocks);
	kgb_record_release(&plan->record);
	kgb_free(plan->bytes);
	*plan = (struct kgb_gpu_plan){0};
}
