/* SPDX-License-Identifier: MIT */
#include "verify/stages/gpu_health.h"

#include <fcntl.h>

#include "base/str.h"
#include "base/system/proc_tree.h"
#include "base/time.h"
#include "verify/replay/replay.h"
#include "verify/stages/lanes.h"

enum {
	TRIES = 2,
	START_MS = 30 * 1000,
	MEASURE_MS = 20 * 1000,
	ROOM_PART = 3, /* a verification with timing takes up to 20 GB of 141 */
	ANCESTORS_MAX = 32,
	NAME_SIZE = 32
};

struct test {
	bool done; /* the device did its work */
	bool no_memory; /* none was free for the test: the device could not be tested */
	uint64_t free_bytes, total_bytes; /* 0 unknown */
	char pci[32];
	char why[400]; /* unless done */
};

static const char *text_of(const struct kgb_verdict *verdict)
{
	return verdict->message ? verdict->message : "";
}

/* ---- rules ---- */

bool kgb_gpu_health_is_due(enum kgb_code code)
{
	static const enum kgb_code due[] = {
		KGB_CODE_VERIFY_CRASH,  KGB_CODE_VERIFY_DEVICE_EXCEPTION, KGB_CODE_VERIFY_EXIT,
		KGB_CODE_VERIFY_OOM,    KGB_CODE_VERIFY_OUT_OF_BOUNDS,    KGB_CODE_VERIFY_PROTOCOL,
		KGB_CODE_VERIFY_RECORD, KGB_CODE_VERIFY_TIMEOUT,
	};

	/* The GPU that this verdict did not get belongs to others now: leave it alone. */
	if (code == KGB_CODE_INFRA_GPU_BUSY || code == KGB_CODE_INFRA_GPU_LEASE)
		return false;
	return kgb_code_status(code) == KGB_STATUS_INFRA_ERROR ||
	       kgb_code_is_among(code, due, KGB_ARRAY_LEN(due));
}

/* Errors that a program cannot cause (NVIDIA's catalogue of Xids). Others, such as 13 and 31, are
 * the consequence of wild pointers. */
static bool is_hardware(uint64_t xid)
{
	static const uint64_t hardware[] = {
		48, /* uncorrectable memory error */
		62, /* micro-controller halted */
		64, /* memory row could not be replaced */
		79, /* fallen off the bus */
		94, /* contained memory error */
		95, /* uncontained memory error */
		119, /* system processor does not answer */
		120, /* system processor error */
		140, /* unrecovered memory error */
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(hardware); i++)
		if (xid == hardware[i])
			return true;
	return false;
}

static const char *recovery_name(int action)
{
	static const char *const names[] = {"nothing", "a reset", "a reboot",
					    "an end of peer traffic", "a reset once it is idle"};

	return action >= 0 && (size_t)action < KGB_ARRAY_LEN(names) ? names[action] : "repair";
}

bool kgb_gpu_health_bad(const struct kgb_nvml_state *state, const uint64_t *xids, size_t n_xids,
			char *out, size_t cap)
{
	for (size_t i = 0; i < n_xids; i++) {
		if (!is_hardware(xids[i]))
			continue;
		(void)snprintf(out, cap, "the driver reported hardware error Xid %llu",
			       (unsigned long long)xids[i]);
		return true;
	}
	if (state->recovery_action > 0) {
		(void)snprintf(out, cap, "the driver asks for %s",
			       recovery_name(state->recovery_action));
		return true;
	}
	if (state->remap_failed > 0) {
		(void)snprintf(out, cap, "broken memory rows could not be replaced");
		return true;
	}
	return false;
}

/* A candidate may count on half of the memory. A recording ends early where memory runs out. */
bool kgb_gpu_health_starved(enum kgb_code code, uint64_t free_bytes, uint64_t total_bytes)
{
	const bool may_lack_memory = code == KGB_CODE_VERIFY_OOM || code == KGB_CODE_VERIFY_RECORD;

	if (total_bytes == 0)
		return false;
	return free_bytes < total_bytes / (may_lack_memory ? 2 : 32);
}

/* ---- other processes ---- */

/* The name that the process gave itself, which may hold any bytes; "?": the process is gone. */
static void read_name(pid_t pid, char name[NAME_SIZE])
{
	KGB_AUTO(free) char *path = kgb_xasprintf("/proc/%d/comm", (int)pid);
	ssize_t n = kgb_proc_tree_read_text(AT_FDCWD, path, name, NAME_SIZE);

	if (n <= 0)
		(void)snprintf(name, NAME_SIZE, "?");
	else
		name[strcspn(name, "\n")] = '\0';
}

/* Whether the process is a worker of this or another judge. The only effect of a false name is that
 * no note mentions the process. */
static bool is_of_a_judge(pid_t pid)
{
	char name[NAME_SIZE];

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		read_name(pid, name);
		if (kgb_str_eq(name, "kgb-judge"))
			return true;
		pid = kgb_proc_tree_parent(pid);
	}
	return false;
}

static void note(struct kgb_lane *lane, const char *text)
{
	struct kgb_gpu_health *health = &lane->verdict->health;

	if (health->n_notes < KGB_HEALTH_NOTES_MAX)
		health->notes[health->n_notes++] = text;
}

static void note_process(struct kgb_lane *lane, const struct kgb_nvml_process *process)
{
	KGB_AUTO(buf) struct kgb_buf shown = KGB_BUF_INIT(0);
	char name[NAME_SIZE];

	read_name(process->pid, name);
	kgb_escape(&shown, name, strlen(name));
	const char *memory = process->bytes < 0 ? ""
						: kgb_lane_text(lane, ", with %lld MiB of memory",
								(long long)process->bytes >> 20);
	note(lane, kgb_lane_text(lane, "process %d (%s) uses the GPU too%s", (int)process->pid,
				 shown.ptr, memory));
}

static void note_state(struct kgb_lane *lane, const struct kgb_nvml_state *state,
		       const uint64_t *xids, size_t n_xids)
{
	for (size_t i = 0; i < n_xids; i++)
		note(lane, kgb_lane_text(lane, "the driver reported Xid %llu",
					 (unsigned long long)xids[i]));
	if (state->uncorrected > 0)
		note(lane,
		     kgb_lane_text(lane,
				   "%lld uncorrected memory errors since the driver was loaded",
				   (long long)state->uncorrected));
	if (state->retirement_pending > 0 || state->remap_pending > 0)
		note(lane, "broken memory will be replaced at the GPU's next reset");
	for (int i = 0; i < state->n_processes; i++)
		if (!is_of_a_judge(state->processes[i].pid))
			note_process(lane, &state->processes[i]);
}

/* ---- the device ---- */

/* Start a new process on the device: it must get a context, and memory must hold what kernels write
 * to it. */
static void test_device(const struct kgb_lane *lane, struct test *out)
{
	const struct kgb_exec_spec spec = {.device = (uint32_t)lane->judge->options->device,
					   .share = lane->judge->share};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_exec_client exec;
	enum kgb_exec_outcome outcome = kgb_exec_client_start(&exec, &spec, START_MS, &err);

	out->no_memory = outcome == KGB_EXEC_OUT_OF_MEMORY;
	if (outcome == KGB_EXEC_DONE) {
		outcome = kgb_exec_client_measure(&exec, MEASURE_MS, &err);
		out->no_memory = outcome == KGB_EXEC_OUT_OF_MEMORY;
		out->free_bytes = exec.machine.free_bytes;
		out->total_bytes = exec.machine.memory_bytes;
		memcpy(out->pci, exec.machine.pci, sizeof(out->pci));
		if (outcome == KGB_EXEC_DONE && exec.machine.n_wrong > 0)
			(void)kgb_fail(
				&err, KGB_ERR_FAILED,
				"memory does not hold what is written to it: %llu words of %llu "
				"bytes were wrong",
				(unsigned long long)exec.machine.n_wrong,
				(unsigned long long)exec.machine.tested_bytes);
		out->done = outcome == KGB_EXEC_DONE && exec.machine.n_wrong == 0;
		kgb_exec_client_stop(&exec);
	}
	(void)snprintf(out->why, sizeof(out->why), "%s", err.msg);
}

/* Replace a decision against the candidate by an infrastructure error. */
static void overrule(struct kgb_lane *lane, enum kgb_code code, const char *why)
{
	struct kgb_verdict *verdict = lane->verdict;
	struct kgb_err err = KGB_ERR_INIT;

	if (verdict->code == KGB_CODE_NONE || verdict->code == code)
		return;
	(void)kgb_fail(&err, KGB_ERR_UNAVAILABLE, "%s; without this the verdict would be %s: %s",
		       why, kgb_code_name(verdict->code), text_of(verdict));
	kgb_verdict_withdraw(verdict);
	kgb_verdict_decide_infra(verdict, verdict->decided_by, code, &err);
}

static void test_and_decide(struct kgb_lane *lane, struct test *test)
{
	struct kgb_verdict *verdict = lane->verdict;
	struct kgb_gpu_health *health = &verdict->health;

	for (int i = 0; i < TRIES && !test->done && !test->no_memory; i++)
		test_device(lane, test);
	health->tested = true;
	health->well = test->done || test->no_memory;
	if (!health->well)
		overrule(lane, KGB_CODE_INFRA_GPU_HEALTH,
			 kgb_lane_text(lane, "the GPU is not well: %s", test->why));
	else if (test->no_memory)
		overrule(lane, KGB_CODE_INFRA_GPU_MEMORY,
			 "other processes hold all memory of the GPU");
	else if (kgb_gpu_health_starved(verdict->code, test->free_bytes, test->total_bytes))
		overrule(
			lane, KGB_CODE_INFRA_GPU_MEMORY,
			kgb_lane_text(
				lane,
				"other processes hold most memory of the GPU: %llu of %llu MiB are free",
				(unsigned long long)test->free_bytes >> 20,
				(unsigned long long)test->total_bytes >> 20));
}

static void ask_driver(struct kgb_lane *lane, const char *pci)
{
	struct kgb_gpu_health *health = &lane->verdict->health;
	struct kgb_nvml_state state;
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t xids[KGB_NVML_XIDS_MAX];
	char why[128];

	if (!lane->nvml)
		return;
	if (kgb_nvml_choose(lane->nvml, pci, &err) < 0) {
		if (pci[0])
			note(lane, kgb_lane_text(lane, "%s", err.msg));
		return;
	}
	kgb_nvml_look(lane->nvml, &state);
	size_t n_xids = kgb_nvml_xids(lane->nvml, xids, KGB_NVML_XIDS_MAX);
	note_state(lane, &state, xids, n_xids);
	if (!health->tested || !kgb_gpu_health_bad(&state, xids, n_xids, why, sizeof(why)))
		return;
	health->well = false;
	overrule(lane, KGB_CODE_INFRA_GPU_HEALTH,
		 kgb_lane_text(lane, "the GPU is not well: %s", why));
}

void kgb_gpu_health_watch(struct kgb_lane *lane)
{
	struct kgb_err err = KGB_ERR_INIT;

	if (lane->judge->options->device == KGB_DEVICE_CPU)
		return;
	KGB_MEASURE(lane, KGB_PHASE_HEALTH);
	if (kgb_nvml_open(&lane->nvml, &err) < 0)
		note(lane, kgb_lane_text(lane, "%s", err.msg));
}

/* Unknown memory counts as room. */
static bool has_room(void *payload)
{
	struct kgb_lane *lane = payload;
	struct kgb_nvml_state state;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (!lane->nvml ||
	    kgb_nvml_choose_number(lane->nvml, lane->judge->options->device, &ignored) < 0)
		return true;
	kgb_nvml_look(lane->nvml, &state);
	return state.free_bytes < 0 || state.free_bytes >= state.total_bytes / ROOM_PART;
}

int kgb_gpu_health_await_room(struct kgb_lane *lane, struct kgb_err *err)
{
	if (lane->judge->options->device == KGB_DEVICE_CPU)
		return 0;
	KGB_MEASURE(lane, KGB_PHASE_ROOM);
	return kgb_gpu_share_join(lane->judge->share, has_room, lane, err);
}

void kgb_gpu_health_check(struct kgb_lane *lane)
{
	struct kgb_verdict *verdict = lane->verdict;
	struct test test = {0};
	int64_t started_ms = kgb_mono_ms();

	if (lane->judge->options->device == KGB_DEVICE_CPU)
		return;
	if (lane->replay)
		memcpy(test.pci, lane->replay->replayer->exec.machine.pci, sizeof(test.pci));
	kgb_lane_close(lane);
	if (kgb_gpu_health_is_due(verdict->code))
		test_and_decide(lane, &test);
	ask_driver(lane, test.pci);
	kgb_nvml_close(lane->nvml);
	lane->nvml = NULL;
	verdict->health.wall_ms = kgb_mono_ms() - started_ms;
}
