/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_kit.h - packets of one queue pair for the middleware of captures, and what that
 * asks its host. Include it behind cmocka.h.
 */
#ifndef RN_CAPTURE_KIT_H
#define RN_CAPTURE_KIT_H

#include <string.h>

#include "rocin/gid.h"
#include "rocin/net.h"
#include "rocin/wire.h"
#include "transport/io/capture/net_capture.h"

enum {
	LOCAL = 0x101,
	REMOTE = 0x202,
};

static const struct rn_flow flow = {
	.src = { { [10] = 0xff, 0xff, 127, 0, 0, 2 } },
	.dst = { { [10] = 0xff, 0xff, 127, 0, 0, 3 } },
	.sport = 0xc001,
};

static uint32_t sender(void *ctx, const struct rn_flow *f, uint32_t dest)
{
	(void)ctx;
	(void)f;
	return dest == REMOTE ? LOCAL : 0;
}

static uint32_t peer(void *ctx, uint32_t qpn)
{
	(void)ctx;
	return qpn == LOCAL ? REMOTE : 0;
}

static const struct rn_capture_host host = { .sender = sender, .peer = peer };

/* @len bytes, without ICRC. */
static inline void make_packet(uint8_t *p, uint32_t len, uint8_t opcode, uint32_t dest,
			       uint32_t psn)
{
	memset(p, 0, len);
	p[0] = opcode;
	rn_put_be24(p + 5, dest);
	rn_put_be24(p + 9, psn);
}

/* @count packets of @len bytes each at @data, as one super-packet. */
static inline void send_super(const struct rn_net *net, uint8_t *data, uint32_t len,
			      uint32_t count)
{
	const struct rn_super super = { .flow = &flow,
					.data = data,
					.len = count * len,
					.seg_len = len,
					.count = count };

	assert_int_equal(net->ops->transmit(net->ctx, &super), 0);
}

#endif /* RN_CAPTURE_KIT_H */
