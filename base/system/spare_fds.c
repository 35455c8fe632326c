/* SPDX-License-Identifier: MIT */
#include "base/system/spare_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>

/* A commit of libgit2 has at most a handful of files open at a time. */
#define N_SPARE 8

static int spare[N_SPARE];
static bool holds;
static int n_loans; /* under lock, as spare */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/** Retry missing ones after the next loan. */
static void take(void)
{
	for (int i = 0; i < N_SPARE; i++)
		if (spare[i] < 0)
			spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void kgb_spare_fds_hold(void)
{
	for (int i = 0; i < N_SPARE; i++)
		spare[i] = -1;
	holds = true;
	take();
}

int kgb_spare_fds_borrow(void)
{
	if (!holds)
		return 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; n_loans == 0 && i < N_SPARE; i++) {
		kgb_close(spare[i]);
		spare[i] = -1;
	}
	n_loans++;
	pthread_mutex_unlock(&lock);
	return 1;
}

void kgb_auto_spare_fds(const int *loan)
{
	if (!*loan)
		return;
	const int code = errno;
	pthread_mutex_lock(&lock);
	if (--n_loans == 0)
		take();
	pthread_mutex_unlock(&lock);
	errno = code;
}
