/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_socket.h - Ethernet frames of raw packet QPs, on packet sockets of the interface.
 *
 * One socket per engine to send, open while there is a raw packet QP, and one to receive,
 * open while there is a flow rule. Frames that the rules match are copied: the kernel's
 * network stack gets them as well, unlike behind a NIC that steers frames.
 *
 * The device's loopback: frames that another raw packet QP of the interface sends, of
 * this process or another, are received like those from outside, once; those that the
 * kernel's network stack sends are not. On lo there is no difference, as all frames that
 * are sent there arrive there.
 *
 * Checksums are filled where the work request asks for it, and where a sender of this
 * host has left them to hardware.
 *
 * VLAN tags, which the kernel takes out of a frame, are put back where they were. A frame
 * longer than the MTU allows (segments that the kernel has joined or not yet cut) is one
 * that no wire carries: it is counted and dropped.
 *
 * Threads: all with the engine lock held, but rnp_raw_close().
 */
#ifndef RNP_RAW_SOCKET_H
#define RNP_RAW_SOCKET_H

#include "flow_steer.h"
#include "rocin/types.h"

struct rn_dev;
struct rn_netdev;

enum {
	RNP_RAW_RETIRED_MAX = 8
};

/* Sockets that are not used any more; 0: none. Closing a socket takes the kernel tens of
 * milliseconds, so it is done without the engine lock.
 */
struct rnp_raw_retired {
	int fd[RNP_RAW_RETIRED_MAX];
};

/* Between a device and its interface. The engine fills in the first part, once. */
struct rnp_raw_link {
	struct rn_dev *dev;
	const struct rn_netdev *netdev;
	uint64_t *counter; /* statistics by enum rn_stat; other processes read them */
	/* Begin to wake the engine when there are frames on @fd (0 or -errno), and end
	 * it. */
	int (*watch)(void *arg, int fd);
	void (*unwatch)(void *arg, int fd);
	void *arg;

	struct rnp_raw *raw; /* NULL: there is no raw packet QP */
	struct rnp_raw_retired retired;
};

/**
 * rnp_raw_get() - One more raw packet QP on a device that is attached
 *
 * Return: 0; -EPERM: the process lacks CAP_NET_RAW in the namespace of the network;
 *	   -EOPNOTSUPP: the interface has no Ethernet frames, or the kernel no packet
 *	   sockets; -ENOMEM, and what socket(2) and bind(2) answer.
 */
int rnp_raw_get(struct rnp_raw_link *l);
void rnp_raw_put(struct rnp_raw_link *l);

/* A rule for one of its QPs; @rule->qp is a struct rn_qp. Return: 0 or -errno as above.
 */
int rnp_raw_add_rule(struct rnp_raw_link *l, struct rnp_rule *rule);
void rnp_raw_remove_rule(struct rnp_raw_link *l, struct rnp_rule *rule);

/* The sockets go at once; QPs and rules stay, without effect. */
void rnp_raw_shut(struct rnp_raw_link *l);

/* Close the sockets that were retired with the lock held. Lock not held. */
void rnp_raw_close(const struct rnp_raw_retired *retired);

/* Steer at most @max frames to their QPs. Return: how many were taken from the socket. */
unsigned rnp_raw_receive(struct rnp_raw_link *l, rn_ns now, unsigned max);

/* Send the frames of the QPs. Return: false if the socket is full and frames wait. */
bool rnp_raw_transmit(struct rnp_raw_link *l, rn_ns now);

/* The descriptor to wait for frames on; -1: none. */
int rnp_raw_fd(const struct rnp_raw_link *l);

#endif /* RNP_RAW_SOCKET_H */
