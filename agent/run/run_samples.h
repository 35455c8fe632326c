/* SPDX-License-Identifier: MIT */
/** \file
 * A run's settings of a bare model: the numbers of samples and rounds, the sampling, the texts. */
#ifndef KGB_AGENT_RUN_RUN_SAMPLES_H
#define KGB_AGENT_RUN_RUN_SAMPLES_H

#include "agent/run/run_plan.h"

/** Request settings of a bare model for one sample of each operator. Borrows from the settings. */
struct kgb_sampling_plan kgb_run_sampling(const struct kgb_settings *settings,
					  enum kgb_protocol protocol, bool is_offline,
					  const struct kgb_chat_texts *texts);
/** The texts of a run: its copies, else the method's. Pair with kgb_chat_texts_release. */
KGB_MUST_CHECK int kgb_run_read_copies(const struct kgb_rundir *dir,
				       const struct kgb_method *method, struct kgb_chat_texts *out,
				       struct kgb_err *err);
/** Request settings of a bare model. Borrows from the plan. */
struct kgb_sampling_plan kgb_run_plan_samples(const struct kgb_run_plan *plan);
/** The number of samples of each operator and of rounds of each sample (0: without reflection):
 * from the settings, or from the run if nothing is generated. */
void kgb_run_plan_count_samples(const struct kgb_run_plan *plan, int *n_samples, int *n_rounds);
/** Whether a sample of a bare model has no verdict. */
bool kgb_run_plan_lacks_verdicts(const struct kgb_op_state *op);
/** Whether samples of a bare model are missing, or have no verdict. */
bool kgb_run_plan_lacks_samples(const struct kgb_op_state *op, const struct kgb_cli *cli);

/** --single-test, --debug: keep one operator, drawn by model.seed or anew, or eight, and name them.
 */
void kgb_run_plan_draw(struct kgb_run_plan *plan);
/** Print the meaning here of names that mean something else in the script of KernelGenBench. */
void kgb_run_plan_note_names(const struct kgb_run_plan *plan);

/** Read the texts: those that the user names now, else the copies of the run that is resumed, else
 * the method's. Does nothing for a method with a program. */
KGB_MUST_CHECK int kgb_run_plan_read_texts(struct kgb_run_plan *plan, struct kgb_err *err);
/** Fill in what the journal records of sampling and texts. The gateway mode is decided. */
void kgb_run_plan_describe_sampling(struct kgb_run_plan *plan);
/** A resumed run goes on with the samples that it has: INVALID when it would add chains of rounds
 * to independent samples or the other way round, or when the prompt of an operator is not the one
 * that its samples answered (without --force). */
KGB_MUST_CHECK int kgb_run_plan_check_samples(const struct kgb_run_plan *plan, struct kgb_err *err);
/** Write the texts into the folder of a new run. */
KGB_MUST_CHECK int kgb_run_plan_keep_texts(const struct kgb_run_plan *plan, struct kgb_err *err);

#endif
