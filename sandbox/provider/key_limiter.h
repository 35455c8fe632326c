/* SPDX-License-Identifier: MIT */
/** \file
 * One API key and how much of it is used at a time. Calls take turns for a number of places that
 * adapts itself: halved when the provider has too much to do, one more for each round that goes
 * well. When the provider asks for a pause, all that use the key pause. Loop thread only.
 */
#ifndef KGB_SANDBOX_PROVIDER_KEY_LIMITER_H
#define KGB_SANDBOX_PROVIDER_KEY_LIMITER_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

/** One call's place in the queue; embedded in its owner, zero at first. */
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
	double places; /* how many may run; at least 1 */
	double max_places;
	int64_t paused_until_ms; /* monotonic; 0: not */
	int64_t halved_ms; /* when the places were halved last */
	void (*closed)(void *payload);
	void *payload;
};

/** How a turn went, for the number of places. */
enum kgb_turn_end {
	KGB_TURN_WENT_WELL,
	KGB_TURN_CROWDED, /* 429, 503, 529 */
	KGB_TURN_SAID_NOTHING, /* cancelled, or failed for another reason */
};

void kgb_key_limiter_init(struct kgb_key_limiter *limiter, uv_loop_t *loop, size_t max_places);
/** Nobody may wait or run. `closed` comes from the loop; then the memory may go. */
void kgb_key_limiter_close(struct kgb_key_limiter *limiter, void (*closed)(void *payload),
			   void *payload);

/** Ask for a turn, `wait_ms` from now at the earliest. `go` comes at once, from inside this call,
 * when there is a place, else from the loop. */
void kgb_key_limiter_ask(struct kgb_key_limiter *limiter, struct kgb_turn *turn, int64_t wait_ms,
			 void (*go)(void *payload), void *payload);
/** The turn is over, or no longer wanted; does nothing to an idle one. */
void kgb_key_limiter_leave(struct kgb_key_limiter *limiter, struct kgb_turn *turn,
			   enum kgb_turn_end end);
/** Nobody gets a turn for so long. A pause is never shortened. */
void kgb_key_limiter_pause(struct kgb_key_limiter *limiter, int64_t pause_ms);
/** Milliseconds until the pause is over; 0: there is none. */
int64_t kgb_key_limiter_paused_ms(const struct kgb_key_limiter *limiter);

#endif
