/* SPDX-License-Identifier: MIT */
/** \file
 * The states of an exchange. A client and a source of the answer (a provider, a script, a record or
 * the judge) end in any order, so the states are pairs of a client's and a source's state. The
 * exchange is settled once both have ended and no worker writes the request any more. */
#ifndef KGB_SANDBOX_GATEWAY_EXCHANGE_STATE_H
#define KGB_SANDBOX_GATEWAY_EXCHANGE_STATE_H

enum kgb_exchange_state {
	KGB_EXCHANGE_READING, /* the server reads the request */
	KGB_EXCHANGE_PREPARING, /* a model request is checked and rewritten */
	KGB_EXCHANGE_WAITING, /* for the budget */
	KGB_EXCHANGE_ANSWERING, /* a provider (or its queue), a script or a record gives the answer
				 */
	KGB_EXCHANGE_JUDGING, /* a verdict is awaited */
	KGB_EXCHANGE_REPLYING, /* the source has ended; the client takes the rest of the answer */
	KGB_EXCHANGE_ABANDONED, /* no client waits, but a worker cannot be stopped preparing */
	KGB_EXCHANGE_DRAINING, /* no client waits, but the answer is read to its end for its counts
				*/
	KGB_EXCHANGE_ENDED, /* client and source have ended; a worker may write the request */
	KGB_EXCHANGE_SETTLING, /* it is charged, and a worker writes the end of its record */
	KGB_EXCHANGE_OVER, /* it is freed as soon as its handles are closed */
	KGB_N_EXCHANGE_STATES
};

enum kgb_exchange_event {
	KGB_EXCHANGE_ON_MODEL, /* a model request is complete */
	KGB_EXCHANGE_ON_VERIFY, /* a verification request is complete */
	KGB_EXCHANGE_ON_WAIT, /* the budget may suffice later */
	KGB_EXCHANGE_ON_START, /* the source is asked for the answer */
	KGB_EXCHANGE_ON_SOURCE_END, /* nothing more of the answer comes */
	KGB_EXCHANGE_ON_CLIENT_END, /* the client has the whole answer, or has hung up */
	KGB_EXCHANGE_ON_CLOSE, /* the session closes: source and client are cut */
	KGB_EXCHANGE_ON_RECORDED, /* no worker writes to the record any more */
	KGB_N_EXCHANGE_EVENTS
};

/** KGB_N_EXCHANGE_STATES: that event cannot occur in that state. */
enum kgb_exchange_state kgb_exchange_next(enum kgb_exchange_state state,
					  enum kgb_exchange_event event);

#endif
