/* SPDX-License-Identifier: MIT */
/** \file
 * The destination of an export: a file that is replaced as a whole at the end, or standard
 * output. */
#ifndef KGB_AGENT_EXPORTS_OUTPUT_H
#define KGB_AGENT_EXPORTS_OUTPUT_H

#include "base/buf.h"
#include "base/mem.h"

struct kgb_output {
	char *path; /* owned; NULL: standard output */
	char *temporary; /* owned; beside `path` until the end */
	int fd;
	bool is_closed_early; /* the reader of standard output has gone */
};
#define KGB_OUTPUT_INIT  \
	{                \
		.fd = -1 \
	}

/** `name` "-" is standard output. DENIED when something that is no regular file has the name. */
KGB_MUST_CHECK int kgb_output_open(struct kgb_output *out, const char *name, struct kgb_err *err);
/** Write a piece; it is empty afterwards. */
KGB_MUST_CHECK int kgb_output_add(struct kgb_output *out, struct kgb_buf *piece,
				  struct kgb_err *err);
/** Give the file its name. Without this call release removes it. */
KGB_MUST_CHECK int kgb_output_commit(struct kgb_output *out, struct kgb_err *err);
void kgb_output_release(struct kgb_output *out);

#endif
