/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include <stdint.h>

enum { CAP_MIN = 8 }; /* elements */

void *kgb__vec_grow(void *items, size_t n, size_t more, size_t *cap, size_t size)
{
	size_t need, doubled;

	if (__builtin_add_overflow(n, more, &need) || __builtin_mul_overflow(*cap, 2, &doubled))
		need = doubled = SIZE_MAX; /* too large for the allocation below */
	if (need <= *cap)
		return items;
	if (doubled < CAP_MIN)
		doubled = CAP_MIN;
	*cap = need > doubled ? need : doubled;
	return kgb_xreallocarray(items, *cap, size);
}
