/* SPDX-License-Identifier: MIT */
/** \file
 * The environment of programs that we start. */
#ifndef KGB_AGENT_CONFIG_ENV_H
#define KGB_AGENT_CONFIG_ENV_H

#include "base/str.h"

/** Append the permitted variables that are set as "NAME=value": paths, language, our GPUs. Never a
 * key. */
void kgb_child_env(struct kgb_strv *env);

#endif
