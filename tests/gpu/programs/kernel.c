/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel.c - a kernel: code of a GPU on a real driver, a C function on the stand-in. */
#include <dlfcn.h>

#include "kit.h"
#include "rocin/cuda.h"
#include "rocin/gpu.h"

enum {
	WORDS = 1000,
	BLOCK = 128,
};

/* Multiplies the words at @at by @factor. The driver compiles it. */
static const char image[] =
	".version 7.0\n"
	".target sm_52\n"
	".address_size 64\n"
	".visible .entry scale(.param .u64 at, .param .u32 factor, .param .u32 count)\n"
	"{\n"
	"	.reg .pred %over;\n"
	"	.reg .b32 %w<8>;\n"
	"	.reg .b64 %a<4>;\n"
	"	ld.param.u64 %a1, [at];\n"
	"	ld.param.u32 %w1, [factor];\n"
	"	ld.param.u32 %w2, [count];\n"
	"	mov.u32 %w3, %ctaid.x;\n"
	"	mov.u32 %w4, %ntid.x;\n"
	"	mov.u32 %w5, %tid.x;\n"
	"	mad.lo.u32 %w6, %w3, %w4, %w5;\n"
	"	setp.ge.u32 %over, %w6, %w2;\n"
	"	@%over bra done;\n"
	"	cvta.to.global.u64 %a1, %a1;\n"
	"	mul.wide.u32 %a2, %w6, 4;\n"
	"	add.u64 %a3, %a1, %a2;\n"
	"	ld.global.u32 %w7, [%a3];\n"
	"	mul.lo.u32 %w7, %w7, %w1;\n"
	"	st.global.u32 [%a3], %w7;\n"
	"done:\n"
	"	ret;\n"
	"}\n";

/* Functions of the stand-in's GPUs, found by name: the program runs without them, too. */
static uint64_t (*load)(const volatile void *addr, unsigned size);
static void (*store)(volatile void *addr, uint64_t value, unsigned size);

static void scale(const struct rn_cuda_launch *l)
{
	uint32_t *at = *(uint32_t **)l->params[0];
	uint32_t factor = *(uint32_t *)l->params[1], count = *(uint32_t *)l->params[2];

	for (unsigned i = 0; i < l->grid[0] * l->block[0] && i < count; i++)
		store(at + i, (uint32_t)load(at + i, 4) * factor, 4);
}

static void register_kernel(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	rn_cuda_register_kernel_fn *add =
		(rn_cuda_register_kernel_fn *)dlsym(lib, "rn_cuda_register_kernel");

	if (!add)
		return; /* a real driver */
	load = (uint64_t(*)(const volatile void *, unsigned))dlsym(lib, "rn_gpu_load");
	store = (void (*)(volatile void *, uint64_t, unsigned))dlsym(lib, "rn_gpu_store");
	if (!load || !store || add("scale", scale, (const size_t[]){ 8, 4, 4 }, 3))
		exit(1);
}

static bool are_all(const uint32_t *words, uint32_t value)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (words[i] != value)
			return false;
	return true;
}

int main(void)
{
	unsigned factor = 3, count = WORDS, grid = (WORDS + BLOCK - 1) / BLOCK;
	uint32_t *host = malloc(WORDS * sizeof(uint32_t));
	CUdeviceptr ptr;
	void *params[] = { &ptr, &factor, &count };
	CUmodule module;
	CUfunction fn, other;
	CUstream s;
	int threads = 0;

	kit_begin();
	register_kernel();
	SHOW("module", cuModuleLoadData(&module, image));
	SHOW("kernel", cuModuleGetFunction(&fn, module, "scale"));
	SHOW("kernel that is not there", cuModuleGetFunction(&other, module, "shrink"));
	SHOW("threads of a block", cuFuncGetAttribute(&threads, 0, fn));
	kit_value("\tare", threads);
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAlloc_v2(&ptr, WORDS * sizeof(uint32_t)));
	SHOW("memset", cuMemsetD32Async(ptr, 7, WORDS, s));
	SHOW("launch", cuLaunchKernel(fn, grid, 1, 1, BLOCK, 1, 1, 0, s, params, NULL));
	factor = 2; /* the launch has its own copy */
	SHOW("launch", cuLaunchKernel(fn, grid, 1, 1, BLOCK, 1, 1, 0, s, params, NULL));
	SHOW("copy", cuMemcpyDtoHAsync_v2(host, ptr, WORDS * sizeof(uint32_t), s));
	SHOW("end", cuStreamSynchronize(s));
	kit_value("\tall are 42", are_all(host, 42));
	SHOW("launch of no blocks",
	     cuLaunchKernel(fn, 0, 1, 1, BLOCK, 1, 1, 0, s, params, NULL));
	SHOW("launch of too large a block",
	     cuLaunchKernel(fn, 1, 1, 1, 2048, 1, 1, 0, s, params, NULL));
	SHOW("and the context is well", cuCtxSynchronize());
	SHOW("end of the module", cuModuleUnload(module));
	free(host);
	return 0;
}
