/* SPDX-License-Identifier: MIT */
/** \file
 * Linked into each unit test that is not in KGB_THREADED_TESTS: ThreadSanitizer does not run it, so
 * it must start no thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's names of the parameters are reserved.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
		   void *(*start)(void *), void *restrict arg)
{
	(void)thread;
	(void)attr;
	(void)start;
	(void)arg;
	fputs("This unit test starts a thread: add it to KGB_THREADED_TESTS in tests/CMakeLists.txt, so "
	      "that ThreadSanitizer checks it.\n",
	      stderr);
	abort();
}
