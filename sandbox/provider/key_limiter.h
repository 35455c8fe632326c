/* SPDX-License-Identifier: MIT */
/** \file
 * Limits the calls that use one API key at a time. Calls wait for one of a number of slots, which
 * adapts: halved when the provider is overloaded, one more after each round of successes. A pause
 * that the provider asks for holds back all calls of the key. Loop thread only. */
#ifndef KGB_SANDBOX_PROVIDER_KEY_LIMITER_H
#define KGB_SANDBOX_PROVIDER_KEY_LIMITER_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

/** One call in the queue; embedded in its owner, zero at first. */
struct kgb_turn {
	struct kgb_turn *prev, *next;
	enum { KGB_TURN_IDLE, KGB_TURN_WAITING, KGB_TURN_RUNNING } state;
	int64_t not_before_ms; /* monotonic */
	void (*go)(void *payload);
	void *payload;
};

struct kgb_key_limiter {
	uv_timer_t timer;
	struct kgb_turn *first, *last; /* waiting, in order of arrival */
	size_t n_running;
	double slots; /* number of slots; at least 1 */
	double max_slots;
	int64_t paused_until_ms; /* monotonic; 0: not */
	int64_t halved_ms; /* when the slots were halved last */
	void (*closed)(void *payload);
	void *payload;
};

/** The outcome of a turn, which adapts the number of slots. */
enum kgb_turn_end {
	KGB_TURN_WENT_WELL,
	KGB_TURN_CROWDED, /* 429, 503, 529 */
	KGB_TURN_SAID_NOTHING, /* cancelled, or failed for another reason */
};

void kgb_key_limiter_init(struct kgb_key_limiter *limiter, uv_loop_t *loop, size_t max_slots);
/** No call may wait or run. `closed` is called from the loop; then the memory may be freed. */
void kgb_key_limiter_close(struct kgb_key_limiter *limiter, void (*closed)(void *payload),
			   void *payload);

/** Request a turn, `wait_ms` from now at the earliest. `go` is called inside this call when a slot
 * is free, else from the loop. */
void kgb_key_limiter_ask(struct kgb_key_limiter *limiter, struct kgb_turn *turn, int64_t wait_ms,
			 void (*go)(void *payload), void *payload);
/** End a turn or cancel its wait; does nothing to an idle one. */
void kgb_key_limiter_leave(struct kgb_key_limiter *limiter, struct kgb_turn *turn,
			   enum kgb_turn_end end);
/** Start no turn for this long. A pause is never shortened. */
void kgb_key_limiter_pause(struct kgb_key_limiter *limiter, int64_t pause_ms);
/** Milliseconds until the pause is over; 0: there is none. */
int64_t kgb_key_limiter_paused_ms(const struct kgb_key_limiter *limiter);

#endif
