/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "verify/provenance/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const struct kgb_cubin_names *names)
{
	KGB_ASSERT(names->n <= KGB_CUBIN_NAMES_MAX);
	for (size_t i = 0; i < names->n; i++)
		KGB_ASSERT(kgb_cubin_names_has(names, names->items[i]));
}

/* Whatever bytes a candidate gives to the driver: refused, or read the same way twice, with every
 * promise of the header kept. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin, again;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_cubin_read(data, size, &arena, &cubin, &err) < 0) {
		KGB_ASSERT(err.msg[0] != '\0');
		return 0;
	}
	KGB_ASSERT(kgb_cubin_read(data, size, &arena, &again, &err) == 0);
	KGB_ASSERT(cubin.kernels.n == again.kernels.n && cubin.variables.n == again.variables.n &&
		   cubin.imports.n == again.imports.n && cubin.zeroed_bytes == again.zeroed_bytes);
	check_names(&cubin.kernels);
	check_names(&cubin.variables);
	check_names(&cubin.imports);
	return 0;
}
