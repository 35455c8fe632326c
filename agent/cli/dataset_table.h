/* SPDX-License-Identifier: MIT */
/** \file
 * The table of operators, docs/operators.md: the content of each spec, and its measurements
 * (datasets/kernelgenbench/measured/DEVICE.json, written by tests/gpu/measure_dataset.py). */
#ifndef KGB_AGENT_CLI_DATASET_TABLE_H
#define KGB_AGENT_CLI_DATASET_TABLE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/** Append the page for the specs in these files. Measurements of a spec that has changed since are
 * left out. INVALID when a spec or a file of measurements cannot be read. */
KGB_MUST_CHECK int kgb_dataset_table(const char *data_dir, const struct kgb_strv *paths,
				     struct kgb_buf *out, struct kgb_err *err);

#endif
