/* SPDX-License-Identifier: MIT */
/** \file
 * Refuses requests whose cost has no bound before they leave, unless the run lets them pass
 * (gateway.provider_tools). */
#ifndef KGB_SANDBOX_REQUEST_UNBILLABLE_H
#define KGB_SANDBOX_REQUEST_UNBILLABLE_H

#include "sandbox/request/body.h"
#include "sandbox/request/http.h"

/** Counts the images in the content, too. INVALID, with a sentence for the client, for fields and
 * values that cost more than the tokens that the answer reports at the listed prices, for content
 * that is not in the request itself, and for unknown fields. */
KGB_MUST_CHECK int kgb_unbillable(struct kgb_body *body, enum kgb_endpoint endpoint,
				  size_t *n_images, struct kgb_err *err);

#endif
