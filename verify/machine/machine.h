/* SPDX-License-Identifier: MIT */
/** \file
 * A machine that runs Triton's IR on the CPU: text -> checked program -> launches on buffers of the
 * judge. It is stricter than a GPU (docs/machine.md): masked lanes without `other` read random
 * words, every access is checked, programs run in an order drawn by the seed. It takes hostile text
 * and hostile programs: they end with an error or a fault, within the given fuel.
 */
#ifndef KGB_VERIFY_MACHINE_MACHINE_H
#define KGB_VERIFY_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verify/program/launch.h"

struct kgb_machine_program;

/** Reads and checks the first public function of a module of TTIR. `text` need not outlive the
 * call. INVALID: not a module, or wrong types ("line 7: arith.addi: ..."); NOT_FOUND: an operation,
 * a type or a variant that the machine does not execute; LIMIT: too large. Free with
 * kgb_machine_program_free. */
KGB_MUST_CHECK int kgb_machine_program_parse(struct kgb_machine_program **out, const char *text,
					     size_t len, struct kgb_err *err);
void kgb_machine_program_free(struct kgb_machine_program *program); /* NULL is fine */

const char *kgb_machine_program_name(const struct kgb_machine_program *program);
uint32_t kgb_machine_program_n_arguments(const struct kgb_machine_program *program);
/** "pointer", "descriptor", "i32", "f32", ... */
const char *kgb_machine_program_argument(const struct kgb_machine_program *program, uint32_t index);
uint32_t kgb_machine_program_n_operations(const struct kgb_machine_program *program);
/** Its conditions; at most KGB_MACHINE_CONDITIONS_MAX. */
uint32_t kgb_machine_program_n_conditions(const struct kgb_machine_program *program);
const struct kgb_machine_condition *
kgb_machine_program_conditions(const struct kgb_machine_program *program);
/** Bytes that each thread of a launch needs besides the buffers. */
size_t kgb_machine_program_arena_bytes(const struct kgb_machine_program *program);

/** Runs all programs of the grid and returns when they are done; a grid with a size of 0 has no
 * programs.
 * FAILED: the first fault is in *fault (kind is NO_FAULT in all other cases); buffers then hold
 * partial results. INVALID: arguments, buffers or grid do not fit the program. */
KGB_MUST_CHECK int kgb_machine_run(const struct kgb_machine_program *program,
				   const struct kgb_machine_launch *launch,
				   struct kgb_machine_fault *fault, struct kgb_err *err);

#endif
