/* SPDX-License-Identifier: MIT */
#include "sandbox/provider/retry.h"

#include <curl/curl.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

#define DAY_MS (24LL * 3600 * 1000)

int64_t kgb_retry_after_ms(const char *value, int64_t wall_ms)
{
	double seconds;
	int64_t ms;
	if (kgb_parse_double(value, &seconds, NULL) == 0) {
		if (seconds < 0)
			return -1;
		ms = seconds > (double)DAY_MS / 1000 ? DAY_MS : (int64_t)ceil(seconds * 1000);
	} else {
		time_t when = curl_getdate(value, NULL);
		if (when < 0)
			return -1;
		ms = (int64_t)when * 1000 - wall_ms;
	}
	return ms < 0 ? 0 : ms > DAY_MS ? DAY_MS : ms;
}

/* Milliseconds of the pause that the provider asks for; -1: none. */
static int64_t provider_wait_ms(const struct kgb_retry_fault *fault)
{
	if (fault->retry_after_ms) {
		int64_t ms;
		if (kgb_parse_i64(fault->retry_after_ms, 0, DAY_MS, &ms, NULL) == 0)
			return ms;
	}
	return fault->retry_after ? kgb_retry_after_ms(fault->retry_after, kgb_wall_ms()) : -1;
}

/* Codes for a passing fault of the provider, not for a refused request. */
static bool is_passing_status(int status)
{
	static const int list[] = {408, 429, 500, 502, 503, 504, 529};
	for (size_t i = 0; i < KGB_ARRAY_LEN(list); i++)
		if (list[i] == status)
			return true;
	return false;
}

/* Faults of the connection before an answer began, without those that a repeated call would meet
 * again, such as an invalid certificate. */
static bool is_passing_error(const struct kgb_err *err)
{
	static const CURLcode list[] = {
		CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT,
		CURLE_SSL_CONNECT_ERROR,    CURLE_GOT_NOTHING,     CURLE_SEND_ERROR,
		CURLE_RECV_ERROR,
	};
	for (size_t i = 0; err->domain == KGB_ERR_DOMAIN_CURL && i < KGB_ARRAY_LEN(list); i++)
		if ((int)list[i] == err->code)
			return true;
	return false;
}

void kgb_retry_decide(const struct kgb_retry_policy *policy, const struct kgb_retry_fault *fault,
		      int n_tries, int64_t since_ms, double dice, struct kgb_retry_decision *out)
{
	*out = (struct kgb_retry_decision){0};
	bool passing = fault->status > 0 ? is_passing_status(fault->status)
					 : fault->err && is_passing_error(fault->err);
	if (fault->should_retry)
		passing = strcmp(fault->should_retry, "true") == 0;
	if (!passing)
		return;
	double wait = (double)policy->base_ms * pow(2, n_tries - 1);
	if (wait > (double)policy->cap_ms)
		wait = (double)policy->cap_ms;
	/* Random time between half of `wait_ms` and all of it. */
	out->wait_ms = (int64_t)(wait * (0.5 + dice / 2));
	int64_t asked = provider_wait_ms(fault);
	if (asked > out->wait_ms)
		out->wait_ms = asked;
	out->crowded = fault->status == 429 || fault->status == 503 || fault->status == 529;
	/* A limit of the account pauses all its calls; without a given time, for as long as this
	 * call waits. */
	if (fault->status == 429)
		out->pause_ms = out->wait_ms;
	else if (out->crowded && asked > 0)
		out->pause_ms = asked;
	out->again = n_tries < policy->max_tries && since_ms + out->wait_ms <= policy->total_ms;
}
