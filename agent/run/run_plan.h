/* SPDX-License-Identifier: MIT */
/** \file
 * The plan of a run: operators, method, model, devices, limits. Planning finds every fault of the
 * command and of the machine before anything is created. */
#ifndef KGB_AGENT_RUN_RUN_PLAN_H
#define KGB_AGENT_RUN_RUN_PLAN_H

#include "agent/attempt/attempt_env.h"
#include "agent/cli/cmd.h"
#include "agent/devices/devices.h"
#include "agent/store/events.h"
#include "agent/store/rundir.h"
#include "methods/chat_prompt.h"
#include "methods/method.h"
#include "sandbox/gateway/gateway.h"
#include "verify/spec/spec.h"

/** Everything in it is resolved and checked. Release with kgb_run_plan_release. */
struct kgb_run_plan {
	struct kgb_cli *cli;
	bool generate;
	bool resume; /* continue what an earlier start left in the run's directory */
	/* Of a run of a series: */
	const char *label; /* its name there; NULL: it is alone */
	const char *series; /* existing folder for a new run; NULL: create a folder */
	size_t n_runs; /* of the series; 0: it is alone */
	bool is_copy; /* all but folder, journal and sampling is borrowed from another plan */
	struct kgb_method method; /* when generating */
	bool has_method;
	struct kgb_spec *specs; /* one per operator */
	size_t n_specs;
	struct kgb_rundir from; /* source of the kernels: --from-run, or --kernels RUN/kernels */
	struct kgb_run_state origin; /* of --kernels RUN/kernels: the folded state of that run */
	char *start_dir; /* owned; its kernels; NULL: none */
	struct kgb_rundir dir;
	struct kgb_run_log *log;
	char *cli_path, *python;
	char *versions; /* owned; of that Python; NULL: not known */
	char cli_version[KGB_VERSION_LEN];
	const char *model;
	enum kgb_gateway_mode gateway_mode;
	char *endpoint; /* owned; base URLs whose keys there are; NULL unless live */
	struct kgb_account_spec
		accounts[KGB_N_PROVIDERS]; /* models that the method's program may use */
	struct kgb_chat_texts texts; /* of a bare model, owned */
	bool has_texts;
	char *sampling, *prompts; /* of a bare model, owned; as struct kgb_maker has them */
	struct kgb_ladder ladder;
	struct kgb_devices devices;
	int at_a_time; /* operators */
	int judges; /* verifications at a time */
	struct kgb_prices *prices; /* NULL: nothing is generated */
};
#define KGB_RUN_PLAN_INIT                                                                     \
	{                                                                                     \
		.from = KGB_RUNDIR_INIT, .dir = KGB_RUNDIR_INIT, .origin = KGB_RUN_STATE_INIT \
	}
/** The maker of this plan's kernels, or of those of --kernels, as far as known. Borrows from the
 * plan. */
struct kgb_maker kgb_run_plan_maker(const struct kgb_run_plan *plan);
void kgb_run_plan_release(struct kgb_run_plan *plan);

/** The operators that the user named, or all of the dataset. */
KGB_MUST_CHECK int kgb_run_plan_operators(struct kgb_run_plan *plan, struct kgb_err *err);
/** Each operator has a kernel in DIR; without operators on the command line, those that have one
 * are kept. */
KGB_MUST_CHECK int kgb_run_plan_kernels(struct kgb_run_plan *plan, const char *dir,
					struct kgb_err *err);
/** --kernels DIR: the same; if DIR is the folder `kernels` of a run, that run's record names their
 * maker. */
KGB_MUST_CHECK int kgb_run_plan_foreign(struct kgb_run_plan *plan, const char *dir,
					struct kgb_err *err);
/** Append the kernel DIR/aten__add.py or DIR/add.py of an operator to *out. NOT_FOUND: there is
 * none. */
KGB_MUST_CHECK int kgb_run_plan_find_kernel(const char *dir, const struct kgb_spec *spec,
					    struct kgb_buf *out, struct kgb_err *err);
/** The method, its model and program, and the run to start from. */
KGB_MUST_CHECK int kgb_run_plan_generation(struct kgb_run_plan *plan, struct kgb_err *err);
/** Check what this plan needs of the machine: devices, gateway, prices, sandbox, program, Python,
 * and a provider that accepts the key and has the model. INVALID: a resumed run would have another
 * method, gateway mode, model or endpoint, or other samples, without --force. */
KGB_MUST_CHECK int kgb_run_plan_environment(struct kgb_run_plan *plan, struct kgb_err *err);
/** --skip-gen: the operators of an earlier run that have a kernel, or those of them that the user
 * named. Locks and opens that run. */
KGB_MUST_CHECK int kgb_run_plan_earlier(struct kgb_run_plan *plan, struct kgb_err *err);
/** resume: the unfinished operators of the run. Locks and opens it. */
KGB_MUST_CHECK int kgb_run_plan_rest(struct kgb_run_plan *plan, struct kgb_err *err);

#endif
