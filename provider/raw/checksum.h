/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* checksum.h - the checksums of an Ethernet frame, as a NIC fills and checks them.
 *
 * Of IPv4 the header; of TCP and UDP, directly behind IPv4 or IPv6 and not in a fragment,
 * the whole. Behind at most two VLAN tags. RFC 791, 793, 768, 8200 (8.1).
 */
#ifndef RNP_CHECKSUM_H
#define RNP_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write those that the frame has; whatever stood there does not matter. A header that is
 * cut short, or says that it is longer than the frame, has none.
 */
void rnp_checksum_fill(uint8_t *frame, size_t len);

/* As IBV_WC_IP_CSUM_OK says it: IPv4 with TCP or UDP, and both are right. UDP without a
 * checksum is right.
 */
bool rnp_checksum_ok(const uint8_t *frame, size_t len);

#endif /* RNP_CHECKSUM_H */
