/* SPDX-License-Identifier: MIT */
/* What a device can do: figures that are believed, how they are rounded, and where they are kept.
 */
#include "verify/timer/gpu_peak.h"

#include <math.h>

#include "base/formats/json.h"
#include "base/hash.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "tests/unit/base/support.h"

enum { HOUR_MS = 3600 * 1000 };

/* An H200 as measured. */
static const struct kgb_exec_machine h200 = {
	.name = "NVIDIA H200",
	.uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef",
	.driver = "580.159.03",
	.cc_major = 9,
	.n_sms = 132,
	.sm_mhz = 1980,
	.l2_bytes = 60 << 20,
	.memory_bytes = UINT64_C(150) << 30,
	.peak_bytes_per_s = 4916736000000,
	.bytes_per_s = 4500000000000,
	.launch_floor_ns = 2000,
	.tested_bytes = 480 << 20,
};

static void test_figures_are_rounded_for_the_candidate(KGB_UNUSED void **state)
{
	struct kgb_gpu_peak machine;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_gpu_peak_take(&h200, &machine, &err), err);
	assert_string_equal(machine.name, "NVIDIA H200");
	assert_string_equal(machine.driver, "580.159.03");
	assert_int_equal(machine.n_sms, 132);
	assert_true(machine.bytes_per_s > 1.02 * 4.5e12 && machine.bytes_per_s < 1.05 * 4.5e12);
	assert_int_equal(machine.launch_floor_ns, 1800);
	assert_false(machine.cached);
}

static void test_a_disturbed_measurement_gives_way_to_the_bus(KGB_UNUSED void **state)
{
	struct kgb_exec_machine slow = h200;
	struct kgb_gpu_peak machine;
	struct kgb_err err = KGB_ERR_INIT;

	slow.bytes_per_s = 2000000000000;
	assert_ok(kgb_gpu_peak_take(&slow, &machine, &err), err);
	assert_true(machine.bytes_per_s == 4916736000000.0);
	slow.peak_bytes_per_s = 0; /* not told */
	assert_ok(kgb_gpu_peak_take(&slow, &machine, &err), err);
	assert_true(fabs(machine.bytes_per_s - 2.06e12) < 1e6);
}

struct impossible {
	size_t offset;
	bool wide;
	uint64_t value;
	const char *message;
};

#define U32(member) offsetof(struct kgb_exec_machine, member), false
#define U64(member) offsetof(struct kgb_exec_machine, member), true

static const struct impossible impossible[] = {
	{U32(n_sms), 0, "measurement of the GPU: 0 is no number of multiprocessors"},
	{U32(n_sms), 100000, "measurement of the GPU: 100000 is no number of multiprocessors"},
	{U32(cc_major), 0, "measurement of the GPU: 0 is no number of compute capability"},
	{U32(sm_mhz), 50, "measurement of the GPU: 50 is no number of MHz of the multiprocessors"},
	{U64(l2_bytes), UINT64_C(1) << 40,
	 "measurement of the GPU: 1099511627776 is no number of bytes of L2 cache"},
	{U64(bytes_per_s), 0,
	 "measurement of the GPU: 0 is no number of bytes per second from memory"},
	{U64(bytes_per_s), UINT64_C(1) << 60,
	 "measurement of the GPU: 1152921504606846976 is no number of bytes per second from memory"},
	{U64(launch_floor_ns), 0,
	 "measurement of the GPU: 0 is no number of ns for an empty kernel"},
	{U64(launch_floor_ns), UINT64_MAX,
	 "measurement of the GPU: 18446744073709551615 is no number of ns for an empty kernel"},
	{U64(n_wrong), 3,
	 "GPU memory does not hold what is written to it: 3 words of 503316480 bytes were wrong"},
};

static void test_impossible_figures_are_refused(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(impossible); i++) {
		const struct impossible *bad = &impossible[i];
		struct kgb_exec_machine reply = h200;
		struct kgb_gpu_peak machine;
		struct kgb_err err = KGB_ERR_INIT;
		const uint32_t narrow = (uint32_t)bad->value;

		if (bad->wide)
			memcpy((char *)&reply + bad->offset, &bad->value, sizeof(bad->value));
		else
			memcpy((char *)&reply + bad->offset, &narrow, sizeof(narrow));
		assert_fails(kgb_gpu_peak_take(&reply, &machine, &err), err, bad->message);
	}
}

static void test_arithmetic_is_that_of_the_best_units(KGB_UNUSED void **state)
{
	static const struct {
		uint32_t major, minor;
		enum kgb_dtype dtype;
		double sheet; /* dense operations per second at the sheet's own clock and SMs */
		uint32_t n_sms, mhz;
	} known[] = {
		{9, 0, KGB_DTYPE_FLOAT16, 989.4e12, 132, 1830}, /* H100 SXM */
		{9, 0, KGB_DTYPE_INT8, 1979e12, 132, 1830},
		{9, 0, KGB_DTYPE_FLOAT64, 66.9e12, 132, 1980},
		{8, 0, KGB_DTYPE_BFLOAT16, 312e12, 108, 1410}, /* A100 */
		{8, 0, KGB_DTYPE_FLOAT64, 19.5e12, 108, 1410},
		{8, 9, KGB_DTYPE_FLOAT16, 362e12, 142, 2520}, /* L40S */
		{7, 5, KGB_DTYPE_FLOAT16, 65e12, 40, 1590}, /* T4 */
		{10, 0, KGB_DTYPE_FLOAT16, 2250e12, 148, 1850}, /* B200 */
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(known); i++) {
		const struct kgb_gpu_peak machine = {.cc_major = known[i].major,
						     .cc_minor = known[i].minor,
						     .n_sms = known[i].n_sms,
						     .sm_mhz = known[i].mhz};
		double got = kgb_gpu_peak_flops_per_s(&machine, known[i].dtype);
		double most = known[i].dtype == KGB_DTYPE_FLOAT64 ? 2.1 : 1.05;
		if (got < 0.985 * known[i].sheet || got > most * known[i].sheet)
			fail_msg("%s on %u.%u: %g, not %g", kgb_dtype_name(known[i].dtype),
				 known[i].major, known[i].minor, got, known[i].sheet);
	}
}

static void test_types_without_units_of_their_own_get_the_next_better(KGB_UNUSED void **state)
{
	const struct kgb_gpu_peak machine = {
		.cc_major = 9, .n_sms = 132, .sm_mhz = 1980, .cc_minor = 0};
	const struct kgb_gpu_peak unknown = {.cc_major = 23, .n_sms = 132, .sm_mhz = 1980};

	assert_true(kgb_gpu_peak_flops_per_s(&machine, KGB_DTYPE_FLOAT32) ==
		    kgb_gpu_peak_flops_per_s(&machine, KGB_DTYPE_FLOAT16));
	assert_true(kgb_gpu_peak_flops_per_s(&machine, KGB_DTYPE_INT64) ==
		    kgb_gpu_peak_flops_per_s(&machine, KGB_DTYPE_INT8));
	for (int dtype = 0; dtype < KGB_N_DTYPES; dtype++) {
		assert_true(kgb_gpu_peak_flops_per_s(&machine, (enum kgb_dtype)dtype) > 1e13);
		assert_true(kgb_gpu_peak_flops_per_s(&unknown, (enum kgb_dtype)dtype) == 0);
	}
}

static void test_the_document_has_every_figure(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	struct kgb_gpu_peak machine;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_jsonw w;

	assert_ok(kgb_gpu_peak_take(&h200, &machine, &err), err);
	machine.driver[0] = '\0';
	kgb_jsonw_init(&w, &text, 0);
	kgb_gpu_peak_write(&machine, &w);
	assert_string_equal(text.ptr,
			    "{\"name\":\"NVIDIA H200\",\"uuid\":\"GPU-01234567-89ab-cdef-0123-"
			    "456789abcdef\",\"driver\":null,\"compute_capability\":[9,0],"
			    "\"multiprocessors\":132,\"sm_mhz\":1980,\"l2_bytes\":62914560,"
			    "\"bytes_per_s\":4635000000000,\"launch_floor_ns\":1800,"
			    "\"cached\":false}");
	assert_ok(kgb_json_parse(text.ptr, text.len, &json, &err), err);
}

/* ---- the cache ---- */

struct cache {
	char path[80];
	struct kgb_disk_cache *store;
};

static void keep(struct cache *cache, void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	(void)snprintf(cache->path, sizeof(cache->path), "%s/machines", dir->path);
	assert_ok(kgb_disk_cache_new(&cache->store, cache->path, KGB_MACHINE_ENTRY_MAX,
				     KGB_MACHINE_TOTAL_MAX, &err),
		  err);
	kgb_gpu_peak_keep(&h200, cache->store);
	assert_int_equal(count_entries(dir->fd, "machines"), 1);
}

static bool recalled(const struct cache *cache, struct kgb_exec_machine *out)
{
	int64_t age_ms = -1;

	*out = h200;
	out->bytes_per_s = out->launch_floor_ns = 0;
	if (!kgb_gpu_peak_recall(out, cache->store, &age_ms))
		return false;
	assert_true(age_ms >= 0 && age_ms < HOUR_MS);
	return true;
}

static void test_what_was_kept_is_recalled(void **state)
{
	struct cache cache;
	struct kgb_exec_machine got;

	keep(&cache, state);
	assert_true(recalled(&cache, &got));
	assert_memory_equal(&got, &h200, sizeof(got));
	kgb_disk_cache_free(cache.store);
}

/* There is no kgb-exec beside this program: only what needs none can be found. */
static void test_a_known_device_needs_no_process(void **state)
{
	const struct kgb_exec_spec spec = {.program = "/nowhere/kgb-exec"};
	struct kgb_exec_machine identity = h200;
	struct cache cache;
	struct kgb_gpu_peak machine;
	struct kgb_err err = KGB_ERR_INIT;

	keep(&cache, state);
	identity.bytes_per_s = identity.launch_floor_ns = 0;
	assert_ok(kgb_gpu_peak_find(&machine, &spec, &identity, cache.path, 1000, &err), err);
	assert_true(machine.cached);
	assert_int_equal(machine.launch_floor_ns, 1800);
	assert_int_equal(kgb_gpu_peak_find(&machine, &spec, NULL, cache.path, 1000, &err), -1);
	assert_contains(err.msg, "'/nowhere/kgb-exec' not found");
	identity.driver[0] = '\0'; /* of whom nobody knows what driver it has */
	assert_int_equal(kgb_gpu_peak_find(&machine, &spec, &identity, cache.path, 1000, &err), -1);
	assert_int_equal(kgb_gpu_peak_find(&machine, &spec, &h200, NULL, 1000, &err), -1);
	kgb_disk_cache_free(cache.store);
}

/* Is what was measured then taken for what the device can do now? */
static bool is_taken(const struct cache *cache, int64_t wall_ms)
{
	const struct kgb_exec_spec spec = {.program = "/nowhere/kgb-exec"};
	const int64_t entry[] = {wall_ms, 4500000000000, 2000};
	struct kgb_gpu_peak machine;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	char key[KGB_SHA256_HEX_LEN];

	kgb_buf_addf(&text, "machine 2\n%s\n%s\n", h200.uuid, h200.driver);
	kgb_sha256_hex(text.ptr, text.len, key);
	kgb_disk_cache_put(cache->store, key, entry, sizeof(entry));
	return kgb_gpu_peak_find(&machine, &spec, &h200, cache->path, 1000, &err) == 0;
}

static void test_an_old_measurement_is_none(void **state)
{
	const int64_t now_ms = kgb_wall_ms();
	struct cache cache;

	keep(&cache, state);
	assert_true(is_taken(&cache, now_ms - HOUR_MS));
	assert_false(is_taken(&cache, 1000));
	assert_false(is_taken(&cache, now_ms - 25 * (int64_t)HOUR_MS));
	/* Of a clock that was wrong, then or now. */
	assert_false(is_taken(&cache, now_ms + HOUR_MS));
	kgb_disk_cache_free(cache.store);
}

static void test_another_gpu_or_driver_is_measured_anew(void **state)
{
	struct cache cache;
	struct kgb_exec_machine other = h200;
	int64_t age_ms;

	keep(&cache, state);
	other.uuid[5] = 'f';
	assert_false(kgb_gpu_peak_recall(&other, cache.store, &age_ms));
	other = h200;
	other.driver[0] = '6';
	assert_false(kgb_gpu_peak_recall(&other, cache.store, &age_ms));
	assert_false(kgb_gpu_peak_recall(&other, NULL, &age_ms));
	kgb_disk_cache_free(cache.store);
}

/* Whose the directory is, and whether a file is whole, is the store's concern (test_disk_cache.c).
 */
static void test_files_of_others_are_not_believed(void **state)
{
	const struct kgb_exec_spec spec = {.program = "/nowhere/kgb-exec"};
	struct cache cache;
	struct kgb_gpu_peak machine;
	struct kgb_err err = KGB_ERR_INIT;

	keep(&cache, state);
	kgb_disk_cache_free(cache.store);
	assert_int_equal(chmod(cache.path, 0702), 0);
	assert_int_equal(kgb_gpu_peak_find(&machine, &spec, &h200, cache.path, 1000, &err), -1);
	assert_int_equal(chmod(cache.path, 0700), 0);
	assert_ok(kgb_gpu_peak_find(&machine, &spec, &h200, cache.path, 1000, &err), err);
}

static int cache_teardown(void **state)
{
	struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_remove_tree(dir->fd, "machines", &err), err);
	close(dir->fd);
	assert_int_equal(rmdir(dir->path), 0);
	kgb_free(dir);
	return 0;
}

#define with_cache(test) cmocka_unit_test_setup_teardown(test, tmpdir_setup, cache_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_are_rounded_for_the_candidate),
		cmocka_unit_test(test_a_disturbed_measurement_gives_way_to_the_bus),
		cmocka_unit_test(test_impossible_figures_are_refused),
		cmocka_unit_test(test_arithmetic_is_that_of_the_best_units),
		cmocka_unit_test(test_types_without_units_of_their_own_get_the_next_better),
		cmocka_unit_test(test_the_document_has_every_figure),
		with_cache(test_what_was_kept_is_recalled),
		with_cache(test_a_known_device_needs_no_process),
		with_cache(test_an_old_measurement_is_none),
		with_cache(test_another_gpu_or_driver_is_measured_anew),
		with_cache(test_files_of_others_are_not_believed),
	};

	return cmocka_run_group_tests_name("gpu_peak", tests, NULL, NULL);
}
