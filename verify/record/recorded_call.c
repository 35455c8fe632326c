/* SPDX-License-Identifier: MIT */
#include "verify/record/recorded_call.h"

#include "base/mem.h"

const char *kgb_owner_name(enum kgb_owner owner)
{
	static const char *const names[] = {
		[KGB_OWNER_TRITON] = "the candidate's",
		[KGB_OWNER_TORCH_MOVE] = "a fill or copy of torch",
		[KGB_OWNER_LIBRARY] = "of a library",
		[KGB_OWNER_UNKNOWN] = "of unknown origin",
		[KGB_OWNER_UNDECIDED] = "of an origin that could not be found out",
	};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_OWNERS, "one name per owner");

	KGB_ASSERT(owner < KGB_N_OWNERS);
	return names[owner];
}

bool kgb_window_allocated(const struct kgb_window *window, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < window->n_blocks; i++) {
		const struct kgb_block *block = &window->blocks[i];
		if (!block->foreign && (!block->before || block->again) &&
		    address >= block->address && bytes <= block->bytes &&
		    address - block->address <= block->bytes - bytes)
			return true;
	}
	return false;
}
