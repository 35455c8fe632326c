/* SPDX-License-Identifier: MIT */
/** \file
 * A parsed record written again, for the fuzz targets and the unit tests of records.
 */
#ifndef KGB_TESTS_FUZZ_RECORD_H
#define KGB_TESTS_FUZZ_RECORD_H

#include "verify/protocol/record.h"

static inline void rewrite_record(const struct kgb_record *record, struct kgb_buf *out)
{
	kgb_record_put_header(out);
	for (size_t i = 0; i < record->n_images; i++)
		kgb_record_put_image(out, record->images[i].id, record->images[i].bytes,
				     record->images[i].len);
	for (size_t i = 0; i < record->n_windows; i++) {
		const struct kgb_window *window = &record->windows[i];
		kgb_record_put_window_begin(out, window->number);
		for (size_t j = 0; j < window->n_blocks; j++)
			kgb_record_put_block(out, &window->blocks[j]);
		for (size_t j = 0; j < window->n_ops; j++)
			kgb_record_put_op(out, &window->ops[j]);
		kgb_record_put_window_end(out);
	}
}

#endif
