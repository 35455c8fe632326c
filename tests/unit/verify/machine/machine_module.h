/* SPDX-License-Identifier: MIT */
/** \file
 * Small modules of TTIR for tests of the machine, and launches of them on arrays.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_MACHINE_MACHINE_MODULE_H
#define KGB_TESTS_UNIT_VERIFY_MACHINE_MACHINE_MODULE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "verify/machine/machine.h"

/* A kernel with this signature and body; lines of the body begin in line 3. */
static inline char *module_text(const char *signature, const char *body)
{
	return kgb_xasprintf("module {\n  tt.func public @f(%s) {\n%s\n    tt.return\n  }\n}\n",
			     signature, body);
}

static inline struct kgb_machine_program *parse_module(const char *text)
{
	struct kgb_machine_program *program = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_machine_program_parse(&program, text, strlen(text), &err) < 0)
		fail_msg("%s in\n%s", err.msg, text);
	return program;
}

/* Arguments that are pointers to the beginnings of buffers. */
#define ARRAYS_MAX 4
struct arrays {
	struct kgb_machine_buffer buffers[ARRAYS_MAX];
	struct kgb_machine_argument arguments[ARRAYS_MAX];
	struct kgb_machine_launch launch;
};

static inline void add_array(struct arrays *arrays, void *data, size_t bytes)
{
	uint32_t i = arrays->launch.n_buffers++;

	arrays->launch.n_arguments++;
	arrays->buffers[i] = (struct kgb_machine_buffer){data, bytes, kgb_machine_address(i), true};
	arrays->arguments[i].bits = arrays->buffers[i].address;
}

static inline int run_arrays(struct arrays *arrays, const struct kgb_machine_program *program,
			     struct kgb_machine_fault *fault, struct kgb_err *err)
{
	struct kgb_machine_launch *launch = &arrays->launch;

	launch->buffers = arrays->buffers;
	launch->arguments = arrays->arguments;
	for (int i = 0; i < 3; i++)
		launch->grid[i] = launch->grid[i] ? launch->grid[i] : 1;
	return kgb_machine_run(program, launch, fault, err);
}

#endif
