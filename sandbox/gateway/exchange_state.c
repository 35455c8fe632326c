/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/exchange_state.h"

/* The event cannot occur: the exchange's functions assert that. */
#define NO KGB_N_EXCHANGE_STATES
/* The event occurs and changes nothing; the reason stands above the row. */
#define IGNORED (KGB_N_EXCHANGE_STATES + 1)
#define TO(state) KGB_EXCHANGE_##state

static const int transitions[KGB_N_EXCHANGE_STATES][KGB_N_EXCHANGE_EVENTS] = {
	/* MODEL, VERIFY, WAIT, START, SOURCE_END, CLIENT_END, CLOSE, RECORDED */

	/* SOURCE_END: the request is rejected. CLOSE: the server drops the connection next. */
	[TO(READING)] = {TO(PREPARING), TO(JUDGING), NO, NO, TO(REPLYING), TO(ENDED), IGNORED, NO},
	/* From here on RECORDED, of the request, matters only once client and source have ended. */
	[TO(PREPARING)] = {NO, NO, TO(WAITING), TO(ANSWERING), TO(REPLYING), TO(ABANDONED),
			   TO(ABANDONED), IGNORED},
	/* CLIENT_END: it leaves the queue first, which is a SOURCE_END. */
	[TO(WAITING)] = {NO, NO, NO, TO(ANSWERING), TO(REPLYING), NO, TO(REPLYING), IGNORED},
	/* CLIENT_END while it waits for its turn at a provider: the same as above. */
	[TO(ANSWERING)] = {NO, NO, NO, NO, TO(REPLYING), TO(DRAINING), TO(REPLYING), IGNORED},
	/* Verification requests are not recorded. */
	[TO(JUDGING)] = {NO, NO, NO, NO, TO(REPLYING), TO(ENDED), TO(REPLYING), NO},
	/* CLOSE: the server drops the connection next. */
	[TO(REPLYING)] = {NO, NO, NO, NO, NO, TO(ENDED), IGNORED, IGNORED},
	/* CLIENT_END: after a CLOSE the server drops the connection. CLOSE: the client left before.
	 */
	[TO(ABANDONED)] = {NO, NO, NO, NO, TO(ENDED), IGNORED, IGNORED, IGNORED},
	[TO(DRAINING)] = {NO, NO, NO, NO, TO(ENDED), NO, TO(ENDED), IGNORED},
	/* CLOSE: all that is left to do is the record, and that is kept. */
	[TO(ENDED)] = {NO, NO, NO, NO, NO, NO, IGNORED, TO(SETTLING)},
	[TO(SETTLING)] = {NO, NO, NO, NO, NO, NO, IGNORED, TO(OVER)},
	/* CLOSE: its handles are closing already. */
	[TO(OVER)] = {NO, NO, NO, NO, NO, NO, IGNORED, NO},
};

enum kgb_exchange_state kgb_exchange_next(enum kgb_exchange_state state,
					  enum kgb_exchange_event event)
{
	int next = transitions[state][event];
	return next == IGNORED ? state : (enum kgb_exchange_state)next;
}
