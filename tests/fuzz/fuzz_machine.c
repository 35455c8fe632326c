/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "verify/machine/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ARENA_MAX (8u << 20) /* larger programs are slow to try */
#define ARGUMENTS_MAX 32
#define BUFFER_BYTES 4096

static const struct kgb_machine_descriptor descriptor = {
	.address = UINT64_C(1) << 40, .shape = {8, 8, 8, 8, 8}, .strides = {16, 16, 16, 16, 1}};

/* Arguments of every kind, in two buffers. */
static void run(const struct kgb_machine_program *program, bool finds_races)
{
	_Alignas(64) uint8_t memory[2][BUFFER_BYTES];
	const struct kgb_machine_buffer buffers[] = {
		{memory[0], BUFFER_BYTES, kgb_machine_address(0), true},
		{memory[1], BUFFER_BYTES - 3, kgb_machine_address(1), false}};
	struct kgb_machine_argument arguments[ARGUMENTS_MAX] = {{0}};
	KGB_AUTO(free)
	uint8_t *outcomes = kgb_xcalloc(kgb_machine_program_n_conditions(program) + (size_t)1, 1);
	struct kgb_machine_launch launch = {.buffers = buffers,
					    .n_buffers = 2,
					    .arguments = arguments,
					    .n_arguments = kgb_machine_program_n_arguments(program),
					    .grid = {2, 1, 2},
					    .seed = 1,
					    .n_threads = 1,
					    .fuel = 2000,
					    .finds_races = finds_races,
					    .has_warps = finds_races,
					    .outcomes = outcomes};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	if (launch.n_arguments > ARGUMENTS_MAX)
		return;
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i / BUFFER_BYTES][i % BUFFER_BYTES] = (uint8_t)(i * 37 % 5);
	for (uint32_t i = 0; i < launch.n_arguments; i++) {
		const char *kind = kgb_machine_program_argument(program, i);
		arguments[i].bits = 3 + i;
		if (strcmp(kind, "pointer") == 0)
			arguments[i].bits = kgb_machine_address(i % 2);
		if (strcmp(kind, "descriptor") == 0)
			arguments[i].descriptor = &descriptor;
	}
	if (kgb_machine_run(program, &launch, &fault, &err) < 0)
		KGB_ASSERT(err.msg[0] != '\0');
	else
		KGB_ASSERT(fault.kind == KGB_MACHINE_NO_FAULT);
}

/* Any text: refused with a message, or a program that runs within its memory and its fuel. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_machine_program *program = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *text = kgb_xmalloc(size + 1);

	if (size)
		memcpy(text, data, size);
	if (kgb_machine_program_parse(&program, text, size, &err) < 0) {
		KGB_ASSERT(err.msg[0] != '\0' && !program);
		return 0;
	}
	if (kgb_machine_program_arena_bytes(program) < ARENA_MAX)
		run(program, size % 2);
	kgb_machine_program_free(program);
	return 0;
}
