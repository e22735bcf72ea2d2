/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_socket.h - sends and receives Ethernet frames of raw packet QPs by packet sockets.
 *
 * Each engine has one socket to send, open while there is a raw packet QP, and one to
 * receive, open while there is a flow rule. Frames that match the rules are copied: the
 * kernel's network stack gets them as well, unlike behind a NIC that steers frames.
 *
 * Loopback in the device: frames that another raw packet QP of the interface sends, of
 * this process or another, are received like those from outside, once; frames that the
 * kernel's network stack sends are not. On lo all frames that are sent are received.
 *
 * Checksums are filled in where the work request asks for it, and where a sender of this
 * host has left them to hardware.
 *
 * VLAN tags, which the kernel removes from a frame, are inserted again. A frame longer
 * than the MTU allows (segments that the kernel has joined or not yet cut) cannot come
 * from a network: it is counted and dropped.
 *
 * Threads: all functions but rnp_raw_close() are called with the engine lock held.
 */
#ifndef RNP_RAW_SOCKET_H
#define RNP_RAW_SOCKET_H

#include "flow.h"
#include "rocin/types.h"

struct rn_dev;
struct rn_netdev;

enum {
	RNP_RAW_RETIRED_MAX = 8
};

/* Descriptors of sockets that are to be closed; 0: an unused entry. It takes the kernel
 * tens of milliseconds to close a socket, so the engine closes these after it has
 * released the engine lock.
 */
struct rnp_raw_retired {
	int fd[RNP_RAW_RETIRED_MAX];
};

/* Connects a device to the sockets of its raw packet QPs. The engine fills in all members
 * before @raw, once; @raw belongs to the functions below.
 */
struct rnp_raw_link {
	struct rn_dev *dev;
	const struct rn_netdev *netdev;
	/* the device's counters, indexed by enum rn_stat; other processes read them */
	uint64_t *counter;
	/* @watch adds @fd to the descriptors whose frames wake the engine, and returns 0
	 * or -errno. @unwatch removes it.
	 */
	int (*watch)(void *arg, int fd);
	void (*unwatch)(void *arg, int fd);
	void *arg;

	struct rnp_raw *raw; /* the sockets; NULL: there is no raw packet QP */
	struct rnp_raw_retired retired;
};

/**
 * rnp_raw_get() - Count one more raw packet QP of an attached device, and open the socket
 *
 * Return: 0; -EPERM: the process lacks CAP_NET_RAW in its network namespace; -EOPNOTSUPP:
 *	   the interface has no Ethernet frames, or the kernel no packet sockets; -ENOMEM;
 *	   other errors of socket(2) and bind(2).
 */
int rnp_raw_get(struct rnp_raw_link *l);
void rnp_raw_put(struct rnp_raw_link *l);

/* Adds a flow rule of a raw packet QP. @rule->qp points to the QP's struct rn_qp. Return:
 * 0, or an error of rnp_raw_get().
 */
int rnp_raw_add_rule(struct rnp_raw_link *l, struct rnp_rule *rule);
void rnp_raw_remove_rule(struct rnp_raw_link *l, struct rnp_rule *rule);

/* Stops using the sockets; QPs and rules remain, without effect. */
void rnp_raw_shut(struct rnp_raw_link *l);

/* Closes the sockets in @retired, which were only put there while the engine lock was
 * held. The caller does not hold that lock any more.
 */
void rnp_raw_close(const struct rnp_raw_retired *retired);

/* Receives at most @max frames and delivers them to their QPs. Return: number of
 * frames received.
 */
unsigned rnp_raw_receive(struct rnp_raw_link *l, rn_ns now, unsigned max);

/* Sends the frames of the QPs. Return: false if the socket is full and frames wait. */
bool rnp_raw_transmit(struct rnp_raw_link *l, rn_ns now);

/* Returns the socket that receives frames; -1: none. */
int rnp_raw_fd(const struct rnp_raw_link *l);

#endif /* RNP_RAW_SOCKET_H */
