/* SPDX-License-Identifier: MIT */
/** \file
 * Specs of the operators of a run that was made earlier.
 */
#ifndef KGB_AGENT_RUN_RUN_SPECS_H
#define KGB_AGENT_RUN_RUN_SPECS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/cli/cmd.h"
#include "agent/store/state.h"
#include "base/err.h"
#include "verify/spec/spec.h"

typedef bool (*kgb_op_filter_fn)(const struct kgb_op_state *op, const void *payload);

/** Load the specs of the run's operators that `wanted` accepts, in the run's order. *specs is a
 * new array, *n long: kgb_specs_free it, after an error too. */
KGB_MUST_CHECK int kgb_run_specs_load(struct kgb_cli *cli, const struct kgb_run_state *state,
				      kgb_op_filter_fn wanted, const void *payload,
				      struct kgb_spec **specs, size_t *n, struct kgb_err *err);
void kgb_specs_free(struct kgb_spec *specs, size_t n);

#endif
