/* SPDX-License-Identifier: MIT */
/** \file
 * Functions that this project does not use, refused at compile time. Force-included into our
 * targets
 * (`-include base/banned.h`) after the system headers that declare them.
 */
#ifndef KGB_BASE_BANNED_H
#define KGB_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat stpcpy sprintf vsprintf gets
#pragma GCC poison atoi atol atoll atof strtol strtoul strtoll strtoull strtok strtok_r
#pragma GCC poison gmtime localtime asctime system popen mktemp tmpnam tempnam

/* Not poisoned, because a header of libgit2 has a member of that name. */
/* NOLINTNEXTLINE(readability-redundant-declaration) */
extern char *ctime(const time_t *) __attribute__((deprecated("use kgb_time_format")));

#endif
