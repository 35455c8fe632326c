/* SPDX-License-Identifier: MIT */
/* A stand-in for a libcuda.so.1 of years ago (CUDA 11.4): most of what we call is not in it. */
/* NOLINTBEGIN(readability-identifier-naming) */
int cuInit(unsigned int flags);
int cuDriverGetVersion(int *version);

int cuInit(unsigned int flags)
{
	return flags ? 1 : 0;
}

int cuDriverGetVersion(int *version)
{
	*version = 11040;
	return 0;
}

/* NOLINTEND(readability-identifier-naming) */
