/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* forge_mad.h - messages of the connection manager: reads those that others send, as
 * somebody on path would, and forges some.
 */
#ifndef RN_TEST_FORGE_MAD_H
#define RN_TEST_FORGE_MAD_H

#include <infiniband/verbs.h>

#include "forger.h"
#include "rocin/gsi.h"
#include "rocin/mad.h"

/* Reads packets to the device with this address from now on. Return: 0 or -errno. */
int sniffer_start(const union ibv_gid *gid);
void sniffer_stop(void);

/* Waits for the next message of this kind. Return: false if none comes within that time.
 */
bool see_mad(enum rn_cm_attr attr, struct rn_cm_msg *msg, int ms);
/* Returns the next message of this kind; the test fails if there is none. */
struct rn_cm_msg sniff_mad(enum rn_cm_attr attr);

/* Makes a packet with this message, from the address of the sniffer to it. */
void forge_mad(struct forgery *f, const struct rn_cm_msg *msg);

#endif /* RN_TEST_FORGE_MAD_H */
