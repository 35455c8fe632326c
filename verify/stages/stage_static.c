/* SPDX-License-Identifier: MIT */
/** \file
 * Stages contract and l1: the source as bytes, then as facts that a jailed worker extracts without
 * running it.
 */
#include <sys/mman.h>

#include "base/limits.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/stages/stages.h"

enum {
	FACTS_BYTES = 32 << 20,
	FACTS_MS = 60 * 1000, /* wall time; an endless parse meets FACTS_CPU_S first */
	FACTS_MEMORY = 1 << 30,
	FACTS_CPU_S = 20,
	TMP_BYTES = 1 << 20
};

static int decide_finding(struct kgb_lane *lane, const struct kgb_finding *finding)
{
	enum kgb_stage stage =
		strcmp(finding->stage, "l1") == 0 ? KGB_STAGE_L1 : KGB_STAGE_CONTRACT;
	const char *line = finding->line > 0 ? kgb_lane_text(lane, "line %d: ", finding->line) : "";

	if (stage == KGB_STAGE_L1)
		lane->verdict->stages[KGB_STAGE_CONTRACT].status = KGB_STAGE_PASSED;
	return kgb_lane_decide(lane, stage, finding->code,
			       finding->hint[0] ? kgb_lane_text(lane, "%s", finding->hint) : NULL,
			       "%s%s", line, finding->message);
}

/* The parser died or took too long: the source is made to break it. */
static int decide_unparsable(struct kgb_lane *lane, const struct kgb_worker *worker)
{
	return kgb_lane_decide(
		lane, KGB_STAGE_CONTRACT, KGB_CODE_CONTRACT_UNPARSABLE,
		"Write plain Python: no deeply nested expressions, no generated code.",
		worker->end == KGB_WORKER_TIMED_OUT ? "parsing kernel.py takes too long"
						    : "parsing kernel.py exhausts the parser");
}

/* Facts as JSON; 0, 1 decided, -1 with *err. */
static int extract_facts(struct kgb_lane *lane, cJSON **out, struct kgb_err *err)
{
	KGB_AUTO(fd) int kernel = -1;
	KGB_AUTO(fd) int facts = -1;
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	struct kgb_worker worker = KGB_WORKER_INIT;

	if (kgb_memfd_of("kgb-kernel", lane->judge->source.ptr, lane->judge->source.len, &kernel,
			 err) < 0 ||
	    kgb_memfd_sized("kgb-facts", FACTS_BYTES, 0, &facts, err) < 0)
		return -1;
	const struct kgb_worker_spec spec = {
		.role = "facts",
		.memory_bytes = FACTS_MEMORY,
		.cpu_s = FACTS_CPU_S,
		.tmp_bytes = TMP_BYTES,
		.fds = {kernel, facts},
		.n_fds = 2,
	};
	if (kgb_lane_start_worker(lane, &worker, KGB_ROLE_RUNNER, &spec, FACTS_MS, err) < 0)
		return -1;
	if (kgb_worker_send(&worker, "{\"op\":\"facts\"}", NULL, 0, err) < 0) {
		kgb_worker_stop(&worker);
		return -1;
	}
	bool answered = kgb_worker_wait(&worker, kgb_mono_ms() + FACTS_MS, reply);
	int rc = 0;
	if (!answered && worker.end == KGB_WORKER_LOST)
		rc = kgb_fail(err, KGB_ERR_FAILED, "the parser's supervisor is gone");
	else if (!answered || reply->status != KGB_WIRE_OK)
		rc = decide_unparsable(lane, &worker);
	/* The parser is dead before its text is read, so the text does not change meanwhile. */
	kgb_worker_stop(&worker);
	if (rc != 0)
		return rc;
	if (reply->value > FACTS_BYTES)
		return kgb_fail(err, KGB_ERR_FAILED, "facts of %lld bytes",
				(long long)reply->value);
	const char *text = mmap(NULL, FACTS_BYTES, PROT_READ, MAP_SHARED, facts, 0);
	if (text == MAP_FAILED)
		return kgb_fail(err, KGB_ERR_FAILED, "map the facts");
	rc = kgb_json_parse(text, (size_t)reply->value, out, err);
	munmap((void *)(uintptr_t)text, FACTS_BYTES);
	return rc < 0 ? kgb_ctx(err, "facts") : 0;
}

int kgb_stage_static(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_finding finding = {0};
	KGB_AUTO(json) cJSON *facts = NULL;

	if (kgb_scan_bytes(lane->judge->source.ptr, lane->judge->source.len, &finding) != 0)
		return decide_finding(lane, &finding);
	int rc = extract_facts(lane, &facts, err);
	if (rc != 0)
		return rc;
	rc = kgb_scan_facts(lane->judge->l1, &lane->judge->spec, facts, &lane->verdict->notes,
			    &finding, err);
	if (rc == 1)
		return decide_finding(lane, &finding);
	if (rc == 0)
		rc = kgb_dictionary_read(facts, lane->judge->numbers, err);
	if (rc == 0)
		lane->verdict->stages[KGB_STAGE_L1].status = KGB_STAGE_PASSED;
	return rc;
}
