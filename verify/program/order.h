/* SPDX-License-Identifier: MIT */
/** \file
 * The order of work of programs: work before an atomic that releases comes before work of another
 * program after a later atomic that acquires at the same address, also through programs in between.
 * Any thread may call at any time. Threads that pause at atomics let programs overtake each
 * other. */
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
/** Blocks atomics of other threads, so that they are logged in their order of execution. The same
 * thread may ask kgb_order__holds meanwhile. */
void kgb_order__enter(struct kgb_order *order);
void kgb_order__leave(struct kgb_order *order);
/** Between enter and leave: a program's atomic at an address. */
void kgb_order__note(struct kgb_order *order, uint32_t program, uint64_t address, bool acquires,
		     bool releases);
/** So many threads begin to run programs; one of them has run its last one. */
void kgb_order__begin(struct kgb_order *order, uint32_t n_threads);
void kgb_order__end(struct kgb_order *order);
/** Holds the calling thread, which has begun, back until others have entered and left n times, or
 * all others have ended or are held back, too. */
void kgb_order__pause(struct kgb_order *order, uint32_t n);
/** Whether the work of `earlier` at `time` is ordered before the present work of `later`. */
bool kgb_order__holds(struct kgb_order *order, uint32_t earlier, uint32_t time, uint32_t later);

#endif
