/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor_peer.h - does the port of a device at another address refuse packets? */
#ifndef RN_DOCTOR_PEER_H
#define RN_DOCTOR_PEER_H

#include <stddef.h>

#include "rocin/types.h"

/**
 * rn_doctor_peer() - Knock at UDP port 4791 and wait a little for a refusal by ICMP
 * @address:	IPv4 or IPv6 address, the latter with %INTERFACE if it is link-local
 * @text:	Out: one sentence, with the remedy if it was refused
 *
 * What knocks is a datagram of no bytes, which every RoCE device drops.
 *
 * Return: true if nothing speaks against the port: it answers to nothing, so a packet
 * that was dropped on its way looks the same.
 */
bool rn_doctor_peer(const char *address, char *text, size_t len);

#endif /* RN_DOCTOR_PEER_H */
