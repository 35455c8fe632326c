/* SPDX-License-Identifier: MIT */
/** \file
 * Trajectories in the Agent Trajectory Interchange Format, ATIF v1.7 (Harbor's RFC 0001): one
 * document for an attempt of a coding CLI, or for a sample of a bare model.
 */
#ifndef KGB_AGENT_EXPORTS_ATIF_H
#define KGB_AGENT_EXPORTS_ATIF_H

#include "agent/evidence/record.h"

/** Append the document of an attempt, on one line. */
KGB_MUST_CHECK int kgb_atif_of_attempt(const struct kgb_run_record *record,
				       const struct kgb_op_state *op,
				       const struct kgb_attempt_state *attempt, struct kgb_buf *out,
				       struct kgb_err *err);
/** Append the document of a sample with its rounds, on one line. */
KGB_MUST_CHECK int kgb_atif_of_sample(const struct kgb_run_record *record,
				      const struct kgb_op_state *op, int number,
				      struct kgb_buf *out, struct kgb_err *err);

#endif
