/* SPDX-License-Identifier: MIT */
/* Kernels of the stand-in for the CUDA driver: the whole grid at once, in C. */
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/fake/fake.h"
#include "verify/exec/cuda/kernels.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/spans.h"

#define PARAM(type, i) (*(const type *)params[i])

static const struct kgb_span *span_of(void **params, unsigned int row)
{
	return (const struct kgb_span *)PARAM(uint64_t, 0) + row;
}

static CUresult run_fill(const CUlaunchConfig *config, void **params)
{
	const uint64_t seed = PARAM(uint64_t, 1);

	for (unsigned int row = 0; row < config->gridDimY; row++) {
		const struct kgb_span *span = span_of(params, row);
		if (span->start % 16 != 0 || span->bytes % 16 != 0)
			return fake_fault(CUDA_ERROR_MISALIGNED_ADDRESS);
		for (uint64_t at = span->start; at < span->start + span->bytes; at += 8)
			*(uint64_t *)at = kgb_exec_poison_word(seed, at);
	}
	return CUDA_SUCCESS;
}

/* One word of a span; only those of its bytes that lie in it count. */
static void check_word(const struct kgb_span *span, uint64_t at, uint64_t good,
		       struct kgb_found *found)
{
	bool wrong = false;

	if (*(const uint64_t *)at == good)
		return;
	for (uint64_t i = 0; i < 8; i++) {
		if (at + i < span->start || at + i >= span->start + span->bytes ||
		    *(const unsigned char *)(at + i) == (unsigned char)(good >> 8 * i))
			continue;
		wrong = true;
		if (at + i < found->lowest)
			found->lowest = at + i;
	}
	found->n_words += wrong;
}

static CUresult run_check(const CUlaunchConfig *config, void **params)
{
	const uint64_t seed = PARAM(uint64_t, 1);
	struct kgb_found *found = (struct kgb_found *)PARAM(uint64_t, 2);

	for (unsigned int row = 0; row < config->gridDimY; row++) {
		const struct kgb_span *span = span_of(params, row);
		for (uint64_t at = span->start & ~UINT64_C(7); at < span->start + span->bytes;
		     at += 8)
			check_word(span, at, kgb_exec_poison_word(seed, at), found);
	}
	return CUDA_SUCCESS;
}

static CUresult run_scrub(const CUlaunchConfig *config, void **params)
{
	return PARAM(uint32_t, 1) == config->sharedMemBytes ? CUDA_SUCCESS
							    : CUDA_ERROR_INVALID_VALUE;
}

/* Not all of it: memory of this process is slow enough. */
static CUresult run_read(const CUlaunchConfig *config, void **params)
{
	const struct kgb_span *span = span_of(params, 0);
	uint64_t sum = 0;

	(void)config;
	for (uint64_t at = span->start; at < span->start + span->bytes; at += 256)
		sum ^= *(const volatile uint64_t *)at;
	*(uint64_t *)PARAM(uint64_t, 1) = sum;
	return CUDA_SUCCESS;
}

static CUresult run_nothing(const CUlaunchConfig *config, void **params)
{
	const struct timespec a_microsecond = {.tv_nsec = 1000};

	(void)nanosleep(&a_microsecond, NULL);
	return config->gridDimX == 1 && !params ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Is there memory? A pipe takes a byte from where it lies, or says that it cannot be read. */
static bool is_mapped(uint64_t address)
{
	int pair[2];

	if (pipe(pair) < 0)
		return false;
	bool mapped = write(pair[1], (const void *)address, 1) == 1;
	close(pair[0]);
	close(pair[1]);
	return mapped;
}

static CUresult run_add(const CUlaunchConfig *config, void **params)
{
	const float *a = (const float *)PARAM(uint64_t, 0);
	const float *b = (const float *)PARAM(uint64_t, 1);
	float *out = (float *)PARAM(uint64_t, 2);
	const size_t n_threads = (size_t)config->gridDimX * config->blockDimX;
	const size_t n = n_threads < PARAM(uint32_t, 3) ? n_threads : PARAM(uint32_t, 3);

	for (size_t i = 0; i<n; i += n> 1 ? n - 1 : 1)
		if (!is_mapped((uint64_t)&a[i]) || !is_mapped((uint64_t)&b[i]) ||
		    !is_mapped((uint64_t)&out[i]))
			return fake_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
	for (size_t i = 0; i < n; i++)
		out[i] = a[i] + b[i];
	return CUDA_SUCCESS;
}

/* Adds, but in timed calls leaves one element out of a hundred as it was. */
static CUresult run_add_unless_timed(const CUlaunchConfig *config, void **params)
{
	float *out = (float *)PARAM(uint64_t, 2);
	const size_t n = PARAM(uint32_t, 3);
	const CUresult result = run_add(config, params);

	for (size_t i = 0; i < n && result == CUDA_SUCCESS && fake_is_timed(); i += 100)
		out[i] += 1;
	return result;
}

/* Adds, and each call gives other results than the last. */
static CUresult run_add_restless(const CUlaunchConfig *config, void **params)
{
	static unsigned int n_calls;
	float *out = (float *)PARAM(uint64_t, 2);
	const size_t n = PARAM(uint32_t, 3);
	const CUresult result = run_add(config, params);

	n_calls++;
	for (size_t i = 0; i < n && result == CUDA_SUCCESS; i += 100)
		out[i] += (float)n_calls;
	return result;
}

/* Adds, and two of three timed calls give another result. */
static CUresult run_add_at_times(const CUlaunchConfig *config, void **params)
{
	static unsigned int n_calls;
	const CUresult result = run_add(config, params);

	if (result == CUDA_SUCCESS && fake_is_timed() && ++n_calls % 3 != 0)
		((float *)PARAM(uint64_t, 2))[0] += 1;
	return result;
}

static CUresult run_poke(const CUlaunchConfig *config, void **params)
{
	(void)config;
	if (!is_mapped(PARAM(uint64_t, 0)))
		return fake_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
	*(unsigned char *)PARAM(uint64_t, 0) = (unsigned char)PARAM(uint32_t, 1);
	return CUDA_SUCCESS;
}

static CUresult run_loop(const CUlaunchConfig *config, void **params)
{
	(void)config;
	(void)params;
	while (pause() < 0)
		;
	return CUDA_SUCCESS;
}

static CUresult run_trap(const CUlaunchConfig *config, void **params)
{
	(void)config;
	(void)params;
	return fake_fault(CUDA_ERROR_LAUNCH_FAILED);
}

static CUresult run_broken(const CUlaunchConfig *config, void **params)
{
	(void)config;
	(void)params;
	return fake_fault(CUDA_ERROR_ECC_UNCORRECTABLE);
}

static CUresult run_shared(const CUlaunchConfig *config, void **params)
{
	if (config->sharedMemBytes < PARAM(uint32_t, 1))
		return fake_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
	*(uint32_t *)PARAM(uint64_t, 0) = PARAM(uint32_t, 1);
	return CUDA_SUCCESS;
}

const struct fake_kernel *fake_kernel_find(const char *name)
{
	static const struct fake_kernel kernels[] = {
		{"kgb_fill", {8, 8}, run_fill},
		{"kgb_check", {8, 8, 8}, run_check},
		{"kgb_read", {8, 8}, run_read},
		{"kgb_nothing", {0}, run_nothing},
		{"kgb_scrub", {8, 4}, run_scrub},
		{"check_add", {8, 8, 8, 4}, run_add},
		{"check_poke", {8, 4}, run_poke},
		{"check_loop", {8}, run_loop},
		{"check_broken", {0}, run_broken},
		{"check_trap", {0}, run_trap},
		{"check_shared", {8, 4}, run_shared},
		{"check_add_unless_timed", {8, 8, 8, 4}, run_add_unless_timed},
		{"check_add_restless", {8, 8, 8, 4}, run_add_restless},
		{"check_add_at_times", {8, 8, 8, 4}, run_add_at_times},
	};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}
