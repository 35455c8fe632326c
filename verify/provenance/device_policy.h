/* SPDX-License-Identifier: MIT */
/** \file
 * Code that may run on the GPU for a candidate: verify/policy/device.yaml as rules. */
#ifndef KGB_VERIFY_PROVENANCE_DEVICE_POLICY_H
#define KGB_VERIFY_PROVENANCE_DEVICE_POLICY_H

#include <stddef.h>

#include "base/err.h"

struct kgb_device_policy;

/** Load the policy file. Pair with kgb_device_policy_free. */
KGB_MUST_CHECK int kgb_device_policy_load(const char *path, struct kgb_device_policy **out,
					  struct kgb_err *err);
void kgb_device_policy_free(struct kgb_device_policy *policy);

/** Name of the rule by which a kernel of torch is an allowed fill or copy; NULL: it is not one.
 * `kernel` is its (mangled) symbol. */
const char *kgb_device_policy_move(const struct kgb_device_policy *policy, const char *kernel);
/** Whether Triton IR with this operator ("arith.addf") may be compiled. */
bool kgb_device_policy_operator(const struct kgb_device_policy *policy, const char *name);
/** Whether a Triton kernel may call this function of the driver. */
bool kgb_device_policy_import(const struct kgb_device_policy *policy, const char *name);

#endif
