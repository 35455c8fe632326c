/* SPDX-License-Identifier: MIT */
/** \file
 * The two forms of a window that was recorded on a GPU. Torch's fills and copies are there twice:
 * as the ops that the GPU did, and behind them, after a KGB_OP_REPLACES, as a launch that the
 * machine for Triton's IR executes (verify/protocol/torch_move.h). The window of a plan has one
 * form.
 */
#ifndef KGB_VERIFY_RECORD_WINDOW_FORM_H
#define KGB_VERIFY_RECORD_WINDOW_FORM_H

#include "verify/protocol/record.h"

enum kgb_window_form {
	KGB_FORM_GPU, /* without the launches that replace ops */
	KGB_FORM_MACHINE, /* without the ops that they replace */
};

/** The window in this form; its ops are in `arena`, all else is that of *window. A KGB_OP_REPLACES
 * that is not well-formed stays, and no replay repeats it: it must be followed by a launch, and
 * replace launches, memsets and copies of one stream that no other one replaces. */
struct kgb_window kgb_window_in_form(struct kgb_arena *arena, const struct kgb_window *window,
				     enum kgb_window_form form);

#endif
