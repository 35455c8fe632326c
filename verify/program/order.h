/* SPDX-License-Identifier: MIT */
/** \file
 * The order between the work of programs. What a program did before a releasing atomic comes before
 * what another program does after a later acquiring atomic at the same address. The order is
 * transitive. Any thread may call at any time. A thread that pauses after an atomic lets other
 * programs overtake its own. */
#ifndef KGB_VERIFY_PROGRAM_ORDER_H
#define KGB_VERIFY_PROGRAM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct kgb_order;

/** For the programs of a launch. */
struct kgb_order *kgb_order__new(uint64_t n_programs);
void kgb_order__free(struct kgb_order *order);

/** Atomics that released or acquired so far. */
uint32_t kgb_order__time(const struct kgb_order *order);
/** Blocks atomics of other threads until kgb_order__leave, so that atomics are logged in their
 * order of execution. The same thread may call kgb_order__holds meanwhile. */
void kgb_order__enter(struct kgb_order *order);
void kgb_order__leave(struct kgb_order *order);
/** Between enter and leave: a program's atomic at an address. */
void kgb_order__note(struct kgb_order *order, uint32_t program, uint64_t address, bool acquires,
		     bool releases);
/** begin: n_threads threads begin to run programs. end: one of them has run its last program. */
void kgb_order__begin(struct kgb_order *order, uint32_t n_threads);
void kgb_order__end(struct kgb_order *order);
/** Holds the calling thread back until others have left n times, or until each of the others has
 * ended or is held back, too. The calling thread must have begun. */
void kgb_order__pause(struct kgb_order *order, uint32_t n);
/** Whether the work of `earlier` at `time` is ordered before the present work of `later`. */
bool kgb_order__holds(struct kgb_order *order, uint32_t earlier, uint32_t time, uint32_t later);

#endif
