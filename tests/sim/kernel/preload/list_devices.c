/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* list_devices.c - print the number of devices and their names: list_devices [dlopen] */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct ibv_device **(*get_list)(int *) = ibv_get_device_list;
	struct ibv_device **list;
	int count = -1;

	/* As NCCL finds it. */
	if (argc > 1 && !strcmp(argv[1], "dlopen")) {
		void *verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);

		*(void **)&get_list =
			verbs ? dlvsym(verbs, "ibv_get_device_list", "IBVERBS_1.1")
			      : NULL;
		if (!get_list)
			return 2;
	}
	list = get_list(&count);
	if (!list) {
		printf("error: %s\n", strerror(errno));
		return 1;
	}
	printf("%d devices\n", count);
	for (int i = 0; list[i]; i++)
		printf("%s\n", ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
	return 0;
}
