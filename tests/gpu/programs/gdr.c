/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gdr.c - memory of a GPU that the CPU maps, by GDRCopy. */
#include "sim/cuda/api/gdr.h"
#include "kit.h"

enum {
	GPU_PAGE = 65536,
	LEN = 4 * GPU_PAGE,
};

static void show(const char *what, int error)
{
	printf("%-44s %s\n", what, error ? strerror(error) : "done");
}

static void copies(gdr_mh_t handle, CUdeviceptr ptr, char *map)
{
	char *from = malloc(LEN), *to = calloc(1, LEN);

	for (int i = 0; i < LEN; i++)
		from[i] = (char)(i * 11 + i / 256);
	show("copy to the mapping", gdr_copy_to_mapping(handle, map, from, LEN));
	MUST(cuMemcpyDtoH_v2(to, ptr, LEN));
	kit_value("\tsame", memcmp(from, to, LEN) == 0);
	MUST(cuMemsetD8_v2(ptr, 3, LEN));
	show("copy from the mapping", gdr_copy_from_mapping(handle, to, map + 3, 1000));
	kit_value("\tbytes", to[0] == 3 && to[999] == 3);
	kit_value("\tthe next byte", to[1000] == from[1000]);
	/* A load of the CPU itself. */
	kit_value("\tload", *(volatile int *)(map + 8));
	free(from);
	free(to);
}

int main(void)
{
	gdr_info_v2_t info;
	gdr_mh_t handle;
	CUdeviceptr raw, ptr;
	gdr_t g;
	void *map = NULL;
	int flag = 77;

	kit_begin();
	g = gdr_open();
	if (!g)
		return 77;
	MUST(cuMemAlloc_v2(&raw, LEN + GPU_PAGE));
	ptr = (raw + GPU_PAGE - 1) & ~(CUdeviceptr)(GPU_PAGE - 1);
	show("pin", gdr_pin_buffer(g, ptr, LEN, 0, 0, &handle));
	show("map", gdr_map(g, handle, &map, LEN));
	show("info", gdr_get_info_v2(g, handle, &info));
	kit_value("\tmapped", info.mapped);
	kit_value("\tsize", (long long)info.mapped_size);
	copies(handle, ptr, (char *)map + (ptr - info.va));
	show("flag", gdr_get_callback_flag(g, handle, &flag));
	kit_value("\tfreed", flag);
	show("unmap", gdr_unmap(g, handle, map, LEN));
	show("unpin", gdr_unpin_buffer(g, handle));
	show("pin of host memory",
	     gdr_pin_buffer(g, (unsigned long)&info, GPU_PAGE, 0, 0, &handle));
	MUST(cuMemFree_v2(raw));
	show("close", gdr_close(g));
	return 0;
}
