/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/key_limiter.h"

#include "base/mem.h"
#include "base/time.h"

/* All calls of a crowded moment fail together: that is one reason to halve, not many. */
#define HALVE_AGAIN_MS 5000

static void pump(struct kgb_key_limiter *c);

static void on_timer(uv_timer_t *timer)
{
	pump(timer->data);
}

void kgb_key_limiter_init(struct kgb_key_limiter *c, uv_loop_t *loop, size_t max_places)
{
	*c = (struct kgb_key_limiter){.places = (double)max_places,
				      .max_places = (double)max_places};
	uv_timer_init(loop, &c->timer);
	c->timer.data = c;
}

static void on_closed(uv_handle_t *handle)
{
	struct kgb_key_limiter *c = handle->data;
	c->closed(c->payload);
}

void kgb_key_limiter_close(struct kgb_key_limiter *c, void (*closed)(void *payload), void *payload)
{
	KGB_ASSERT(!c->first && c->n_running == 0);
	c->closed = closed;
	c->payload = payload;
	uv_close((uv_handle_t *)&c->timer, on_closed);
}

static void unlink_turn(struct kgb_key_limiter *c, struct kgb_turn *turn)
{
	if (turn->prev)
		turn->prev->next = turn->next;
	else
		c->first = turn->next;
	if (turn->next)
		turn->next->prev = turn->prev;
	else
		c->last = turn->prev;
	turn->prev = turn->next = NULL;
}

static struct kgb_turn *first_due(const struct kgb_key_limiter *c, int64_t now_ms)
{
	struct kgb_turn *turn = c->first;
	while (turn && turn->not_before_ms > now_ms)
		turn = turn->next;
	return turn;
}

static bool has_place(const struct kgb_key_limiter *c)
{
	return (double)(c->n_running + 1) <= c->places || c->n_running == 0;
}

/* Wake when the pause, or the first wait, is over. A place that becomes free needs no timer. */
static void set_timer(struct kgb_key_limiter *c, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;
	for (const struct kgb_turn *turn = c->first; turn; turn = turn->next)
		if (turn->not_before_ms < next_ms)
			next_ms = turn->not_before_ms;
	if (next_ms < c->paused_until_ms)
		next_ms = c->paused_until_ms;
	if (!c->first || next_ms <= now_ms)
		uv_timer_stop(&c->timer);
	else
		uv_timer_start(&c->timer, on_timer, (uint64_t)(next_ms - now_ms), 0);
}

static void pump(struct kgb_key_limiter *c)
{
	int64_t now_ms = kgb_mono_ms();
	while (now_ms >= c->paused_until_ms && has_place(c)) {
		struct kgb_turn *turn = first_due(c, now_ms);
		if (!turn)
			break;
		unlink_turn(c, turn);
		turn->state = KGB_TURN_RUNNING;
		c->n_running++;
		turn->go(turn->payload);
	}
	set_timer(c, now_ms);
}

void kgb_key_limiter_ask(struct kgb_key_limiter *c, struct kgb_turn *turn, int64_t wait_ms,
			 void (*go)(void *payload), void *payload)
{
	KGB_ASSERT(turn->state == KGB_TURN_IDLE);
	turn->state = KGB_TURN_WAITING;
	turn->not_before_ms = wait_ms > 0 ? kgb_mono_ms() + wait_ms : 0;
	turn->go = go;
	turn->payload = payload;
	turn->prev = c->last;
	turn->next = NULL;
	if (c->last)
		c->last->next = turn;
	else
		c->first = turn;
	c->last = turn;
	pump(c);
}

static void learn(struct kgb_key_limiter *c, enum kgb_turn_end end)
{
	int64_t now_ms = kgb_mono_ms();
	if (end == KGB_TURN_CROWDED) {
		if (c->halved_ms > 0 && now_ms - c->halved_ms < HALVE_AGAIN_MS)
			return;
		c->halved_ms = now_ms;
		/* Places that nobody used say nothing; this call has left its own already. */
		double used = (double)c->n_running + 1;
		double places = (used < c->places ? used : c->places) / 2;
		c->places = places < 1 ? 1 : places;
	} else if (end == KGB_TURN_WENT_WELL && (double)c->n_running + 1 >= 0.8 * c->places) {
		/* Only who is near the number of places learns that there may be more. */
		c->places += 1 / c->places;
		if (c->places > c->max_places)
			c->places = c->max_places;
	}
}

void kgb_key_limiter_leave(struct kgb_key_limiter *c, struct kgb_turn *turn, enum kgb_turn_end end)
{
	if (turn->state == KGB_TURN_WAITING) {
		unlink_turn(c, turn);
		turn->state = KGB_TURN_IDLE;
		set_timer(c, kgb_mono_ms());
	} else if (turn->state == KGB_TURN_RUNNING) {
		turn->state = KGB_TURN_IDLE;
		c->n_running--;
		learn(c, end);
		pump(c);
	}
}

void kgb_key_limiter_pause(struct kgb_key_limiter *c, int64_t pause_ms)
{
	int64_t now_ms = kgb_mono_ms();
	if (pause_ms <= 0 || now_ms + pause_ms <= c->paused_until_ms)
		return;
	c->paused_until_ms = now_ms + pause_ms;
	set_timer(c, now_ms);
}

int64_t kgb_key_limiter_paused_ms(const struct kgb_key_limiter *c)
{
	int64_t left_ms = c->paused_until_ms - kgb_mono_ms();
	return left_ms > 0 ? left_ms : 0;
}
