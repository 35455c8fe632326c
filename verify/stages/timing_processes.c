/* SPDX-License-Identifier: MIT */
#include "verify/stages/timing_processes.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/system/memfd.h"

enum { START_MS = 60 * 1000 };
/* A context with its code takes about half a GB. Pairs are made early only where all of them take
 * less than a quarter of the memory. */
#define PAIR_BYTES (UINT64_C(1) << 30)
#define EARLY_PART 4

void kgb_timing_processes_init(struct kgb_timing_processes *processes)
{
	*processes = (struct kgb_timing_processes){0};
	for (int i = 0; i < KGB_TIMING_PROCESSES_MAX; i++)
		kgb_timing_process_at(processes, i)->exec =
			(struct kgb_exec_client)KGB_EXEC_CLIENT_INIT;
	for (int side = 0; side < KGB_N_SIDES; side++)
		processes->outputs[side].fd = -1;
}

void kgb_timing_process_stop(struct kgb_timing_process *process)
{
	if (process->begun || process->runs)
		kgb_exec_client_stop(&process->exec);
	process->begun = process->runs = process->rehearsed = false;
	memset(process->holds, 0, sizeof(process->holds));
}

static void release_output(struct kgb_timing_output *output)
{
	if (output->bytes)
		munmap(output->bytes, output->n_bytes);
	kgb_close(output->fd);
	*output = (struct kgb_timing_output){.fd = -1};
}

struct leaving {
	struct kgb_timing_processes *processes;
	const struct kgb_gpu_lease *lease;
};

static void leave(void *payload, int64_t begin, int64_t end)
{
	const struct leaving *leaving = payload;

	for (int64_t i = begin; i < end; i++) {
		struct kgb_timing_process *process = kgb_timing_process_at(leaving->processes, i);
		const bool is_clean = i % KGB_N_SIDES == KGB_SIDE_A;
		kgb_exec_client_leave(&process->exec, process->runs && is_clean, leaving->lease);
	}
}

void kgb_timing_processes_release(struct kgb_timing_processes *processes,
				  const struct kgb_gpu_lease *lease)
{
	struct leaving leaving = {.processes = processes, .lease = lease};

	/* All begin to end before the first is waited for. To give memory back takes some ms each.
	 */
	kgb_parallel_for(KGB_TIMING_PROCESSES_MAX, KGB_N_SIDES, leave, &leaving);
	for (int i = 0; i < KGB_TIMING_PROCESSES_MAX; i++)
		kgb_timing_process_stop(kgb_timing_process_at(processes, i));
	for (int side = 0; side < KGB_N_SIDES; side++)
		release_output(&processes->outputs[side]);
}

static int begin(struct kgb_timing_process *process, const struct kgb_lane *lane,
		 struct kgb_err *err)
{
	const struct kgb_exec_spec spec = kgb_replay_gpu_spec(lane);

	process->exec = (struct kgb_exec_client)KGB_EXEC_CLIENT_INIT;
	process->begun = kgb_exec_client_begin(&process->exec, &spec, err) == KGB_EXEC_DONE;
	return process->begun ? 0 : -1;
}

int kgb_timing_processes_begin(struct kgb_timing_processes *processes, const struct kgb_lane *lane,
			       uint32_t n_pairs, struct kgb_err *err)
{
	const struct kgb_exec_machine *machine = &lane->replay->replayer->exec.machine;
	const uint64_t fit = machine->free_bytes / EARLY_PART / PAIR_BYTES;
	const uint32_t most = fit < n_pairs ? (uint32_t)fit : n_pairs;

	for (uint32_t i = 0; i < most * KGB_N_SIDES; i++) {
		struct kgb_timing_process *process = kgb_timing_process_at(processes, i);
		const bool is_adopted = i == KGB_SIDE_B;
		if (!is_adopted && !process->begun && !process->runs &&
		    begin(process, lane, err) < 0)
			return -1;
	}
	return 0;
}

void kgb_timing_processes_adopt(struct kgb_timing_processes *processes,
				struct kgb_replayer *replayer)
{
	struct kgb_timing_process *process = &processes->pairs[0][KGB_SIDE_B];

	if (process->begun || process->runs || !replayer->runs)
		return;
	process->exec = replayer->exec;
	process->runs = true;
	replayer->exec.process = (struct kgb_exec_process)KGB_EXEC_PROCESS_INIT;
	replayer->runs = false;
}

int kgb_timing_process_open(struct kgb_timing_process *process, const struct kgb_lane *lane,
			    struct kgb_err *err)
{
	const struct kgb_exec_spec spec = kgb_replay_gpu_spec(lane);

	if (process->runs)
		return 0;
	if (!process->begun && begin(process, lane, err) < 0)
		return -1;
	process->begun = false;
	process->runs =
		kgb_exec_client_finish(&process->exec, &spec, START_MS, err) == KGB_EXEC_DONE;
	return process->runs ? 0 : -1;
}

int kgb_timing_processes_await(struct kgb_timing_processes *processes, const struct kgb_lane *lane,
			       struct kgb_err *err)
{
	for (int i = 0; i < KGB_TIMING_PROCESSES_MAX; i++) {
		struct kgb_timing_process *process = kgb_timing_process_at(processes, i);
		if (process->begun && kgb_timing_process_open(process, lane, err) < 0)
			return -1;
	}
	return 0;
}

int kgb_timing_output_reserve(struct kgb_timing_processes *processes, enum kgb_timer_side side,
			      size_t n_bytes, struct kgb_err *err)
{
	struct kgb_timing_output *output = &processes->outputs[side];

	if (n_bytes <= output->n_bytes)
		return 0;
	release_output(output);
	if (kgb_memfd_mapped("kgb-timing-output", n_bytes, false, &output->bytes, &output->fd,
			     err) < 0)
		return -1;
	output->n_bytes = n_bytes;
	for (size_t pair = 0; pair < KGB_TIMING_PAIRS_MAX; pair++)
		memset(processes->pairs[pair][side].holds, 0,
		       sizeof(processes->pairs[pair][side].holds));
	return 0;
}
