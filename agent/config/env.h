/* SPDX-License-Identifier: MIT */
/** \file
 * What programs that we start may see of our environment.
 */
#ifndef KGB_AGENT_CONFIG_ENV_H
#define KGB_AGENT_CONFIG_ENV_H

#include "base/str.h"

/** Append what is set of it as "NAME=value": paths, language, which GPUs are meant for us. Never a
 * key. */
void kgb_child_env(struct kgb_strv *env);

#endif
