/* SPDX-License-Identifier: MIT */
/** \file
 * Messages for people on stderr. stdout is data and never written here. Text is escaped, so a child
 * cannot drive the terminal through us.
 */
#ifndef KGB_BASE_LOG_H
#define KGB_BASE_LOG_H

#include "base/err.h"

enum kgb_log_level { KGB_LOG_ERROR, KGB_LOG_WARN, KGB_LOG_INFO, KGB_LOG_VERBOSE, KGB_LOG_DEBUG };

/** Program name that starts each line ("kgb-agent"), and the most talkative level shown. */
void kgb_log_init(const char *program, enum kgb_log_level level);
/** Lines begin with this name from now on; NULL: with none. */
void kgb_log_set_program(const char *program);
bool kgb_log_enabled(enum kgb_log_level level);
void kgb_log(enum kgb_log_level level, const char *fmt, ...) KGB_PRINTF(2, 3);
#define kgb_error(...) kgb_log(KGB_LOG_ERROR, __VA_ARGS__)
#define kgb_warn(...) kgb_log(KGB_LOG_WARN, __VA_ARGS__)
#define kgb_info(...) kgb_log(KGB_LOG_INFO, __VA_ARGS__)
#define kgb_verbose(...) kgb_log(KGB_LOG_VERBOSE, __VA_ARGS__)
#define kgb_debug(...) kgb_log(KGB_LOG_DEBUG, __VA_ARGS__)
/** Print err->msg; with KGB_LOG_DEBUG also the trace. */
void kgb_log_err(const struct kgb_err *err);
/** Called around each line so that a live status block can clear and redraw itself. NULL removes
 * it. */
void kgb_log_set_hook(void (*before)(void *), void (*after)(void *), void *payload);

#endif
