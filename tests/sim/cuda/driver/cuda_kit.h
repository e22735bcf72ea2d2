/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_kit.h - what tests of the driver API share. */
#ifndef CUDA_KIT_H
#define CUDA_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/cuda.h"
#include "rocin/gpu.h"
#include "sim/cuda/api/driver.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define FAILS(error, call) assert_int_equal(call, error)

/* A context on GPU 0, which is current. */
static inline int cuda_kit_begin(void **state)
{
	CUcontext ctx;

	setenv("ROCIN_GPUS", "2", 1);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&ctx, 0, 0));
	*state = ctx;
	return 0;
}

static inline int cuda_kit_end(void **state)
{
	OK(cuCtxDestroy_v2(*state));
	return 0;
}

#define CUDA_KIT_TEST(fn) \
	cmocka_unit_test_setup_teardown(fn, cuda_kit_begin, cuda_kit_end)

#endif /* CUDA_KIT_H */
