/* SPDX-License-Identifier: MIT */
/** \file
 * What it costs to make the data of a case and to compare a result with its reference, in
 * nanoseconds an element, on one core, on two, and so on. Each figure is the best of several
 * rounds.
 *
 *     bench_compute [ELEMENTS]        4194304 by default
 */
#include <sched.h>
#include <stdio.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/str.h"
#include "base/time.h"
#include "verify/comparator/compare.h"
#include "verify/fills/fill.h"

enum { ROUNDS = 5 };

static const struct kgb_seed seed = {{1}};
static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT16, KGB_DTYPE_BFLOAT16,
					KGB_DTYPE_FLOAT64, KGB_DTYPE_INT64,   KGB_DTYPE_BOOL};

struct bench {
	struct kgb_arg arg;
	enum kgb_mode mode;
	void *storage, *native;
	double *exact, *magnitude;
	struct kgb_compare out;
};

/* ---- cores ---- */

static cpu_set_t all_cores;

static int n_cores(void)
{
	int n = CPU_COUNT(&all_cores);

	return n < KGB_PARALLEL_MAX ? n : KGB_PARALLEL_MAX;
}

/* 1, 2, 4, ..., all */
static int more_cores(int n)
{
	return n < n_cores() && 2 * n > n_cores() ? n_cores() : 2 * n;
}

static void use_cores(int n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&set) < n; i++)
		if (CPU_ISSET(i, &all_cores))
			CPU_SET(i, &set);
	KGB_ASSERT(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* ---- what is measured ---- */

static void fill(struct bench *b)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "bench", 0);
	kgb_fill(&b->arg, b->mode, &rng, b->storage);
}

static const struct kgb_tolerance tolerance = {.factor = 4, .ulps = 2};

static void compare(struct bench *b)
{
	kgb_compare(&b->arg.view, b->storage, b->native, b->exact, b->magnitude, &tolerance,
		    &b->out);
}

static size_t storage_bytes(const struct bench *b)
{
	return (size_t)b->arg.view.storage_elements * kgb_dtype_size(b->arg.view.dtype);
}

static void digest(struct bench *b)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_sha256_hex(b->storage, storage_bytes(b), hex);
}

static void digest_tree(struct bench *b)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_sha256_tree_hex(b->storage, storage_bytes(b), hex);
}

static void copy(struct bench *b)
{
	kgb_parallel_copy(b->native, b->storage, storage_bytes(b));
}

static void gather(struct bench *b)
{
	kgb_tensor_view_gather(&b->arg.view, b->storage, b->native);
}

static double best_of(void (*run)(struct bench *), struct bench *b)
{
	int64_t n = kgb_tensor_view_numel(&b->arg.view);
	double best = 1e300;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t start = kgb_mono_ns();
		run(b);
		double each = (double)(kgb_mono_ns() - start) / (double)n;
		best = each < best ? each : best;
	}
	return best;
}

static void measure(const char *what, const char *how, void (*run)(struct bench *), struct bench *b)
{
	printf("| %s%s%s | %s |", what, *how ? ", " : "", how, kgb_dtype_name(b->arg.view.dtype));
	for (int n = 1; n <= n_cores(); n = more_cores(n)) {
		use_cores(n);
		printf(" %.2f |", best_of(run, b));
		fflush(stdout);
	}
	printf("\n");
}

static void lay_out(struct bench *b, enum kgb_dtype dtype, int64_t n, const char *layout)
{
	struct kgb_err err = KGB_ERR_INIT;
	const int64_t sizes[] = {n / 1024, 1024};

	KGB_ASSERT(kgb_tensor_view_layout(&b->arg.view, dtype, sizes, 2, layout, &err) == 0);
	b->storage = kgb_xreallocarray(b->storage, (size_t)b->arg.view.storage_elements,
				       kgb_dtype_size(dtype));
}

static void bench_fills(enum kgb_dtype dtype, int64_t n)
{
	static const struct {
		const char *name;
		enum kgb_fill_kind fill;
		enum kgb_mode mode;
		const char *layout;
	} rows[] = {
		{"normal", KGB_FILL_NORMAL, KGB_MODE_STANDARD, "contiguous"},
		{"normal, outliers", KGB_FILL_NORMAL, KGB_MODE_OUTLIER, "contiguous"},
		{"normal, transposed", KGB_FILL_NORMAL, KGB_MODE_STANDARD, "transposed"},
		{"normal, strided", KGB_FILL_NORMAL, KGB_MODE_STANDARD, "strided"},
		{"uniform", KGB_FILL_UNIFORM, KGB_MODE_STANDARD, "contiguous"},
		{"integers", KGB_FILL_INT, KGB_MODE_STANDARD, "contiguous"},
		{"benchmark", KGB_FILL_NORMAL, KGB_MODE_BENCHMARK, "contiguous"},
		{"benchmark, row_strided", KGB_FILL_NORMAL, KGB_MODE_BENCHMARK, "row_strided"},
	};
	struct bench b = {.arg = {.lo = -100, .hi = 100}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		bool whole = rows[i].fill == KGB_FILL_INT;
		if (whole == kgb_dtype_is_float(dtype) && !whole)
			continue;
		b.arg.fill = rows[i].fill;
		b.mode = rows[i].mode;
		lay_out(&b, dtype, n, rows[i].layout);
		measure("fill", rows[i].name, fill, &b);
	}
	kgb_free(b.storage);
}

/* An honest result: the reference rounded, a few last bits off. */
static void make_truth(struct bench *b, int64_t n)
{
	size_t size = kgb_dtype_size(b->arg.view.dtype);

	b->native = kgb_xreallocarray(NULL, (size_t)n, size);
	b->exact = kgb_xreallocarray(NULL, (size_t)n, sizeof(double));
	memcpy(b->native, b->storage, (size_t)n * size);
	for (int64_t i = 0; i < n; i++) {
		double v = kgb_dtype_load(b->arg.view.dtype, (char *)b->native + (size_t)i * size);
		b->exact[i] =
			v * (1 + (double)(i % 7 - 3) * 0.1 * kgb_dtype_eps(b->arg.view.dtype));
	}
}

static void bench_compares(enum kgb_dtype dtype, int64_t n)
{
	struct bench b = {
		.arg = {.fill = kgb_dtype_is_float(dtype) ? KGB_FILL_NORMAL : KGB_FILL_INT,
			.lo = 0,
			.hi = 100}};

	lay_out(&b, dtype, n, "contiguous");
	fill(&b);
	make_truth(&b, n);
	measure("compare", "", compare, &b);
	KGB_ASSERT(b.out.ok);
	if (kgb_dtype_is_float(dtype)) {
		b.magnitude = b.exact;
		measure("compare", "with magnitudes", compare, &b);
		memset(b.storage, 0, (size_t)n * kgb_dtype_size(dtype));
		measure("compare", "all wrong", compare, &b);
		KGB_ASSERT(!b.out.ok);
	}
	measure("sha256", "", digest, &b);
	measure("sha256", "tree", digest_tree, &b);
	measure("copy", "", copy, &b);
	lay_out(&b, dtype, n, "transposed");
	measure("gather", "transposed", gather, &b);
	lay_out(&b, dtype, n, "row_strided");
	measure("gather", "row_strided", gather, &b);
	kgb_free(b.storage);
	kgb_free(b.native);
	kgb_free(b.exact);
}

int main(int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t n = 1 << 22;

	if (argc > 2 || (argc > 1 && kgb_parse_i64(argv[1], 1024, 1 << 26, &n, &err) < 0)) {
		fprintf(stderr, "usage: bench_compute [ELEMENTS]   (1024 to 67108864)\n");
		return KGB_EXIT_USAGE;
	}
	n -= n % 1024;
	KGB_ASSERT(sched_getaffinity(0, sizeof(all_cores), &all_cores) == 0);
	printf("%lld elements, nanoseconds an element\n\n| what | dtype |", (long long)n);
	for (int k = 1; k <= n_cores(); k = more_cores(k))
		printf(" %d core%s |", k, k > 1 ? "s" : "");
	printf("\n|---|---|");
	for (int k = 1; k <= n_cores(); k = more_cores(k))
		printf("---|");
	printf("\n");
	for (size_t i = 0; i < KGB_ARRAY_LEN(dtypes); i++) {
		bench_fills(dtypes[i], n);
		bench_compares(dtypes[i], n);
	}
	return KGB_EXIT_OK;
}
