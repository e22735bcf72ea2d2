/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_place.c - whose memory is this address, and is it registered? */
#include <errno.h>

#include "storage_internal.h"

int rn_storage_place_of(uintptr_t base, struct rn_storage_place *place)
{
	struct rn_gpu_where where;
	const void *ptr = (const void *)base; /* NOLINT(performance-no-int-to-ptr) */
	int err = rn_gpu_find(ptr, &where);

	if (err == -EFAULT)
		return err;
	if (err) {
		*place = (struct rn_storage_place){ .addr = base, .gpu = -1 };
		return 0;
	}
	*place = (struct rn_storage_place){
		.addr = (uintptr_t)(where.buffer.bar ? where.buffer.bar
						     : where.buffer.dev) +
			where.offset,
		.gpu = rn_gpu_number(where.gpu),
		.is_beyond_bar = !where.buffer.bar,
	};
	return 0;
}

struct rn_storage_buffer *rn_storage_buffer_of(uint64_t addr)
{
	struct rn_storage_buffer *b = rn_storage.buffers;

	while (b && addr - b->addr >= b->len)
		b = b->next;
	return b;
}
