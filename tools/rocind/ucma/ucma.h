/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ucma.h - what the kernel does behind /dev/infiniband/rdma_cm, without I/O.
 *
 * A channel is one open of that device. Programs write commands to it (<rdma/
 * rdma_user_cm.h>); what happens later comes as events, which the command GET_EVENT takes
 * out of the channel's queue. An id is the kernel's end of a struct rdma_cm_id: it is
 * bound to an address and a port, listens or has a connection, and belongs to one channel
 * until it is destroyed or migrated. Ports are shared by all channels, as those of one
 * network namespace are.
 *
 * Inputs   rnd_ucma_command(), rnd_ucma_packet(), rnd_ucma_expire()
 * Outputs  rnd_ucma_transmit(), rnd_ucma_deadline(), and the functions of struct
 *          rnd_ucma_ops, which are called meanwhile and must not call back
 *
 * Errors and their order are those of Linux 6.1 (drivers/infiniband/core/ucma.c, cma.c).
 *
 * Threads: none of these functions locks.
 */
#ifndef RND_UCMA_H
#define RND_UCMA_H

#include "rocin/cm.h"
#include "transport/io/rocind/cm_board.h"

struct rn_netdev;
struct rnd_ucma;
struct rnd_ucma_channel;

/* How a destination is reached. */
struct rnd_ucma_route {
	struct rn_gid src; /* preferred source address */
	uint32_t ifindex;
	bool is_local; /* the destination is an address of this machine */
};

struct rnd_ucma_ops {
	/* Take packets to QP1 of an address, as long as rnd_ucma_wants() says so. Return:
	 * 0 or -errno.
	 */
	int (*hold)(void *ctx, const struct rn_gid *gid, uint32_t scope);
	/* Ask the routing table. @src: address to send from, or NULL.
	 * Return: 0, -ENETUNREACH, -EHOSTUNREACH ...
	 */
	int (*route)(void *ctx, const struct rn_gid *dst, uint32_t scope,
		     const struct rn_gid *src, struct rnd_ucma_route *out);
	/* Is it an address of this machine, whether or not a device has it? */
	bool (*is_local)(void *ctx, const struct rn_gid *gid);
	/* An event was queued in the channel that has this @user. */
	void (*ready)(void *ctx, void *user);
	/* What may be asked about the id of this number has changed; NULL: it has gone.
	 * The channel in @answers is for the caller to fill in, that of @user. May be
	 * NULL.
	 */
	void (*show)(void *ctx, void *user, uint32_t number,
		     struct rn_cm_answers *answers);
	/* The same of what is to outlive us, of an id or a group. Both or none are NULL.
	 */
	void (*show_life)(void *ctx, void *user, enum rn_cm_kind kind, uint32_t number,
			  struct rn_cm_life *life);
};

struct rnd_ucma_cfg {
	const struct rnd_ucma_ops *ops;
	void *ctx;
	uint64_t seed;	     /* of ids on the wire, PSNs and ephemeral ports */
	uint32_t conn_max;   /* connections at a time, those in time-wait too */
	uint16_t port_first; /* ephemeral ports, net.ipv4.ip_local_port_range */
	uint16_t port_last;
	uint16_t port_free;	/* lowest port that anyone may bind; 0 for root */
	bool v6only;		/* net.ipv6.bindv6only */
	uint32_t timeout_scale; /* of struct rn_cm_cfg */
};

/* Return: NULL if out of memory. */
struct rnd_ucma *rnd_ucma_new(const struct rnd_ucma_cfg *cfg);

/* No channel may be left. NULL is ignored. */
void rnd_ucma_free(struct rnd_ucma *ucma);

/**
 * rnd_ucma_open() - A program opens the device
 * @devs:	The devices that the program has, @count of them, at most RN_NETDEV_MAX;
 *		copied
 * @user:	For rnd_ucma_ops.ready()
 *
 * Return: NULL if out of memory.
 */
struct rnd_ucma_channel *rnd_ucma_open(struct rnd_ucma *ucma,
				       const struct rn_netdev *devs, unsigned count,
				       void *user);

/* The program closed it, or is gone: its ids are destroyed, its ports are free. */
void rnd_ucma_close(struct rnd_ucma_channel *ch, rn_ns now);

/* Events in the queue. */
uint32_t rnd_ucma_event_count(const struct rnd_ucma_channel *ch);

enum {
	RND_UCMA_REPLY_MAX = 512, /* bytes of the longest answer */
	RND_UCMA_OPTION_MAX = 512,
};

/* One write() of a program. */
struct rnd_ucma_request {
	uint32_t cmd;
	const void *in; /* behind the header, any alignment */
	size_t in_len;
	size_t out_len; /* room that the program has for the answer */
	/* What the command points at: the value of SET_OPTION. */
	const void *option;
	size_t option_len;
	/* Of MIGRATE_ID: the channel that its descriptor names; NULL: it names none. */
	struct rnd_ucma_channel *from;
	/* Of DISCONNECT: rn_cm_answers.serial of the id to disconnect, whatever channel
	 * it belongs to by now; 0: the id is one of this channel.
	 */
	uint64_t serial;
};

struct rnd_ucma_reply {
	size_t len; /* 0: nothing to write back */
	uint8_t data[RND_UCMA_REPLY_MAX];
};

/**
 * rnd_ucma_command() - Do what a program wrote
 *
 * GET_EVENT never waits: it gives -EAGAIN.
 *
 * Return: 0 with the answer in @reply, or -errno.
 */
int rnd_ucma_command(struct rnd_ucma_channel *ch, rn_ns now,
		     const struct rnd_ucma_request *rq, struct rnd_ucma_reply *reply);

/* The answer to the last command has been sent, or never will be: the event in it, if
 * there is one, counts as reported from now on for who reads what is shown.
 */
void rnd_ucma_answered(struct rnd_ucma *ucma);

/* A MAD for the CM came to QP1 of an address that is held. */
void rnd_ucma_packet(struct rnd_ucma *ucma, rn_ns now, const struct rn_cm_rx *rx);
/* See rn_cm_is_early(). */
bool rnd_ucma_is_early(struct rnd_ucma *ucma, const struct rn_cm_rx *rx);

/* Return: false if there is nothing to send. */
bool rnd_ucma_transmit(struct rnd_ucma *ucma, struct rn_cm_tx *tx);

rn_ns rnd_ucma_deadline(const struct rnd_ucma *ucma);
void rnd_ucma_expire(struct rnd_ucma *ucma, rn_ns now);

/* An interface has another link address: ids bound to its device are told (ADDR_CHANGE),
 * those that listen too.
 */
void rnd_ucma_addresses_changed(struct rnd_ucma *ucma, uint32_t ifindex);

/* Has a channel a device with this address? Whatever is held for it is then to be kept.
 * @scope: as rnd_ucma_ops.hold() has it.
 */
bool rnd_ucma_wants(const struct rnd_ucma *ucma, const struct rn_gid *gid,
		    uint32_t scope);

/* For reports and tests of leaks. */
struct rnd_ucma_counts {
	uint32_t channels, ids, ports, connections;
};
void rnd_ucma_count(const struct rnd_ucma *ucma, struct rnd_ucma_counts *out);

#endif /* RND_UCMA_H */
