/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tests/unit/verify/trace/fake_gpu.h"

extern struct fake_cupti fake_cupti;

static void fire(CUpti_CallbackId id, const char *name, const void *params, CUresult result)
{
	CUpti_CallbackData data;

	if (!fake_cupti.callback || !fake_cupti.enabled[id])
		return;
	memset(&data, 0, sizeof(data));
	data.functionName = name;
	data.functionParams = params;
	data.callbackSite = CUPTI_API_ENTER;
	fake_cupti.callback(fake_cupti.payload, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
	data.callbackSite = CUPTI_API_EXIT;
	data.functionReturnValue = &result;
	fake_cupti.callback(fake_cupti.payload, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

struct fake_cupti fake_cupti = {.fire = fire};

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			   void *userdata)
{
	if (fake_cupti.subscribe_result != CUPTI_SUCCESS)
		return fake_cupti.subscribe_result;
	*subscriber = (CUpti_SubscriberHandle)(void *)&fake_cupti;
	fake_cupti.callback = callback;
	fake_cupti.payload = userdata;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	(void)subscriber;
	fake_cupti.callback = NULL;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	(void)subscriber;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || cbid >= CUPTI_DRIVER_TRACE_CBID_SIZE ||
	    cbid == fake_cupti.refused)
		return CUPTI_ERROR_INVALID_PARAMETER;
	fake_cupti.enabled[cbid] = enable != 0;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = 130001;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	(void)result;
	*str = "CUPTI_ERROR_SOMETHING";
	return CUPTI_SUCCESS;
}
