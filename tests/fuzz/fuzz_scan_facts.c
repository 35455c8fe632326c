/* SPDX-License-Identifier: MIT */
/** \file
 * Facts about a kernel.py, which a worker extracted that has read hostile source, against the real
 * policy.
 */
#include <stdint.h>

#include "base/str.h"
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
	return 0;
}
