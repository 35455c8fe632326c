/* SPDX-License-Identifier: MIT */
/** \file
 * Shared by the files of `doctor`: cmd_doctor.c (programs, data, devices, model), doctor_sandbox.c
 * (what isolation relies on).
 */
#ifndef KGB_AGENT_DOCTOR_DOCTOR_H
#define KGB_AGENT_DOCTOR_DOCTOR_H

#include "agent/cli/cmd.h"
#include "sandbox/isolation/ladder.h"

enum kgb_outcome { KGB_PASS, KGB_WARN, KGB_FAIL };

/** One line of the report. */
struct kgb_doctor_finding {
	enum kgb_outcome outcome;
	char detail[512];
	char fix[512]; /* a command or an instruction; "" when nothing is to be done */
};

void kgb_doctor_finding_set(struct kgb_doctor_finding *f, enum kgb_outcome outcome, const char *fix,
			    const char *fmt, ...) KGB_PRINTF(4, 5);

typedef void (*kgb_check_fn)(const struct kgb_cli *cli, struct kgb_doctor_finding *f);

/** What this machine can hold an agent with; tried once. */
const struct kgb_ladder *kgb_doctor_ladder(const struct kgb_cli *cli);

/** The nearest directory that exists: where a run would be created; malloc'ed. */
char *kgb_doctor_existing_parent(const char *path);

/* doctor_model.c */
void kgb_check_model(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_api(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_prices(const struct kgb_cli *cli, struct kgb_doctor_finding *f);

/* doctor_sandbox.c */
void kgb_check_namespaces(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_network(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_nested(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_landlock(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_calls(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_cgroup(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_isolation(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_kill(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_disk(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_memory(const struct kgb_cli *cli, struct kgb_doctor_finding *f);
void kgb_check_gpu_policy(const struct kgb_cli *cli, struct kgb_doctor_finding *f);

#endif
