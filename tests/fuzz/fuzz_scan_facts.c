/* SPDX-License-Identifier: MIT */
/** \file
 * Facts about a kernel.py, which a worker extracted that has read hostile source, against the real
 * policy.
 */
#include <stdint.h>

#include "base/str.h"
#include "verify/draw/dictionary.h"
#include "verify/static/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kgb_param params[] = {
	{.name = "self", .kind = KGB_PARAM_TENSOR, .result = -1},
	{.name = "dim", .kind = KGB_PARAM_VALUE, .result = -1},
	{.name = "out", .kind = KGB_PARAM_OUT, .result = 0, .keyword = true},
};
static struct kgb_interface interfaces[] = {
	{.entry = "toy",
	 .schema = "toy(Tensor self, int dim) -> Tensor",
	 .params = params,
	 .n_params = 2},
	{.entry = "toy_out",
	 .schema = "toy.out(Tensor self, int dim, *, Tensor(a!) out)",
	 .params = params,
	 .n_params = 3},
};

static const struct kgb_l1 *policy(void)
{
	static struct kgb_l1 *l1;
	struct kgb_err err = KGB_ERR_INIT;
	if (!l1 && kgb_l1_load(KGB_POLICY_FILE, &l1, &err) < 0)
		abort();
	return l1;
}

/* Whatever was read is a number, and can be dealt. */
static void deal_numbers(const cJSON *facts)
{
	static const struct kgb_seed seed;
	const struct kgb_whole_range range = {.lo = 1, .hi = 100, .use = KGB_NUMBER_SIZE};
	struct kgb_dictionary numbers;
	struct kgb_err err = KGB_ERR_INIT;
	int64_t whole = 0;
	double value = 0;

	if (kgb_dictionary_read(facts, &numbers, &err) < 0) {
		KGB_ASSERT(err.msg[0]);
		return;
	}
	KGB_ASSERT(numbers.n <= KGB_DICTIONARY_MAX);
	for (uint32_t turn = 0; turn < 4; turn++) {
		if (kgb_dictionary_deal_whole(&numbers, &seed, "size", turn, range, &whole))
			KGB_ASSERT(whole >= range.lo && whole <= range.hi);
		if (kgb_dictionary_deal_float(&numbers, &seed, "float", turn, -1, 1, &value))
			KGB_ASSERT(value >= -1 && value <= 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kgb_spec spec = {.interfaces = interfaces,
				      .n_interfaces = KGB_ARRAY_LEN(interfaces)};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_finding finding = {0};
	struct kgb_notes notes;
	KGB_AUTO(json) cJSON *facts = NULL;

	if (kgb_json_parse((const char *)data, size, &facts, &err) < 0)
		return 0;
	int rc = kgb_scan_facts(policy(), &spec, facts, &notes, &finding, &err);
	KGB_ASSERT(notes.n <= KGB_NOTES_MAX && (int64_t)notes.n <= notes.n_seen);
	for (size_t i = 0; i < notes.n; i++)
		KGB_ASSERT(kgb_code_status(notes.items[i].code) == KGB_STATUS_NONE &&
			   notes.items[i].message[0]);
	if (rc < 0) {
		KGB_ASSERT(rc == -1 && err.msg[0] && !finding.code);
	} else if (rc == 1) {
		KGB_ASSERT(kgb_code_status(finding.code) == KGB_STATUS_REFUSED);
		KGB_ASSERT(kgb_str_eq(finding.stage, "contract") ||
			   kgb_str_eq(finding.stage, "l1"));
		KGB_ASSERT(finding.message[0] &&
			   strlen(finding.message) < sizeof(finding.message) && finding.hint[0]);
		KGB_ASSERT(kgb_utf8_valid(finding.message, strlen(finding.message)) ==
			   strlen(finding.message));
	} else {
		KGB_ASSERT(rc == 0 && !finding.code);
	}
	deal_numbers(facts);
	return 0;
}
