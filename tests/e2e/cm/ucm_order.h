/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ucm_order.h - writes a command to a descriptor of rdma_cm in the same way as librdmacm.
 */
#ifndef RN_UCM_ORDER_H
#define RN_UCM_ORDER_H

#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/kit/expect.h"

/* Returns 0 or an errno value. */
static inline int order(int fd, uint32_t cmd, const void *in, size_t in_len,
			size_t out_len)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t in[512];
	} msg = {
		.hdr = { .cmd = cmd, .in = (uint16_t)in_len, .out = (uint16_t)out_len }
	};
	size_t len = sizeof(msg.hdr) + in_len;
	ssize_t rc;

	memcpy(msg.in, in, in_len);
	rc = write(fd, &msg, len);
	EXPECT(rc == (ssize_t)len || rc == -1);
	return rc < 0 ? errno : 0;
}

#endif /* RN_UCM_ORDER_H */
