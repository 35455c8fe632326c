/* SPDX-License-Identifier: MIT */
#include "verify/timer/gpu_peak.h"

#include <math.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

enum { DAY_MS = 24 * 3600 * 1000 };

/* ---- figures ---- */

struct bounds {
	const char *name;
	uint64_t value, least, most;
};

static int check_figures(const struct kgb_exec_machine *m, struct kgb_err *err)
{
	const struct bounds all[] = {
		{"multiprocessors", m->n_sms, 1, 4096},
		{"MHz of the multiprocessors", m->sm_mhz, 100, 20000},
		{"compute capability", m->cc_major, 1, 99},
		{"minor compute capability", m->cc_minor, 0, 99},
		{"bytes of L2 cache", m->l2_bytes, 0, UINT64_C(4) << 30},
		{"bytes per second from memory", m->bytes_per_s, 1000000000,
		 UINT64_C(1000000000000000)},
		{"ns for an empty kernel", m->launch_floor_ns, 100, 1000000},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(all); i++)
		if (all[i].value < all[i].least || all[i].value > all[i].most)
			return kgb_fail(err, KGB_ERR_INVALID,
					"measurement of the GPU: %llu is no number of %s",
					(unsigned long long)all[i].value, all[i].name);
	return 0;
}

/* The bound on a kernel's rate. The best kernels reach 87 to 93 % of the bus' own figure on GPUs of
 * the last ten years. A much lower measurement was disturbed: then the bus' figure is the bound.
 * Else it is the measurement and 3 %, because the fastest of our reads need not be the fastest
 * possible, and a kernel may find some data in a cache. */
static double round_bandwidth(const struct kgb_exec_machine *m)
{
	const double peak = (double)m->peak_bytes_per_s;
	const double seen = (double)m->bytes_per_s;

	return seen < 0.85 * peak ? peak : seen * 1.03;
}

int kgb_gpu_peak_take(const struct kgb_exec_machine *measured, struct kgb_gpu_peak *out,
		      struct kgb_err *err)
{
	struct kgb_gpu_peak made = {
		.cc_major = measured->cc_major,
		.cc_minor = measured->cc_minor,
		.n_sms = measured->n_sms,
		.sm_mhz = measured->sm_mhz,
		.l2_bytes = measured->l2_bytes,
		.bytes_per_s = round_bandwidth(measured),
		/* Less 10 %: the time varies by some tens of ns from process to process. */
		.launch_floor_ns = measured->launch_floor_ns - measured->launch_floor_ns / 10,
	};

	if (measured->n_wrong > 0)
		return kgb_fail(err, KGB_ERR_FAILED,
				"GPU memory does not hold what is written to it: %llu words of "
				"%llu bytes were wrong",
				(unsigned long long)measured->n_wrong,
				(unsigned long long)measured->tested_bytes);
	if (check_figures(measured, err) < 0)
		return -1;
	(void)snprintf(made.name, sizeof(made.name), "%.127s", measured->name);
	(void)snprintf(made.uuid, sizeof(made.uuid), "%.47s", measured->uuid);
	(void)snprintf(made.driver, sizeof(made.driver), "%.31s", measured->driver);
	*out = made;
	return 0;
}

/* Operations per clock and multiprocessor, dense, by the units that are best at it: tensor cores
 * where there are any. From the data sheets: rate / (SMs * boost clock), rounded to the power of
 * two that the units have.
 *
 *     V100   FP16 125 T / (80 * 1.53 GHz)                                      FP64 7.8 T
 *     T4     FP16 65 T / (40 * 1.59), INT8 130 T                               FP64 1/32 of FP32
 *     A100   FP16 312 T / (108 * 1.41), INT8 624 T,                            FP64 19.5 T
 *     A40    FP16 149.7 T / (84 * 1.74), INT8 299 T                            FP64 1/64 of FP32
 *     L40S   FP16 362 T / (142 * 2.52), INT8 733 T                             FP64 1/64 of FP32
 *     H100   FP16 989 T / (132 * 1.83), INT8 1979 T,                           FP64 67 T
 *     B200   FP16 2.25 P / (148 * 1.85), INT8 4.5 P                            FP64 37 T
 *     5090   FP16 419 T / (170 * 2.41), INT8 838 T                             FP64 1/64 of FP32
 */
struct rates {
	uint32_t cc_major, cc_minor;
	double float16, int8, float64;
};

static const struct rates *find_rates(const struct kgb_gpu_peak *machine)
{
	static const struct rates all[] = {
		{7, 0, 1024, 1024, 64},    {7, 5, 1024, 2048, 4},     {8, 0, 2048, 4096, 128},
		{8, 6, 1024, 2048, 4},     {8, 9, 1024, 2048, 4},     {9, 0, 4096, 8192, 256},
		{10, 0, 8192, 16384, 256}, {10, 3, 8192, 16384, 256}, {12, 0, 1024, 2048, 4},
		{12, 1, 1024, 2048, 4},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(all); i++)
		if (all[i].cc_major == machine->cc_major && all[i].cc_minor == machine->cc_minor)
			return &all[i];
	return NULL;
}

static double rate_of(const struct rates *rates, enum kgb_dtype dtype)
{
	const enum kgb_dtype part = kgb_dtype_part(dtype);

	/* A float64 product can be computed from some thirty products of int8 (Ootomo, Ozaki and
	 * Yokota 2024); 16 are assumed here. */
	if (part == KGB_DTYPE_FLOAT64)
		return fmax(rates->float64, rates->int8 / 16);
	/* A float32 kernel may compute in float16, which has twice the rate of tf32 and as many
	 * bits of mantissa. */
	return kgb_dtype_is_float(part) && part != KGB_DTYPE_FLOAT8_E4M3FN ? rates->float16
									   : rates->int8;
}

double kgb_gpu_peak_flops_per_s(const struct kgb_gpu_peak *machine, enum kgb_dtype dtype)
{
	const struct rates *rates = find_rates(machine);

	return rates ? rate_of(rates, dtype) * machine->n_sms * machine->sm_mhz * 1e6 : 0;
}

void kgb_gpu_peak_write(const struct kgb_gpu_peak *machine, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "{name: %s, uuid: %s, driver: %s, compute_capability: [%u", machine->name,
		      machine->uuid[0] ? machine->uuid : NULL,
		      machine->driver[0] ? machine->driver : NULL, machine->cc_major);
	kgb_jsonw_put(w, "%u], multiprocessors: %u, sm_mhz: %u, l2_bytes: %ld", machine->cc_minor,
		      machine->n_sms, machine->sm_mhz, (int64_t)machine->l2_bytes);
	kgb_jsonw_put(w, "bytes_per_s: %g, launch_floor_ns: %ld, cached: %hhd}",
		      machine->bytes_per_s, (int64_t)machine->launch_floor_ns, machine->cached);
}

/* ---- the cache ---- */

/* The key covers the GPU, the driver and the version of this file's format. */
static void make_key(const struct kgb_exec_machine *machine, char key[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	kgb_buf_addf(&text, "machine 2\n%s\n%s\n", machine->uuid, machine->driver);
	kgb_sha256_hex(text.ptr, text.len, key);
}

struct entry {
	int64_t wall_ms;
	uint64_t bytes_per_s, launch_floor_ns;
};

bool kgb_gpu_peak_recall(struct kgb_exec_machine *machine, const struct kgb_disk_cache *store,
			 int64_t *out_age_ms)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct entry entry;
	char key[KGB_SHA256_HEX_LEN];

	make_key(machine, key);
	if (!kgb_disk_cache_get(store, key, &bytes) || bytes.len != sizeof(entry))
		return false;
	memcpy(&entry, bytes.ptr, sizeof(entry));
	machine->bytes_per_s = entry.bytes_per_s;
	machine->launch_floor_ns = entry.launch_floor_ns;
	*out_age_ms = kgb_wall_ms() - entry.wall_ms;
	return true;
}

void kgb_gpu_peak_keep(const struct kgb_exec_machine *machine, const struct kgb_disk_cache *store)
{
	const struct entry entry = {.wall_ms = kgb_wall_ms(),
				    .bytes_per_s = machine->bytes_per_s,
				    .launch_floor_ns = machine->launch_floor_ns};
	char key[KGB_SHA256_HEX_LEN];

	make_key(machine, key);
	kgb_disk_cache_put(store, key, &entry, sizeof(entry));
}

/* ---- */

/* Keep the best measured rates: a later, disturbed measurement does not lower them. */
static void merge(struct kgb_exec_machine *machine, const struct kgb_exec_machine *earlier)
{
	if (earlier->bytes_per_s > machine->bytes_per_s)
		machine->bytes_per_s = earlier->bytes_per_s;
	if (earlier->launch_floor_ns < machine->launch_floor_ns)
		machine->launch_floor_ns = earlier->launch_floor_ns;
}

/* Takes the rates from the cache. False: there is no entry, or it is too old. *out_earlier has the
 * rates of the entry, 0 if there was none. */
static bool recall(const struct kgb_exec_machine *identity, const struct kgb_disk_cache *store,
		   struct kgb_exec_machine *out_earlier, struct kgb_gpu_peak *out)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	int64_t age_ms = -1;

	*out_earlier = *identity;
	out_earlier->bytes_per_s = out_earlier->launch_floor_ns = out_earlier->n_wrong = 0;
	if (!identity->uuid[0] || !identity->driver[0] ||
	    !kgb_gpu_peak_recall(out_earlier, store, &age_ms) ||
	    kgb_gpu_peak_take(out_earlier, out, &ignored) < 0) {
		out_earlier->bytes_per_s = out_earlier->launch_floor_ns = 0;
		return false;
	}
	out->cached = true;
	return age_ms >= 0 && age_ms < DAY_MS;
}

static int measure(struct kgb_exec_client *exec, const struct kgb_disk_cache *store,
		   struct kgb_gpu_peak *out, int64_t timeout_ms, struct kgb_err *err)
{
	struct kgb_exec_machine earlier;

	if (recall(&exec->machine, store, &earlier, out))
		return 0;
	if (kgb_exec_client_measure(exec, timeout_ms, err) != KGB_EXEC_DONE)
		return -1;
	if (earlier.bytes_per_s > 0)
		merge(&exec->machine, &earlier);
	if (kgb_gpu_peak_take(&exec->machine, out, err) < 0)
		return -1;
	if (exec->machine.uuid[0] && exec->machine.driver[0])
		kgb_gpu_peak_keep(&exec->machine, store);
	return 0;
}

static int find(struct kgb_gpu_peak *out, const struct kgb_exec_spec *spec,
		const struct kgb_exec_machine *identity, const struct kgb_disk_cache *store,
		int64_t timeout_ms, struct kgb_err *err)
{
	struct kgb_exec_machine earlier;
	struct kgb_exec_client exec;

	if (identity && recall(identity, store, &earlier, out))
		return 0;
	if (kgb_exec_client_start(&exec, spec, timeout_ms, err) != KGB_EXEC_DONE)
		return -1;
	int rc = measure(&exec, store, out, timeout_ms, err);
	kgb_exec_client_stop(&exec);
	return rc < 0 ? kgb_ctx(err, "peak rates of the GPU") : 0;
}

int kgb_gpu_peak_find(struct kgb_gpu_peak *out, const struct kgb_exec_spec *spec,
		      const struct kgb_exec_machine *identity, const char *cache_dir,
		      int64_t timeout_ms, struct kgb_err *err)
{
	struct kgb_disk_cache *store =
		kgb_disk_cache_try(cache_dir, KGB_MACHINE_ENTRY_MAX, KGB_MACHINE_TOTAL_MAX);
	int rc = find(out, spec, identity, store, timeout_ms, err);

	kgb_disk_cache_free(store);
	return rc;
}
