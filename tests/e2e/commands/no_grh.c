/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* no_grh.c - creates an address handle without a GRH, which must fail because RoCE needs
 * one. Ends with status 1 and a message, as a program would do.
 */
#include <errno.h>
#include <string.h>

#include "tests/e2e/kit/loop.h"

int main(void)
{
	struct ibv_context *ctx = loop_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };
	int err;

	EXPECT(pd);
	if (ibv_create_ah(pd, &attr)) {
		puts("an address handle without GRH was accepted");
		return 0;
	}
	err = errno;
	fprintf(stderr, "ibv_create_ah without GRH: %s\n", strerror(err));
	EXPECT(ibv_dealloc_pd(pd) == 0 && ibv_close_device(ctx) == 0);
	return err == EINVAL ? 1 : 2;
}
