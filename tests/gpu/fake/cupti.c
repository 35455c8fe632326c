/* SPDX-License-Identifier: MIT */
/* The few functions of CUPTI that kgb-exec uses, beside the stand-in for the driver: one record for
 * each kernel, memset and copy since the last flush. */
#include <cupti.h>
#include <stdbool.h>
#include <string.h>

#include "tests/gpu/fake/fake.h"

/* Names of parameters are this file's own. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

enum { RECORDS_MAX = 16384 };

/* Large enough for a record of any kind that is made here, and of a size of its own. */
union record {
	CUpti_Activity head;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemset4 fill;
	CUpti_ActivityMemcpy6 copy;
};

static CUpti_BuffersCallbackRequestFunc want_buffer;
static CUpti_BuffersCallbackCompleteFunc give_buffer;
static bool enabled[CUPTI_ACTIVITY_KIND_COUNT];
static union record records[RECORDS_MAX];
static size_t n_records;
static uint64_t now;

/* Work of 100 ns, 10 ns after what came before. */
void fake_activity(int kind)
{
	if (!enabled[kind] || n_records == RECORDS_MAX)
		return;
	union record *record = &records[n_records++];
	memset(record, 0, sizeof(*record));
	record->head.kind = (CUpti_ActivityKind)kind;
	now += 10;
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_MEMSET:
		record->fill.start = now;
		record->fill.end = now + 100;
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		record->copy.start = now;
		record->copy.end = now + 100;
		break;
	default:
		record->kernel.start = now;
		record->kernel.end = now + 100;
		break;
	}
	now += 100;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc want,
						    CUpti_BuffersCallbackCompleteFunc give)
{
	want_buffer = want;
	give_buffer = give;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	enabled[kind] = true;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	enabled[kind] = false;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	size_t done = 0;

	(void)flag;
	while (done < n_records) {
		uint8_t *buffer = NULL;
		size_t size = 0;
		size_t max_records = 0;
		size_t n = 0;
		want_buffer(&buffer, &size, &max_records);
		for (; done + n < n_records && (n + 1) * sizeof(records[0]) <= size; n++)
			memcpy(buffer + n * sizeof(records[0]), &records[done + n],
			       sizeof(records[0]));
		give_buffer(NULL, 0, buffer, size, n * sizeof(records[0]));
		done += n;
	}
	n_records = 0;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
	*timestamp = ++now;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
						CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + sizeof(records[0]) : buffer;

	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
