/* SPDX-License-Identifier: MIT */
/** \file
 * Versions at run time: ours and that of every loaded library. */
#ifndef KGB_AGENT_CONFIG_VERSION_H
#define KGB_AGENT_CONFIG_VERSION_H

#include "base/buf.h"

/** Such as "0.2.0". */
const char *kgb_version(void);
/** Several lines for --version. */
void kgb_version_text(struct kgb_buf *out);
/** The same as one JSON object: name -> version. */
void kgb_version_json(struct kgb_buf *out);

#endif
