/* SPDX-License-Identifier: MIT */
/** \file
 * Inputs of a case and what is right for them: asked of the reference, or known from earlier.
 */
#include "verify/lane/gpu_facts.h"
#include "verify/lane/judge.h"
#include "verify/lane/truth_cache.h"

enum { REFERENCE_MS = 120 * 1000 };

void kgb_judge_fill(struct kgb_judge *judge, struct kgb_case_data *data, const struct kgb_case *c,
		    uint32_t variant)
{
	KGB_MEASURE(judge, KGB_PHASE_FILL);
	kgb_case_data_fill(data, c, &judge->verdict->seed, variant);
}

static const char *device_name(const struct kgb_judge *judge)
{
	if (judge->options->device == KGB_DEVICE_CPU)
		return "cpu";
	return judge->gpu ? judge->gpu->name : "";
}

/* Was this answered in an earlier verification? */
static bool recall(struct kgb_judge *judge, struct kgb_case_data *data)
{
	data->truth_key[0] = '\0';
	data->is_recalled = false;
	if (!judge->truths)
		return false;
	const struct kgb_truth_place place = {
		.identity = judge->reference->worker.identity,
		.device = device_name(judge),
		.spec_sha256 = judge->spec.sha256,
	};
	KGB_MEASURE(judge, KGB_PHASE_TRUTH);
	data->is_recalled = kgb_truth_key(&place, data, data->truth_key) &&
			    kgb_truth_recall(judge->truths, data->truth_key, data);
	judge->verdict->n_truths_recalled += data->is_recalled;
	return data->is_recalled;
}

static int ask(struct kgb_judge *judge, const struct kgb_case_data *data, struct kgb_err *err)
{
	struct kgb_reference *reference = judge->reference;

	KGB_MEASURE(judge, KGB_PHASE_TRUTH);
	return kgb_case_data_ask(data, &reference->worker, &reference->memory, true,
				 kgb_mono_ms() + REFERENCE_MS, err);
}

int kgb_judge_ask_truth(struct kgb_judge *judge, struct kgb_case_data *data, struct kgb_err *err)
{
	return recall(judge, data) ? 0 : ask(judge, data, err);
}

int kgb_judge_take_truth(struct kgb_judge *judge, struct kgb_case_data *data, struct kgb_err *err)
{
	struct kgb_reference *reference = judge->reference;
	const struct kgb_shared_arena *memory = &reference->memory;
	KGB_AUTO(free) struct kgb_wire_reply *reply = NULL;

	if (data->is_recalled)
		return 0;
	KGB_MEASURE(judge, KGB_PHASE_TRUTH);
	reply = kgb_xmalloc(sizeof(*reply));
	if (kgb_case_data_wait(data, &reference->worker, &reference->memory, true,
			       kgb_mono_ms() + REFERENCE_MS, reply, err) < 0 ||
	    kgb_case_data_take(data, reply, memory->out, memory->out_bytes, true, err) < 0)
		return -1;
	if (data->truth_key[0])
		kgb_truth_keep(judge->truths, data->truth_key, reply, memory->out);
	return 0;
}

int kgb_judge_learn(struct kgb_judge *judge, struct kgb_case_data *data, struct kgb_err *err)
{
	if (recall(judge, data))
		return 0;
	pthread_mutex_lock(&judge->reference->lock);
	int rc = ask(judge, data, err);
	if (rc == 0)
		rc = kgb_judge_take_truth(judge, data, err);
	pthread_mutex_unlock(&judge->reference->lock);
	return rc;
}
