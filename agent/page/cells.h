/* SPDX-License-Identifier: MIT */
/** \file
 * The cells of a report: the outcome of each operator in each run, with its kernel, its verdict and
 * its history. */
#ifndef KGB_AGENT_PAGE_CELLS_H
#define KGB_AGENT_PAGE_CELLS_H

#include "agent/page/collected.h"
#include "agent/page/kernels.h"
#include "base/formats/jsonw.h"

/** Write the member cells of the open object, and gather the kernels that they name by place.
 * \param with_histories else a history has its length only
 * \param kernels NULL: they are left out */
void kgb_cells_write(struct kgb_jsonw *w, const struct kgb_collected *collected,
		     bool with_histories, struct kgb_kernels *kernels);

#endif
