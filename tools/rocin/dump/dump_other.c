/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_other.c - see dump_other.h. */
#include "dump_other.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	PROTOCOL_ICMP = 1,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_ICMPV6 = 58,
};

static const char *const words[RN_DUMP_OTHERS] = {
	[RN_DUMP_TCP] = "of TCP",      [RN_DUMP_UDP] = "of UDP",
	[RN_DUMP_ICMP] = "of ICMP",    [RN_DUMP_IP] = "of other protocols of IP",
	[RN_DUMP_NO_IP] = "not of IP",
};

enum rn_dump_other rn_dump_other(const uint8_t *ip, size_t len)
{
	uint8_t protocol;

	if (len >= IPV4_LEN && ip[0] >> 4 == 4)
		protocol = ip[9];
	else if (len >= IPV6_LEN && ip[0] >> 4 == 6)
		protocol = ip[6];
	else
		return RN_DUMP_NO_IP;
	switch (protocol) {
	case PROTOCOL_TCP:
		return RN_DUMP_TCP;
	case PROTOCOL_UDP:
		return RN_DUMP_UDP;
	case PROTOCOL_ICMP:
	case PROTOCOL_ICMPV6:
		return RN_DUMP_ICMP;
	default:
		return RN_DUMP_IP;
	}
}

void rn_dump_others_text(const uint64_t count[RN_DUMP_OTHERS],
			 char text[RN_DUMP_OTHERS_MAX])
{
	uint64_t all = 0;
	size_t at;

	for (unsigned i = 0; i < RN_DUMP_OTHERS; i++)
		all += count[i];
	if (all == 0) {
		snprintf(text, RN_DUMP_OTHERS_MAX, "it holds no packet at all");
		return;
	}
	at = (size_t)snprintf(text, RN_DUMP_OTHERS_MAX, "its %" PRIu64 " packet%s", all,
			      all == 1 ? " is" : "s are");
	for (unsigned i = 0; i < RN_DUMP_OTHERS && at < RN_DUMP_OTHERS_MAX; i++) {
		if (!count[i])
			continue;
		at += (size_t)snprintf(text + at, RN_DUMP_OTHERS_MAX - at,
				       "%s %" PRIu64 " %s", all == 0 ? "," : "", count[i],
				       words[i]);
		all = 0;
	}
}
