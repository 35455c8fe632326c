/* SPDX-License-Identifier: MIT */
#include "verify/exec/cpu/plan.h"

#include <string.h>

#include "base/mem.h"
#include "verify/exec/serve.h"
#include "verify/machine/slots.h"
#include "verify/protocol/cpu_image.h"
#include "verify/protocol/torch_move.h"

static int check_image(const struct kgb_image *image, struct kgb_err *err)
{
	struct kgb_cpu_image split;

	return kgb_cpu_image_split(image, &split, err);
}

static size_t number_of(const struct kgb_record *record, uint32_t image)
{
	/* It exists: the record is checked. */
	return (size_t)(kgb_record_image(record, image) - record->images);
}

const struct kgb_machine_program *kgb_cpu_plan_program(const struct kgb_cpu_plan *plan,
						       const struct kgb_launch *launch)
{
	return plan->programs[number_of(&plan->sent.record, launch->image)];
}

uint8_t *kgb_cpu_plan_outcomes(const struct kgb_cpu_plan *plan, const struct kgb_launch *launch,
			       bool outside)
{
	const size_t number = number_of(&plan->sent.record, launch->image);

	return plan->outcomes[number] +
	       (outside ? kgb_machine_program_n_conditions(plan->programs[number]) : 0);
}

_Static_assert(KGB_OUTCOME_TRUE == KGB_EXEC_WAS_TRUE && KGB_OUTCOME_FALSE == KGB_EXEC_WAS_FALSE,
	       "the same bits");

/* Counts lanes anew afterwards. */
static void add_conditions(const struct kgb_machine_program *program, uint8_t *outcomes,
			   struct kgb_conditions *conditions)
{
	const uint8_t bits = KGB_OUTCOME_TRUE | KGB_OUTCOME_FALSE;
	const struct kgb_machine_condition *from = kgb_machine_program_conditions(program);
	const uint32_t n = kgb_machine_program_n_conditions(program);

	for (uint32_t i = 0; i < n; i++) {
		struct kgb_exec_condition one = {.place = from[i].place,
						 .ordinal = from[i].ordinal,
						 .line = (uint32_t)from[i].kernel_line,
						 .outcomes = outcomes[i] & bits,
						 .outside = outcomes[n + i] & bits,
						 .lanes = outcomes[i] >> KGB_OUTCOME_BITS};
		(void)snprintf(one.file, sizeof(one.file), "%s", from[i].kernel_file);
		outcomes[i] &= bits;
		kgb_conditions_add(conditions, &one);
	}
}

void kgb_cpu_plan_add_conditions(const struct kgb_cpu_plan *plan, struct kgb_conditions *conditions)
{
	for (size_t i = 0; plan->programs && i < plan->sent.record.n_images; i++)
		if (plan->programs[i])
			add_conditions(plan->programs[i], plan->outcomes[i], conditions);
}

static int parse_image(struct kgb_cpu_plan *plan, size_t number, struct kgb_err *err)
{
	const struct kgb_image *image = &plan->sent.record.images[number];
	struct kgb_cpu_image split = {0};

	if (kgb_cpu_image_split(image, &split, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	if (split.is_torch || plan->programs[number])
		return 0;
	if (kgb_machine_program_parse(&plan->programs[number], split.module, split.module_len,
				      err) == 0) {
		plan->outcomes[number] = kgb_xcalloc(
			2 * (size_t)kgb_machine_program_n_conditions(plan->programs[number]) + 1,
			1);
		return 0;
	}
	const bool unknown = err->kind == KGB_ERR_NOT_FOUND || err->kind == KGB_ERR_LIMIT;
	return kgb_exec_refuse(err, unknown ? KGB_EXEC_UNSUPPORTED : KGB_EXEC_BAD_PLAN);
}

static int check_kernel(const struct kgb_machine_program *program, const struct kgb_launch *launch,
			struct kgb_err *err)
{
	struct kgb_machine_slots slots = KGB_MACHINE_SLOTS_INIT;

	if (strcmp(kgb_machine_program_name(program), launch->kernel) != 0)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN, "image %u has no kernel '%.100s'",
				     launch->image, launch->kernel);
	if (launch->shared_bytes || launch->n_attrs)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN,
				     "shared memory or attributes of a GPU");
	if (kgb_machine_slots_read(&slots, program, launch->params, launch->params_bytes, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	kgb_machine_slots_release(&slots);
	return 0;
}

static int check_launch(struct kgb_cpu_plan *plan, const struct kgb_launch *launch,
			struct kgb_err *err)
{
	struct kgb_torch_move move;

	if (parse_image(plan, number_of(&plan->sent.record, launch->image), err) < 0)
		return -1;
	const struct kgb_machine_program *program = kgb_cpu_plan_program(plan, launch);
	if (program)
		return check_kernel(program, launch, err);
	return kgb_torch_move_parse(launch, &move, err) < 0
		       ? kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN)
		       : 0;
}

static int check_blocks(const struct kgb_window *window, struct kgb_err *err)
{
	for (size_t i = 0; i < window->n_blocks; i++)
		if (window->blocks[i].foreign)
			return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN,
					     "memory that did not come from the pool, at 0x%llx",
					     (unsigned long long)window->blocks[i].address);
	return 0;
}

static int check_ops(struct kgb_cpu_plan *plan, uint64_t *value, struct kgb_err *err)
{
	const struct kgb_window *window = plan->sent.window;

	plan->programs =
		kgb_xcalloc(plan->sent.record.n_images + 1, sizeof(struct kgb_machine_program *));
	plan->outcomes = kgb_xcalloc(plan->sent.record.n_images + 1, sizeof(uint8_t *));
	for (size_t i = 0; i < window->n_ops; i++) {
		const struct kgb_op *op = &window->ops[i];
		if (op->kind != KGB_OP_LAUNCH || check_launch(plan, &op->launch, err) == 0)
			continue;
		*value = i;
		return kgb_ctx(err, "op %zu (launch of '%.100s')", i, op->launch.kernel);
	}
	return check_blocks(window, err);
}

int kgb_cpu_plan_load(struct kgb_cpu_plan *plan, int record_fd, uint64_t *value,
		      struct kgb_err *err)
{
	*plan = (struct kgb_cpu_plan){0};
	if (kgb_exec_plan_read(&plan->sent, record_fd, check_image, err) == 0 &&
	    check_ops(plan, value, err) == 0)
		return 0;
	kgb_cpu_plan_release(plan);
	return -1;
}

void kgb_cpu_plan_release(struct kgb_cpu_plan *plan)
{
	for (size_t i = 0; plan->programs && i < plan->sent.record.n_images; i++) {
		kgb_machine_program_free(plan->programs[i]);
		kgb_free(plan->outcomes[i]);
	}
	kgb_free(plan->programs);
	kgb_free(plan->outcomes);
	kgb_exec_plan_release(&plan->sent);
	*plan = (struct kgb_cpu_plan){0};
}
