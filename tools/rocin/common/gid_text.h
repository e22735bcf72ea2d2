/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gid_text.h - a GID as people write addresses. */
#ifndef RN_GID_TEXT_H
#define RN_GID_TEXT_H

#include <arpa/inet.h>

#include "rocin/netdev.h"

enum {
	RN_GID_TEXT_MAX = INET6_ADDRSTRLEN
};

/* "127.0.0.1" for a mapped IPv4 address, otherwise IPv6 notation. Returns @text. */
static inline const char *rn_gid_text(const struct rn_gid *gid,
				      char text[RN_GID_TEXT_MAX])
{
	bool v4 = rn_gid_is_ipv4(gid);

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid->raw + 12 : gid->raw, text,
			 RN_GID_TEXT_MAX);
}

#endif /* RN_GID_TEXT_H */
