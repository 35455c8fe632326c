/* SPDX-License-Identifier: MIT */
/* Does kgb-exec do what verify/protocol/exec_protocol.h says, on this machine's GPU?
 *
 *     exec_check [--direct] [--cupti PATH] [KGB-EXEC]
 *
 * Prints a line PASS or FAIL for each thing looked at, INFO for figures, and a last line; exit
 * status 0 when nothing failed, 4 without a GPU. --direct: without the sandbox. With the stand-in
 * for the driver (tests/gpu/fake) everything but speed is looked at. */
#include <math.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "tests/gpu/exec_support.h"
#include "tests/helpers/whole_arena.h"
#include "verify/timer/gpu_peak.h"

enum { LOOP_WAIT_MS = 1500, SAMPLES = 100 };

#define FAR_AWAY (KGB_POOL_ADDRESS + (UINT64_C(512) << 30))

/* --- our own context, for the linker only --- */

extern const char exec_check_ptx[];
__asm__(".pushsection .rodata\n"
	".global exec_check_ptx\n"
	"exec_check_ptx:\n"
	".incbin \"tests/gpu/exec_check.ptx\"\n"
	".byte 0\n"
	".popsection\n");

/* The driver compiles our PTX for its own GPU. */
static void make_cubin(void)
{
	const struct kgb_cuda *cu;
	__typeof__(&cuLinkCreate) create;
	__typeof__(&cuLinkAddData) add;
	__typeof__(&cuLinkComplete) complete;
	__typeof__(&cuDevicePrimaryCtxRelease) release;
	CUlinkState link;
	CUcontext context;
	CUdevice device;
	char name[256] = "";
	void *cubin;

	if (kgb_cuda_load(&cu, &g.err) < 0)
		give_up("driver");
	*(void **)&create = driver_function("cuLinkCreate_v2");
	*(void **)&add = driver_function("cuLinkAddData_v2");
	*(void **)&complete = driver_function("cuLinkComplete");
	*(void **)&release = driver_function("cuDevicePrimaryCtxRelease_v2");
	need(cu, cu->cuInit(0), "cuInit");
	need(cu, cu->cuDeviceGet(&device, (int)g.spec.device), "cuDeviceGet");
	need(cu, cu->cuDeviceGetName(name, sizeof(name), device), "cuDeviceGetName");
	need(cu, cu->cuDevicePrimaryCtxRetain(&context, device), "make a context");
	need(cu, cu->cuCtxSetCurrent(context), "set the context");
	need(cu, create(0, NULL, NULL, &link), "cuLinkCreate");
	need(cu,
	     add(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)exec_check_ptx,
		 strlen(exec_check_ptx) + 1, "exec_check.ptx", 0, NULL, NULL),
	     "compile exec_check.ptx");
	need(cu, complete(link, &cubin, &g.cubin_bytes), "link exec_check.ptx");
	g.cubin = kgb_xmalloc(g.cubin_bytes);
	memcpy(g.cubin, cubin, g.cubin_bytes);
	need(cu, cu->cuCtxSetCurrent(NULL), "leave the context");
	(void)release(device);
	g.fake = strstr(name, "stand-in") != NULL;
	printf("INFO device %s, cubin of %zu bytes\n", name, g.cubin_bytes);
}

/* --- what is looked at --- */

void check_results(void)
{
	struct kgb_buf record = record_begin();

	put_add(&record, tensor(2), g.n);
	verdict(send_plan(&record, 0) == KGB_EXEC_DONE, "plan: one launch, no blocks (%.2f ms)",
		(double)g.exec.reply.wall_ns / 1e6);
	for (uint64_t poison = 1; poison <= 3; poison++) {
		struct kgb_exec_request spec = run_spec(poison * 77);
		spec.slot = (uint32_t)poison % SLOTS;
		enum kgb_exec_outcome outcome = run(&spec);
		const char *image = image_of(spec.slot);
		verdict(outcome == KGB_EXEC_DONE &&
				count_wrong(spec.slot, g.output + 2 * g.n * 4, g.n) == 0 &&
				memcmp(g.output, image, 2 * g.n * 4) == 0 &&
				memcmp(g.output + 12 * g.n, image + 12 * g.n, EXTRA) == 0,
			"sum of %zu floats, poison %llu, slot %u (%.2f ms)", g.n,
			(unsigned long long)poison * 77, spec.slot,
			(double)g.exec.reply.wall_ns / 1e6);
	}
}

/* Poison is where nobody wrote, exactly; an op that is left out leaves it there. */
static void check_poison(void)
{
	const size_t n = g.n < (1 << 20) ? g.n : 1 << 20;
	const uint64_t odd = POOL + (64 << 20) + 1000;
	const struct kgb_exec_range ranges[] = {{POOL, n * 4}, {odd, 999}};
	struct kgb_exec_request spec = run_spec(UINT64_C(0xfeedfacecafebeef));
	struct kgb_buf record = record_begin();

	put_block(&record, POOL, n * 4);
	put_block(&record, odd, 999);
	put_add(&record, POOL, n);
	verdict(send_plan(&record, 1) == KGB_EXEC_DONE, "plan: a launch and two blocks");
	spec.plan = 1;
	memcpy(spec.ranges, ranges, sizeof(ranges));
	spec.n_ranges = 2;
	verdict(run(&spec) == KGB_EXEC_DONE && count_wrong(0, range(0), n) == 0 &&
			is_poison(spec.poison, odd, range(1), 999) &&
			memcmp(g.output, image_of(0), g.arena_bytes) == 0,
		"a result in a block, poison in the other");
	spec.skip = 0;
	verdict(run(&spec) == KGB_EXEC_DONE && is_poison(spec.poison, POOL, range(0), n * 4),
		"an op left out leaves poison");
	spec.skip = 1;
	verdict(run(&spec) == KGB_EXEC_REFUSED, "an op that is not there cannot be left out");
}

/* A byte written at `address`, by a plan with one block: DONE or WROTE_OUTSIDE. */
static void check_one_write(uint64_t address, bool allowed, const char *what)
{
	const uint64_t block = POOL + (128 << 20) + 512;
	struct kgb_exec_request spec = run_spec(address ^ 5);
	struct kgb_buf record = record_begin();
	unsigned char poison;

	poison_bytes(spec.poison, address, &poison, 1);
	put_block(&record, block, 1003);
	put_poke(&record, address, poison ^ 0x10u);
	spec.plan = 2;
	bool planned = send_plan(&record, 2) == KGB_EXEC_DONE;
	enum kgb_exec_outcome outcome = planned ? run(&spec) : KGB_EXEC_REFUSED;
	verdict(allowed ? outcome == KGB_EXEC_DONE
			: outcome == KGB_EXEC_WROTE_OUTSIDE && g.exec.reply.value == address,
		"%s: %s", what, kgb_exec_outcome_name(outcome));
	spec.n_samples = 2;
	spec.n_slots = 1;
	outcome = planned ? kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err)
			  : KGB_EXEC_REFUSED;
	/* Each sample has a poison of its own, and one of them may have just this byte. */
	verdict(outcome == (allowed ? KGB_EXEC_DONE : KGB_EXEC_WROTE_OUTSIDE), "%s, timed: %s",
		what, kgb_exec_outcome_name(outcome));
}

static void check_slack(void)
{
	const uint64_t block = POOL + (128 << 20) + 512;

	check_one_write(block, true, "first byte of a block");
	check_one_write(block + 1002, true, "last byte of a block");
	check_one_write(block + 1003, false, "the byte behind a block");
	check_one_write(block - 1, false, "the byte before a block");
	check_one_write(block - 512, false, "first byte of the page");
	check_one_write(POOL + (130 << 20) - 1, false, "last byte of the page");
	check_one_write(ARENA + g.arena_bytes - 1, true, "last byte of the arena");
	check_one_write(ARENA + g.arena_bytes, false, "the byte behind the arena");
}

static void check_memory_ops(void)
{
	static const unsigned char payload[] = "these bytes are uploaded";
	const uint64_t at = POOL + (256 << 20);
	const struct kgb_exec_range ranges[] = {{at, 4096}};
	const struct kgb_op upload = {.kind = KGB_OP_UPLOAD,
				      .upload = {at + 1, sizeof(payload), payload}};
	const struct kgb_op upload_more = {.kind = KGB_OP_UPLOAD,
					   .upload = {at + 60, 8, payload + 6}};
	const struct kgb_op rows = {.kind = KGB_OP_MEMSET,
				    .memset = {.dst = at + 2048,
					       .pitch = 64,
					       .value = 0x0102,
					       .element_bytes = 2,
					       .width = 3,
					       .height = 4}};
	const struct kgb_op download = {.kind = KGB_OP_DOWNLOAD, .download = {at, 100}};
	const struct kgb_op sync = {.kind = KGB_OP_SYNC};
	struct kgb_exec_request spec = run_spec(9);
	struct kgb_buf record = record_begin();

	put_block(&record, at, 4096);
	kgb_record_put_op(&record, &upload);
	kgb_record_put_op(&record, &upload_more);
	put_memset(&record, 0, at + 100, 0x1ab, 1, 50);
	put_memset(&record, 0, at + 200, 0x1234, 2, 50);
	put_memset(&record, 0, at + 400, 0x12345678, 4, 50);
	kgb_record_put_op(&record, &rows);
	kgb_record_put_op(&record, &sync);
	put_copy(&record, 0, at + 1024, at, 512);
	kgb_record_put_op(&record, &download);
	spec.plan = 3;
	memcpy(spec.ranges, ranges, sizeof(ranges));
	spec.n_ranges = 1;
	bool good = send_plan(&record, 3) == KGB_EXEC_DONE && run(&spec) == KGB_EXEC_DONE;
	const char *got = range(0);
	const uint16_t two = 0x1234;
	const uint16_t row = 0x0102;
	const uint32_t four = 0x12345678;
	verdict(good && memcmp(got + 1, payload, sizeof(payload)) == 0 &&
			memcmp(got + 60, payload + 6, 8) == 0 && (unsigned char)got[149] == 0xab &&
			memcmp(got + 298, &two, 2) == 0 && memcmp(got + 596, &four, 4) == 0 &&
			memcmp(got + 1024, got, 512) == 0 &&
			memcmp(got + 2048 + 3 * 64 + 4, &row, 2) == 0 && is_poison(9, at, got, 1) &&
			is_poison(9, at + 2054, got + 2054, 58) &&
			is_poison(9, at + 600, got + 600, 24),
		"upload, memset of 1, 2 and 4 bytes and of rows, copy, download, sync");
	const struct kgb_exec_range outside[] = {{POOL + (900 << 20), 4096}};
	memcpy(spec.ranges, outside, sizeof(outside));
	verdict(run(&spec) == KGB_EXEC_REFUSED, "nothing comes back from memory of no plan");
}

static void check_streams(void)
{
	const uint64_t bytes = g.fake ? 1 << 16 : 32 << 20;
	const uint64_t at = POOL + (UINT64_C(1) << 30);
	const struct kgb_exec_range ranges[] = {{at + 2 * bytes, 64}, {at + 3 * bytes - 64, 64}};
	struct kgb_exec_request spec = run_spec(11);
	struct kgb_buf record = record_begin();
	char want[64];

	put_block(&record, at, 3 * bytes);
	/* A wait for something from before the window; then a relay over two streams. */
	put_event(&record, KGB_OP_EVENT_WAIT, 7, 99);
	put_memset(&record, 7, at, 0x5a, 1, bytes);
	put_event(&record, KGB_OP_EVENT_RECORD, 7, 1);
	put_event(&record, KGB_OP_EVENT_WAIT, 8, 1);
	put_copy(&record, 8, at + bytes, at, bytes);
	put_event(&record, KGB_OP_EVENT_RECORD, 8, 2);
	put_event(&record, KGB_OP_EVENT_WAIT, 0, 2);
	put_copy(&record, 0, at + 2 * bytes, at + bytes, bytes);
	spec.plan = 4;
	memcpy(spec.ranges, ranges, sizeof(ranges));
	spec.n_ranges = 2;
	memset(want, 0x5a, sizeof(want));
	bool good = send_plan(&record, 4) == KGB_EXEC_DONE;
	for (int i = 0; good && i < 20; i++)
		good = run(&spec) == KGB_EXEC_DONE && memcmp(range(0), want, 64) == 0 &&
		       memcmp(range(1), want, 64) == 0;
	verdict(good, "three streams, two events, 20 times");
	spec.n_samples = 20;
	spec.n_slots = SLOTS;
	good = kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) == KGB_EXEC_DONE;
	verdict(good && memcmp(range(0), want, 64) == 0 && memcmp(range(1), want, 64) == 0,
		"the same, timed");
}

static void check_prologue(void)
{
	const uint64_t at = POOL + (UINT64_C(3) << 30);
	const struct kgb_exec_range ranges[] = {{at + 64, 16}};
	const char zeros[8] = {0};
	struct kgb_exec_request spec = run_spec(13);
	struct kgb_buf first = record_begin();
	struct kgb_buf second = record_begin();
	unsigned char poison;

	poison_bytes(13, at, &poison, 1);
	put_block(&first, at, 128);
	put_poke(&first, at, poison + 1u);
	put_copy(&first, 0, at + 8, ARENA, 8);
	put_poke(&first, ARENA, 1);
	put_block(&second, at, 128);
	put_copy(&second, 0, at + 64, at, 16);
	spec.plan = 6;
	memcpy(spec.ranges, ranges, sizeof(ranges));
	spec.n_ranges = 1;
	bool good = send_plan(&first, 5) == KGB_EXEC_DONE && send_plan(&second, 6) == KGB_EXEC_DONE;
	verdict(good && run(&spec) == KGB_EXEC_DONE && (unsigned char)range(0)[0] == poison,
		"without its prologue a plan reads poison");
	spec.prologue = 5;
	verdict(good && run(&spec) == KGB_EXEC_DONE &&
			(unsigned char)range(0)[0] == (unsigned char)(poison + 1) &&
			memcmp(g.output, image_of(0), g.arena_bytes) == 0,
		"with it, it reads what the prologue wrote; the arena is new");
	verdict(good && memcmp(range(0) + 8, zeros, 8) == 0 && memcmp(image_of(0), zeros, 8) != 0,
		"the prologue did not find the plan's input");
}

static void check_bad(const char *what, struct kgb_buf *record)
{
	struct kgb_exec_request spec = run_spec(17);
	enum kgb_exec_outcome outcome = send_plan(record, 7);

	spec.plan = 7;
	if (outcome == KGB_EXEC_DONE)
		outcome = run(&spec);
	verdict(outcome == KGB_EXEC_UNREPLAYABLE, "%s: %s: %s", what,
		kgb_exec_outcome_name(outcome), outcome ? g.err.msg : "");
}

static void check_bad_plans(void)
{
	const uint64_t zero[4] = {0};
	const struct kgb_op unsupported = {.kind = KGB_OP_UNSUPPORTED, .why = "a graph"};
	struct kgb_op op = launch_op("check_nothing", zero, 8);
	struct kgb_buf record = record_begin();

	kgb_record_put_op(&record, &op);
	check_bad("no such kernel", &record);
	record = record_begin();
	op = launch_op("check_loop", zero, 4);
	kgb_record_put_op(&record, &op);
	check_bad("too few parameters", &record);
	record = record_begin();
	op = launch_op("check_loop", zero, 32);
	kgb_record_put_op(&record, &op);
	check_bad("too many parameters", &record);
	record = record_begin();
	op = launch_op("check_shared", zero, 12);
	op.launch.shared_bytes = 1 << 20;
	kgb_record_put_op(&record, &op);
	check_bad("too much shared memory", &record);
	record = record_begin();
	put_copy(&record, 0, FAR_AWAY, ARENA, 4);
	check_bad("a copy to nowhere", &record);
	record = record_begin();
	kgb_record_put_op(&record, &unsupported);
	check_bad("an op without counterpart", &record);
	record = record_begin();
	kgb_record_put_image(&record, 2,
			     "\x7f"
			     "ELF",
			     4);
	check_bad("a short image", &record);
	record = record_begin();
	put_block(&record, ARENA + 5, 4);
	check_bad("a block in the arena", &record);
	struct kgb_exec_request spec = run_spec(18);
	verdict(run(&spec) == KGB_EXEC_DONE && count_wrong(0, g.output + 2 * g.n * 4, g.n) == 0,
		"after all this, plan 0 still runs");
}

static void check_shared_memory(void)
{
	struct {
		uint64_t out;
		uint32_t bytes;
	} params = {ARENA, 100 << 10};
	struct kgb_op op = launch_op("check_shared", &params, 12);
	struct kgb_exec_request spec = run_spec(19);
	struct kgb_buf record = record_begin();
	uint32_t got = 0;

	op.launch.shared_bytes = params.bytes;
	op.launch.carveout = 100;
	kgb_record_put_op(&record, &op);
	spec.plan = 8;
	bool good = send_plan(&record, 8) == KGB_EXEC_DONE && run(&spec) == KGB_EXEC_DONE;
	memcpy(&got, g.output, sizeof(got));
	verdict(good && got == params.bytes, "100 KiB of dynamic shared memory");
}

static void check_forget(void)
{
	struct kgb_exec_request spec = run_spec(20);

	verdict(kgb_exec_client_forget(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE &&
			run(&spec) == KGB_EXEC_REFUSED,
		"plans are forgotten");
	struct kgb_buf record = record_begin();
	put_block(&record, POOL, 4096);
	put_add(&record, tensor(2), g.n);
	verdict(send_plan(&record, 0) == KGB_EXEC_DONE && g.exec.reply.value == KGB_GPU_PAGE &&
			run(&spec) == KGB_EXEC_DONE &&
			count_wrong(0, g.output + 2 * g.n * 4, g.n) == 0,
		"and made again; one page is mapped");
}

static void check_faults(void)
{
	struct kgb_exec_request spec = run_spec(21);
	struct kgb_buf record = record_begin();
	struct kgb_op trap = launch_op("check_trap", NULL, 0);

	put_memset(&record, 0, ARENA, 0, 1, 4);
	put_poke(&record, FAR_AWAY, 1);
	put_memset(&record, 0, ARENA, 0, 1, 4);
	spec.plan = 9;
	bool planned = send_plan(&record, 9) == KGB_EXEC_DONE;
	enum kgb_exec_outcome outcome = planned ? run(&spec) : KGB_EXEC_REFUSED;
	verdict(outcome == KGB_EXEC_FAULTED && g.exec.reply.value == 1,
		"write far outside: %s, op %lld: %s", kgb_exec_outcome_name(outcome),
		(long long)g.exec.reply.value, g.err.msg);
	start();
	record = record_begin();
	kgb_record_put_op(&record, &trap);
	planned = send_plan(&record, 9) == KGB_EXEC_DONE;
	outcome = planned ? run(&spec) : KGB_EXEC_REFUSED;
	verdict(outcome == KGB_EXEC_FAULTED, "trap: %s: %s", kgb_exec_outcome_name(outcome),
		g.err.msg);
	start();
}

/* Only the stand-in breaks when it is told to. */
static void check_broken_hardware(void)
{
	struct kgb_exec_request spec = run_spec(23);
	struct kgb_buf record = record_begin();
	struct kgb_op op = launch_op("check_broken", NULL, 0);

	kgb_record_put_op(&record, &op);
	spec.plan = 9;
	bool planned = send_plan(&record, 9) == KGB_EXEC_DONE;
	enum kgb_exec_outcome outcome = planned ? run(&spec) : KGB_EXEC_REFUSED;
	verdict(outcome == KGB_EXEC_NO_GPU && strstr(g.err.msg, "CUDA_ERROR_ECC_UNCORRECTABLE"),
		"a memory error is the machine's: %s: %s", kgb_exec_outcome_name(outcome),
		g.err.msg);
	start();
}

static void check_endless_loop(void)
{
	const uint64_t at = ARENA;
	struct kgb_op op = launch_op("check_loop", &at, 8);
	struct kgb_exec_request spec = run_spec(22);
	struct kgb_buf record = record_begin();

	kgb_record_put_op(&record, &op);
	spec.plan = 10;
	bool planned = send_plan(&record, 10) == KGB_EXEC_DONE;
	int64_t begin = kgb_mono_ms();
	enum kgb_exec_outcome outcome =
		planned ? kgb_exec_client_run(&g.exec, &spec, &g.layout, LOOP_WAIT_MS, &g.err)
			: KGB_EXEC_REFUSED;
	int64_t took = kgb_mono_ms() - begin;
	verdict(outcome == KGB_EXEC_TIMED_OUT && took < LOOP_WAIT_MS + 1000,
		"an endless loop is ended at its deadline of %d ms (%lld ms)", LOOP_WAIT_MS,
		(long long)took);
	start();
	check_results();
}

struct medians {
	double event_us, host_us, activity_us, mhz;
	uint64_t event_p10, event_p90;
	bool slots_rotate, host_above;
};

/* The offset in struct kgb_exec_sample of a u64. */
static double median_us(const struct kgb_exec_sample *samples, size_t n, size_t offset)
{
	KGB_AUTO(free) uint64_t *values = kgb_xcalloc(n, sizeof(values[0]));

	for (size_t i = 0; i < n; i++)
		memcpy(&values[i], (const char *)&samples[i] + offset, sizeof(values[i]));
	qsort(values, n, sizeof(values[0]), by_size);
	const uint64_t median_ns = values[n / 2];
	return (double)median_ns / 1e3;
}

static struct medians read_samples(size_t n)
{
	KGB_AUTO(free) struct kgb_exec_sample *samples = kgb_xcalloc(n, sizeof(samples[0]));
	struct medians m = {.slots_rotate = true, .host_above = true};

	memcpy(samples, g.output + g.layout.samples, n * sizeof(samples[0]));
	for (size_t i = 0; i < n; i++) {
		m.slots_rotate = m.slots_rotate && samples[i].slot == (1 + i) % SLOTS;
		m.host_above = m.host_above && samples[i].host_ns >= samples[i].event_ns;
		m.mhz = samples[i].sm_mhz;
	}
	m.event_us = median_us(samples, n, offsetof(struct kgb_exec_sample, event_ns));
	m.host_us = median_us(samples, n, offsetof(struct kgb_exec_sample, host_ns));
	m.activity_us = median_us(samples, n, offsetof(struct kgb_exec_sample, activity_ns));
	return m;
}

/* Where nobody looks at the arena only ranges come back: the sums of `slot` stay in the output. */
static void check_without_arena(const struct kgb_exec_request *timed, size_t slot, size_t n)
{
	struct kgb_exec_request spec = *timed;
	const uint64_t last = kgb_exec_poison_word(spec.poison, 8);

	spec.n_samples = 2;
	spec.flags &= ~KGB_EXEC_WITH_ACTIVITY;
	spec.flags |= KGB_EXEC_WITHOUT_ARENA;
	spec.ranges[1] = (struct kgb_exec_range){tensor(2) + 12, 4 * (n / 2)}; /* of the arena */
	spec.n_ranges = 2;
	verdict((1 + 1) % SLOTS != slot &&
			kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) ==
				KGB_EXEC_DONE &&
			count_wrong(slot, g.output + 2 * g.n * 4, n) == 0 &&
			is_poison(last, POOL, range(0), 4096) &&
			float_at(range(1), 0) ==
				float_at(image_of((1 + 1) % SLOTS), 3) +
					float_at(image_of((1 + 1) % SLOTS), g.n + 3),
		"without the arena only ranges come back, some of them from it");
}

static void time_add(size_t n, bool with_activity)
{
	const struct kgb_exec_range ranges[] = {{POOL, 4096}};
	struct kgb_exec_request spec = run_spec(23);
	struct kgb_buf record = record_begin();

	put_block(&record, POOL, 4096);
	put_add(&record, tensor(2), n);
	spec.plan = 11;
	spec.slot = 1;
	spec.n_slots = SLOTS;
	spec.n_samples = g.fake ? 10 : SAMPLES;
	spec.flush_bytes = 2 * g.exec.l2_bytes;
	spec.flags |= with_activity ? KGB_EXEC_WITH_ACTIVITY : 0;
	memcpy(spec.ranges, ranges, sizeof(ranges));
	spec.n_ranges = 1;
	bool good =
		send_plan(&record, 11) == KGB_EXEC_DONE &&
		kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) == KGB_EXEC_DONE;
	if (!verdict(good, "%u samples of a sum of %zu floats (%.1f ms)%s%s", spec.n_samples, n,
		     (double)g.exec.reply.wall_ns / 1e6, g.exec.reply.text_len ? ": " : "",
		     g.exec.reply.text))
		return;
	const uint64_t last = kgb_exec_poison_word(spec.poison, 8 * (spec.n_samples - 1));
	const size_t slot = (1 + spec.n_samples - 1) % SLOTS;
	const struct medians m = read_samples(spec.n_samples);
	const double gb_s = (double)n * 12 / m.event_us / 1e3;
	verdict(count_wrong(slot, g.output + 2 * g.n * 4, n) == 0 &&
			is_poison(last, POOL, range(0), 4096),
		"the last sample's result is right and its poison its own");
	verdict(m.slots_rotate, "slots rotate");
	check_without_arena(&spec, slot, n);
	printf("INFO medians: events %.2f us (%.0f GB/s), host %.2f us, activity %.2f us, SM %.0f MHz\n",
	       m.event_us, gb_s, m.host_us, m.activity_us, m.mhz);
	if (g.fake) {
		verdict(m.activity_us == (with_activity && g.spec.cupti ? 0.1 : 0),
			"activity is that of the one launch");
		return;
	}
	verdict(m.host_above, "the host's clock is never below the events");
	verdict(m.host_us < m.event_us + 40, "and not far above");
	verdict(gb_s < 9000, "no faster than memory can be");
	if (n >= 1 << 24)
		verdict(gb_s > 300, "no slower than any data center GPU's");
	if (with_activity)
		/* Of other calls, which CUPTI watches: 2 % slower was seen. */
		verdict(m.activity_us > 0 && m.activity_us <= 1.04 * m.event_us + 1 &&
				m.activity_us > m.event_us - 15,
			"activity agrees with the events");
}

/* Images may be kept on the device, but not beyond the next ARENA. */
static void check_new_images(void)
{
	for (size_t slot = 0; slot < SLOTS; slot++) {
		char *image = (char *)g.input + slot * g.arena_bytes;
		float value = float_at(image, 100) + 1;
		memcpy(image + 100 * sizeof(value), &value, sizeof(value));
	}
	verdict(send_whole_arena(&g.exec, g.input_fd, g.arena_bytes, SLOTS, g.output_fd,
				 g.output_bytes, WAIT_MS, &g.err) == KGB_EXEC_DONE,
		"new images");
}

/* Whether the results are those of the turned image: its last tensor is left alone. */
static bool is_turned(uint32_t slot, uint32_t n_slots)
{
	const char *image = image_of(slot % SLOTS);
	const size_t turn = kgb_exec_turn(g.n * sizeof(float), slot, n_slots) / sizeof(float);
	size_t n_wrong = memcmp(g.output + 12 * g.n, image + 12 * g.n, EXTRA) != 0;

	for (size_t i = 0; i < g.n; i++) {
		const size_t from = (i + turn) % g.n;
		const float a = float_at(image, from), b = float_at(image, g.n + from);
		n_wrong += float_at(g.output, i) != a || float_at(g.output, g.n + i) != b ||
			   float_at(g.output, 2 * g.n + i) != a + b;
	}
	return turn > 0 && n_wrong == 0;
}

/* Slots without an image of their own, in a run, and in a timed one. */
static void check_turned_images(void)
{
	const uint32_t n_slots = 2 * SLOTS + 1;
	const struct kgb_exec_range turned[] = {{tensor(0), g.n * 4}, {tensor(1), g.n * 4}};
	const struct kgb_exec_arena_spec arena = {.input_fd = g.input_fd,
						  .output_fd = g.output_fd,
						  .arena_bytes = g.arena_bytes,
						  .output_bytes = g.output_bytes,
						  .n_slots = n_slots,
						  .n_turned = n_slots - SLOTS,
						  .parts = turned,
						  .n_parts = KGB_ARRAY_LEN(turned)};
	struct kgb_exec_request spec = run_spec(29);
	struct kgb_buf record = record_begin();
	size_t n_right = 0;

	put_add(&record, tensor(2), g.n);
	bool good = send_plan(&record, 0) == KGB_EXEC_DONE &&
		    kgb_exec_client_arena(&g.exec, &arena, WAIT_MS, &g.err) == KGB_EXEC_DONE;
	for (uint32_t slot = SLOTS; slot < n_slots && good; slot++) {
		spec.slot = slot;
		good = run(&spec) == KGB_EXEC_DONE;
		n_right += good && is_turned(slot, n_slots);
	}
	verdict(good && n_right == n_slots - SLOTS, "%zu of %u turned images", n_right,
		n_slots - SLOTS);
	spec.slot = n_slots - 2;
	spec.n_slots = n_slots;
	spec.n_samples = 2;
	verdict(kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) == KGB_EXEC_DONE &&
			is_turned(n_slots - 1, n_slots),
		"a timed call on a turned image");
	verdict(send_whole_arena(&g.exec, g.input_fd, g.arena_bytes, SLOTS, g.output_fd,
				 g.output_bytes, WAIT_MS, &g.err) == KGB_EXEC_DONE,
		"an image for each slot again");
}

/* In a fresh process: what the device can do, twice, and what the judge makes of it. */
static void check_measure(void)
{
	const struct kgb_exec_machine *m = &g.exec.machine;
	struct kgb_exec_machine first;
	struct kgb_gpu_peak machine;

	if (!verdict(kgb_exec_client_measure(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE,
		     "the device is measured"))
		return;
	first = *m;
	printf("INFO %s %s, driver %s, at %s, %u.%u, %u multiprocessors, %u MHz, %llu MiB of L2\n",
	       m->name, m->uuid, m->driver, m->pci, m->cc_major, m->cc_minor, m->n_sms, m->sm_mhz,
	       (unsigned long long)m->l2_bytes >> 20);
	printf("INFO reads %.0f GB/s of %.0f; an empty kernel %llu ns; %.1f ms for the measurement\n",
	       (double)m->bytes_per_s / 1e9, (double)m->peak_bytes_per_s / 1e9,
	       (unsigned long long)m->launch_floor_ns, (double)g.exec.reply.wall_ns / 1e6);
	verdict(m->tested_bytes >= 64 << 20 && m->n_wrong == 0, "memory holds what is written");
	verdict(m->uuid[0] && m->pci[0] && m->sm_mhz > 0, "it has a name of its own");
	if (verdict(kgb_gpu_peak_take(m, &machine, &g.err) == 0, "figures make sense: %s",
		    g.err.msg))
		printf("INFO floor: %.0f GB/s, %.0f Tflop/s in float16, %llu ns\n",
		       machine.bytes_per_s / 1e9,
		       kgb_gpu_peak_flops_per_s(&machine, KGB_DTYPE_FLOAT16) / 1e12,
		       (unsigned long long)machine.launch_floor_ns);
	verdict(kgb_exec_client_measure(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE &&
			(g.fake ||
			 (fabs((double)m->bytes_per_s / (double)first.bytes_per_s - 1) < 0.02 &&
			  fabs((double)m->launch_floor_ns / (double)first.launch_floor_ns - 1) <
				  0.05)),
		"and the same again: %.0f GB/s, %llu ns", (double)m->bytes_per_s / 1e9,
		(unsigned long long)m->launch_floor_ns);
}

static void check_measure_comes_first(void)
{
	verdict(kgb_exec_client_measure(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_REFUSED,
		"no measurement where plans were: %s", g.err.msg);
}

static void options(char **argv)
{
	KGB_AUTO(free) char *dir = kgb_path_self_dir();

	for (argv++; *argv; argv++) {
		if (strcmp(*argv, "--direct") == 0)
			g.direct = true;
		else if (strcmp(*argv, "--cupti") == 0 && argv[1])
			g.spec.cupti = *++argv;
		else
			g.spec.program = *argv;
	}
	if (!g.spec.program)
		g.spec.program = kgb_xasprintf("%s/../bin/kgb-exec", dir);
	g.spec.launcher = kgb_xasprintf("%s/../bin/kgb-launch", dir);
}

int main(int argc, char **argv)
{
	(void)argc;
	options(argv);
	make_cubin();
	make_data();
	start();
	check_measure();
	check_results();
	check_measure_comes_first();
	check_poison();
	check_slack();
	check_memory_ops();
	check_streams();
	check_prologue();
	check_bad_plans();
	check_shared_memory();
	check_forget();
	time_add(g.n, false);
	check_new_images();
	check_turned_images();
	time_add(4096, false);
	check_placements();
	check_holes();
	check_sets();
	check_timing();
	time_requests();
	time_poison();
	check_faults();
	if (g.fake)
		check_broken_hardware();
	check_endless_loop();
	time_add(g.n, true);
	kgb_exec_client_stop(&g.exec);
	printf("%s: %d failed\n", g.n_failed ? "FAILED" : "PASSED", g.n_failed);
	return g.n_failed ? KGB_EXIT_FAILURES : KGB_EXIT_OK;
}
