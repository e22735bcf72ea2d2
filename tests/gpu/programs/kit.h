/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kit.h - what the programs of this folder share.
 *
 * A program is linked with a library of the name libcuda.so.1 and runs on whatever has
 * this name: the driver of a machine with a GPU, or the stand-in of `rocin run --gpu'.
 * What it prints is the same on both. It prints names of errors and of values, and no
 * addresses, sizes of a GPU or times.
 */
#ifndef GPU_PROGRAMS_KIT_H
#define GPU_PROGRAMS_KIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cuda/api/driver.h"

static inline const char *kit_name(CUresult result)
{
	const char *name = NULL;

	cuGetErrorName(result, &name);
	return name ? name : "an unknown error";
}

/* Prints what a call gives. */
static inline CUresult kit_show(const char *what, CUresult result)
{
	printf("%-44s %s\n", what, kit_name(result));
	return result;
}

static inline void kit_value(const char *what, long long value)
{
	printf("%-44s %lld\n", what, value);
}

/* Ends the program if a call fails that has to work. */
static inline void kit_must(const char *what, CUresult result, int line)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "line %d: %s: %s\n", line, what, kit_name(result));
	exit(1);
}

#define MUST(call) kit_must(#call, call, __LINE__)
#define SHOW(what, call) kit_show(what, call)

/* Begins with the primary context of GPU 0. Status 77: there is no GPU. */
static inline CUcontext kit_begin(void)
{
	CUcontext ctx;
	CUresult result = cuInit(0);

	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "cuInit: %s\n", kit_name(result));
		exit(77);
	}
	MUST(cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(cuCtxSetCurrent(ctx));
	return ctx;
}

#endif /* GPU_PROGRAMS_KIT_H */
