/* SPDX-License-Identifier: MIT */
/** \file
 * Inputs of a case and their right results, from the reference or from the cache. */
#include "verify/lane/gpu_facts.h"
#include "verify/lane/lane.h"
#include "verify/lane/truth_cache.h"

enum { REFERENCE_MS = 120 * 1000 };

void kgb_lane_fill(struct kgb_lane *lane, struct kgb_case_data *data, const struct kgb_case *c,
		   uint32_t variant)
{
	KGB_MEASURE(lane, KGB_PHASE_FILL);
	kgb_case_data_fill(data, c, &lane->verdict->seed, variant);
}

static const char *device_name(const struct kgb_lane *lane)
{
	if (lane->judge->options->device == KGB_DEVICE_CPU)
		return "cpu";
	return lane->gpu ? lane->gpu->name : "";
}

/* Whether the cache has the answer of an earlier verification. */
static bool recall(struct kgb_lane *lane, struct kgb_case_data *data)
{
	data->truth_key[0] = '\0';
	data->is_recalled = false;
	if (!lane->judge->truths)
		return false;
	const struct kgb_truth_place place = {
		.identity = lane->reference->worker.identity,
		.device = device_name(lane),
		.spec_sha256 = lane->judge->spec.sha256,
	};
	KGB_MEASURE(lane, KGB_PHASE_TRUTH);
	data->is_recalled = kgb_truth_key(&place, data, data->truth_key) &&
			    kgb_truth_recall(lane->judge->truths, data->truth_key, data);
	lane->verdict->n_truths_recalled += data->is_recalled;
	return data->is_recalled;
}

static int ask(struct kgb_lane *lane, const struct kgb_case_data *data, struct kgb_err *err)
{
	KGB_MEASURE(lane, KGB_PHASE_TRUTH);
	return kgb_case_data_ask(data, lane->reference, true, kgb_mono_ms() + REFERENCE_MS, err);
}

int kgb_lane_request_truth(struct kgb_lane *lane, struct kgb_case_data *data, struct kgb_err *err)
{
	return recall(lane, data) ? 0 : ask(lane, data, err);
}

int kgb_lane_receive_truth(struct kgb_lane *lane, struct kgb_case_data *data, struct kgb_err *err)
{
	const struct kgb_shared_arena *memory = &lane->reference->memory;
	KGB_AUTO(free) struct kgb_wire_reply *reply = NULL;

	if (data->is_recalled)
		return 0;
	KGB_MEASURE(lane, KGB_PHASE_TRUTH);
	reply = kgb_xmalloc(sizeof(*reply));
	if (kgb_case_data_wait(data, lane->reference, true, kgb_mono_ms() + REFERENCE_MS, reply,
			       err) < 0 ||
	    kgb_case_data_take(data, reply, memory->out, memory->out_bytes, true, err) < 0)
		return -1;
	if (data->truth_key[0])
		kgb_truth_keep(lane->judge->truths, data->truth_key, reply, memory->out);
	return 0;
}

int kgb_lane_fetch_truth(struct kgb_lane *lane, struct kgb_case_data *data, struct kgb_err *err)
{
	if (recall(lane, data))
		return 0;
	pthread_mutex_lock(&lane->reference->lock);
	int rc = ask(lane, data, err);
	if (rc == 0)
		rc = kgb_lane_receive_truth(lane, data, err);
	pthread_mutex_unlock(&lane->reference->lock);
	return rc;
}
