/* SPDX-License-Identifier: MIT */
/** \file
 * The checks of a machine. `doctor` prints all of them; a run refuses to start when one that it
 * needs fails.
 */
#ifndef KGB_AGENT_DOCTOR_CHECKS_H
#define KGB_AGENT_DOCTOR_CHECKS_H

#include "agent/cli/cmd.h"
#include "agent/devices/devices.h"
#include "sandbox/isolation/ladder.h"

enum kgb_check_outcome { KGB_PASS, KGB_WARN, KGB_FAIL };

/** The result of one check. */
struct kgb_check_result {
	struct kgb_cli *cli; /* borrowed */
	bool quick; /* in: a run is about to start, so import nothing */
	bool gpu; /* in: kernels are judged on a GPU */
	enum kgb_check_outcome outcome;
	char detail[512];
	char fix[512]; /* a command or an instruction; "": that of the check's row */
};

/** Needs of a run. */
enum kgb_need {
	KGB_NEED_ISOLATION = 1 << 0, /* the level that the settings ask for */
	KGB_NEED_SANDBOX = 1 << 1,
	KGB_NEED_PYTHON = 1 << 2, /* with torch and triton */
	KGB_NEED_ROOM = 1 << 3, /* for one attempt, within the limits of this process */
	KGB_NEED_API = 1 << 4, /* that takes the key and has the model */
};

struct kgb_check {
	const char *name, *why, *fix;
	void (*check)(struct kgb_check_result *f);
	enum kgb_need need; /* 0: of no run */
};
extern const struct kgb_check kgb_checks[]; /* ends with a row without a name */

/** Record the outcome of a check. */
void kgb_found(struct kgb_check_result *f, enum kgb_check_outcome outcome, const char *fmt, ...)
	KGB_PRINTF(3, 4);
/** Record it with a specific remedy. */
void kgb_found_fix(struct kgb_check_result *f, enum kgb_check_outcome outcome, const char *fix,
		   const char *fmt, ...) KGB_PRINTF(4, 5);
/** Make the checks of these needs (enum kgb_need). UNAVAILABLE with the remedy when one fails. */
KGB_MUST_CHECK int kgb_checks_require(struct kgb_cli *cli, unsigned needs, bool gpu,
				      struct kgb_err *err);
/** The isolation that this machine supports; tried once. */
const struct kgb_ladder *kgb_checks_ladder(const struct kgb_cli *cli);

/** GPUs that a run could use: *found is false if there is none, with the reason in *f. */
void kgb_check_find_gpus(struct kgb_check_result *f, struct kgb_devices *devices, bool *found);
void kgb_check_gpu(struct kgb_check_result *f, const struct kgb_device *device);
/** torch uses each GPU and has loaded CUPTI, which records the work on a GPU. */
void kgb_check_torch_gpu(struct kgb_check_result *f, const struct kgb_devices *devices);

/** The nearest directory that exists: where a run would be created; malloc'ed. */
char *kgb_checks_existing_parent(const struct kgb_cli *cli);

/** The number of attempts at a time that this machine allows. */
struct kgb_room {
	int64_t fits;
	char limit[160], remedy[160]; /* of the limit that is reached first */
	char all[160]; /* what each limit holds */
};
void kgb_room_find(const struct kgb_cli *cli, int64_t wanted, struct kgb_room *out);

/* check_room.c */
void kgb_check_limits(struct kgb_check_result *f);

/* check_model.c */
void kgb_check_model(struct kgb_check_result *f);
void kgb_check_api(struct kgb_check_result *f);
void kgb_check_prices(struct kgb_check_result *f);

/* check_sandbox.c */
/** Whether there is no sandbox at all, so that checks in one are impossible: *f then has the
 * reason. */
bool kgb_check_needs_sandbox(struct kgb_check_result *f);
void kgb_check_namespaces(struct kgb_check_result *f);
void kgb_check_network(struct kgb_check_result *f);
void kgb_check_nested(struct kgb_check_result *f);
void kgb_check_landlock(struct kgb_check_result *f);
void kgb_check_calls(struct kgb_check_result *f);
void kgb_check_cgroup(struct kgb_check_result *f);
void kgb_check_isolation(struct kgb_check_result *f);
void kgb_check_kill(struct kgb_check_result *f);
void kgb_check_runs(struct kgb_check_result *f);
void kgb_check_disk(struct kgb_check_result *f);
void kgb_check_memory(struct kgb_check_result *f);
void kgb_check_gpu_policy(struct kgb_check_result *f);

#endif
