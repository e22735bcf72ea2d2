/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_other.h - what a capture holds that is no RoCEv2 packet, for whoever wonders why
 * nothing is shown.
 */
#ifndef RN_DUMP_OTHER_H
#define RN_DUMP_OTHER_H

#include <stddef.h>
#include <stdint.h>

enum rn_dump_other {
	RN_DUMP_TCP,
	RN_DUMP_UDP,
	RN_DUMP_ICMP, /* of IPv4 or IPv6 */
	RN_DUMP_IP,   /* any other protocol */
	RN_DUMP_NO_IP,
	RN_DUMP_OTHERS
};

/* Of @len bytes behind the link header. */
enum rn_dump_other rn_dump_other(const uint8_t *ip, size_t len);

enum {
	RN_DUMP_OTHERS_MAX = 256
};

/* "its 4 packets are 2 of TCP, 1 of UDP to other ports, 1 not of IP", or that it has
 * none.
 */
void rn_dump_others_text(const uint64_t count[RN_DUMP_OTHERS],
			 char text[RN_DUMP_OTHERS_MAX]);

#endif /* RN_DUMP_OTHER_H */
