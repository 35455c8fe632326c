/* SPDX-License-Identifier: MIT */
#include "verify/exec/exec_plan.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "verify/exec/serve.h"
#include "verify/protocol/op_limits.h"

static int read_bytes(struct kgb_exec_plan *plan, int fd, size_t *out_len, struct kgb_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (off_t)KGB_RECORD_BYTES_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST,
				     "no record, or one of more than %u bytes",
				     KGB_RECORD_BYTES_MAX);
	const size_t len = (size_t)st.st_size;
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
	*out_len = len;
	return 0;
}

int kgb_exec_plan_read(struct kgb_exec_plan *plan, int fd, kgb_exec_check_image_fn check_image,
		       struct kgb_err *err)
{
	size_t len = 0;

	*plan = (struct kgb_exec_plan){0};
	if (read_bytes(plan, fd, &len, err) < 0)
		return -1;
	if (kgb_record_parse(plan->bytes, len, &plan->record, err) < 0 ||
	    kgb_exec_check_plan(&plan->record, check_image, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	plan->window = &plan->record.windows[0];
	kgb_exec_blocks(plan->window, &plan->blocks);
	return 0;
}

void kgb_exec_plan_release(struct kgb_exec_plan *plan)
{
	kgb_spans_release(&plan->blocks);
	kgb_record_release(&plan->record);
	kgb_free(plan->bytes);
	*plan = (struct kgb_exec_plan){0};
}

static int check_ranges(const struct kgb_exec_request *request, const struct kgb_spans *memory,
			struct kgb_err *err)
{
	for (uint32_t i = 0; i < request->n_ranges; i++) {
		const struct kgb_exec_range *range = &request->ranges[i];
		if (kgb_spans_hold(memory, range->address, range->bytes))
			continue;
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST,
				     "range %u: %llu bytes at 0x%llx are not memory of a plan", i,
				     (unsigned long long)range->bytes,
				     (unsigned long long)range->address);
	}
	return 0;
}

int kgb_exec_check_run(const struct kgb_exec_request *request,
		       const struct kgb_exec_run_names *names, struct kgb_exec_layout *out,
		       struct kgb_err *err)
{
	const struct kgb_exec_arena *arena = names->arena;
	const struct kgb_window *window = names->plan->window;

	if (arena->bytes == 0)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "no arena yet");
	if (request->slot >= arena->n_slots || request->n_slots > arena->n_slots)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "slot %u of %u: the arena has %u",
				     request->slot, request->n_slots, arena->n_slots);
	if (request->skip >= 0 &&
	    ((size_t)request->skip >= window->n_ops || !kgb_op_writes(&window->ops[request->skip])))
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST,
				     "op %d is not one that can be left out", request->skip);
	if (kgb_exec_layout(request, arena->bytes, out, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_REQUEST);
	if (out->bytes > arena->output_bytes)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST,
				     "results of %llu bytes, output memory of %zu",
				     (unsigned long long)out->bytes, arena->output_bytes);
	if (kgb_exec_check_memory(window, names->memory, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	if (names->prologue &&
	    kgb_exec_check_memory(names->prologue->window, names->memory, err) < 0) {
		(void)kgb_ctx(err, "prologue");
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	}
	return check_ranges(request, names->memory, err);
}
