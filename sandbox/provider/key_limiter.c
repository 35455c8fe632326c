/* SPDX-License-Identifier: MIT */
#include "sandbox/provider/key_limiter.h"

#include "base/mem.h"
#include "base/time.h"

/* Shortest time between halvings: calls that fail together count once. */
#define HALVE_AGAIN_MS 5000

static void pump(struct kgb_key_limiter *limiter);

static void on_timer(uv_timer_t *timer)
{
	pump(timer->data);
}

void kgb_key_limiter_init(struct kgb_key_limiter *limiter, uv_loop_t *loop, size_t max_slots)
{
	*limiter = (struct kgb_key_limiter){.slots = (double)max_slots,
					    .max_slots = (double)max_slots};
	uv_timer_init(loop, &limiter->timer);
	limiter->timer.data = limiter;
}

static void on_closed(uv_handle_t *handle)
{
	struct kgb_key_limiter *limiter = handle->data;
	limiter->closed(limiter->payload);
}

void kgb_key_limiter_close(struct kgb_key_limiter *limiter, void (*closed)(void *payload),
			   void *payload)
{
	KGB_ASSERT(!limiter->first && limiter->n_running == 0);
	limiter->closed = closed;
	limiter->payload = payload;
	uv_close((uv_handle_t *)&limiter->timer, on_closed);
}

static void unlink_turn(struct kgb_key_limiter *limiter, struct kgb_turn *turn)
{
	if (turn->prev)
		turn->prev->next = turn->next;
	else
		limiter->first = turn->next;
	if (turn->next)
		turn->next->prev = turn->prev;
	else
		limiter->last = turn->prev;
	turn->prev = turn->next = NULL;
}

static struct kgb_turn *first_due(const struct kgb_key_limiter *limiter, int64_t now_ms)
{
	struct kgb_turn *turn = limiter->first;
	while (turn && turn->not_before_ms > now_ms)
		turn = turn->next;
	return turn;
}

static bool has_place(const struct kgb_key_limiter *limiter)
{
	return (double)(limiter->n_running + 1) <= limiter->slots || limiter->n_running == 0;
}

/* Wake when the pause, or the first wait, is over. A free slot needs no timer. */
static void set_timer(struct kgb_key_limiter *limiter, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;
	for (const struct kgb_turn *turn = limiter->first; turn; turn = turn->next)
		if (turn->not_before_ms < next_ms)
			next_ms = turn->not_before_ms;
	if (next_ms < limiter->paused_until_ms)
		next_ms = limiter->paused_until_ms;
	if (!limiter->first || next_ms <= now_ms)
		uv_timer_stop(&limiter->timer);
	else
		uv_timer_start(&limiter->timer, on_timer, (uint64_t)(next_ms - now_ms), 0);
}

static void pump(struct kgb_key_limiter *limiter)
{
	int64_t now_ms = kgb_mono_ms();
	while (now_ms >= limiter->paused_until_ms && has_place(limiter)) {
		struct kgb_turn *turn = first_due(limiter, now_ms);
		if (!turn)
			break;
		unlink_turn(limiter, turn);
		turn->state = KGB_TURN_RUNNING;
		limiter->n_running++;
		turn->go(turn->payload);
	}
	set_timer(limiter, now_ms);
}

void kgb_key_limiter_ask(struct kgb_key_limiter *limiter, struct kgb_turn *turn, int64_t wait_ms,
			 void (*go)(void *payload), void *payload)
{
	KGB_ASSERT(turn->state == KGB_TURN_IDLE);
	turn->state = KGB_TURN_WAITING;
	turn->not_before_ms = wait_ms > 0 ? kgb_mono_ms() + wait_ms : 0;
	turn->go = go;
	turn->payload = payload;
	turn->prev = limiter->last;
	turn->next = NULL;
	if (limiter->last)
		limiter->last->next = turn;
	else
		limiter->first = turn;
	limiter->last = turn;
	pump(limiter);
}

static void adapt(struct kgb_key_limiter *limiter, enum kgb_turn_end end)
{
	int64_t now_ms = kgb_mono_ms();
	if (end == KGB_TURN_CROWDED) {
		if (limiter->halved_ms > 0 && now_ms - limiter->halved_ms < HALVE_AGAIN_MS)
			return;
		limiter->halved_ms = now_ms;
		/* Count slots in use, plus the one just released. */
		double used = (double)limiter->n_running + 1;
		double slots = (used < limiter->slots ? used : limiter->slots) / 2;
		limiter->slots = slots < 1 ? 1 : slots;
	} else if (end == KGB_TURN_WENT_WELL &&
		   (double)limiter->n_running + 1 >= 0.8 * limiter->slots) {
		/* Raise the limit only when nearly all slots are in use. */
		limiter->slots += 1 / limiter->slots;
		if (limiter->slots > limiter->max_slots)
			limiter->slots = limiter->max_slots;
	}
}

void kgb_key_limiter_leave(struct kgb_key_limiter *limiter, struct kgb_turn *turn,
			   enum kgb_turn_end end)
{
	if (turn->state == KGB_TURN_WAITING) {
		unlink_turn(limiter, turn);
		turn->state = KGB_TURN_IDLE;
		set_timer(limiter, kgb_mono_ms());
	} else if (turn->state == KGB_TURN_RUNNING) {
		turn->state = KGB_TURN_IDLE;
		limiter->n_running--;
		adapt(limiter, end);
		pump(limiter);
	}
}

void kgb_key_limiter_pause(struct kgb_key_limiter *limiter, int64_t pause_ms)
{
	int64_t now_ms = kgb_mono_ms();
	if (pause_ms <= 0 || now_ms + pause_ms <= limiter->paused_until_ms)
		return;
	limiter->paused_until_ms = now_ms + pause_ms;
	set_timer(limiter, now_ms);
}

int64_t kgb_key_limiter_paused_ms(const struct kgb_key_limiter *limiter)
{
	int64_t left_ms = limiter->paused_until_ms - kgb_mono_ms();
	return left_ms > 0 ? left_ms : 0;
}
