/* SPDX-License-Identifier: MIT */
/** \file
 * The maker of kernels: a method, and the model behind it.
 */
#ifndef KGB_AGENT_STORE_MAKER_H
#define KGB_AGENT_STORE_MAKER_H

#include <stdbool.h>

/** The maker of the kernels of a run or an attempt. Older journals lack the endpoint. */
struct kgb_maker {
	const char *method;
	const char *gateway_mode; /* "live", "offline", "replay"; NULL: of kernels whose
				     maker is not known */
	const char *model; /* as asked of the provider */
	const char *endpoint; /* base URLs of the providers, separated by blanks; NULL: offline */
	/* Of a bare model, NULL else: path and fields as asked for; texts with their SHA-256. */
	const char *sampling, *prompts;
};
/** The gateway mode of a run whose attempts differ in their makers. */
#define KGB_MIXED "mixed"
/** The method of a run of kernels that come from elsewhere. */
#define KGB_METHOD_KERNELS "kernels"

/** Whether both describe the same model behind the same gateway mode and endpoint, asked in the
 * same way. A field that one of them lacks equals any. */
bool kgb_maker_equal(const struct kgb_maker *a, const struct kgb_maker *b);
/** Its model is the built-in script. */
bool kgb_maker_is_offline(const struct kgb_maker *maker);

#endif
