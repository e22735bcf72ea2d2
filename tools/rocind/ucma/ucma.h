/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ucma.h - what the kernel does behind /dev/infiniband/rdma_cm, without I/O.
 *
 * A channel stands for one open descriptor of that device, to which the program writes
 * commands (see rdma/rdma_user_cm.h). What happens later is queued in the channel as
 * events, which the command GET_EVENT returns. An id is the kernel's counterpart of a
 * struct rdma_cm_id: it is bound to an address and a port, listens or has a connection,
 * and belongs to one channel until it is destroyed or migrated. All channels share one
 * space of ports, as in one network namespace.
 *
 * Inputs   rnd_ucma_command(), rnd_ucma_packet(), rnd_ucma_expire()
 * Outputs  the packets and the deadline of the connection manager (rocin/cm.h), and the
 *          functions of struct rnd_ucma_ops, which are called meanwhile and must not
 *          call back
 *
 * Errors and their order are those of Linux 6.1 (drivers/infiniband/core/ucma.c, cma.c).
 *
 * Threads: none of these functions locks.
 */
#ifndef RND_UCMA_H
#define RND_UCMA_H

#include "rocin/cm.h"
#include "rocin/cmdev.h"
#include "rocin/netdev.h"
#include "transport/io/rocind/cm_board.h"
#include "transport/io/rocind/ctl.h"

struct rnd_ucma;
struct rnd_ucma_channel;

/* Result of a query of the routing table. */
struct rnd_ucma_route {
	struct rn_gid src; /* preferred source address */
	uint32_t ifindex;
	bool is_local; /* the destination is an address of this machine */
};

/* Kinds of objects that a successor of this process gets, in the order in which it
 * restores them.
 */
enum rnd_ucma_kind {
	RND_UCMA_NUMBERS,
	RND_UCMA_ID,
	RND_UCMA_CONN,
	RND_UCMA_MCAST,
	RND_UCMA_EVENT,
	RND_UCMA_KINDS
};

struct rnd_ucma_ops {
	/* Makes this process receive the packets to QP1 of an address, as long as
	 * rnd_ucma_wants() returns true for the address. Returns 0 or -errno.
	 */
	int (*hold)(void *ctx, const struct rn_gid *gid, uint32_t scope);
	/* Queries the routing table about the destination @dst. @src: source address that
	 * must be used; NULL: any. Returns 0, or an error such as -ENETUNREACH or
	 * -EHOSTUNREACH.
	 */
	int (*route)(void *ctx, const struct rn_gid *dst, uint32_t scope,
		     const struct rn_gid *src, struct rnd_ucma_route *out);
	/* Returns true if @gid is an address of this machine, whether or not a device has
	 * it.
	 */
	bool (*is_local)(void *ctx, const struct rn_gid *gid);
	/* Called when an event was queued in a channel, so that its program must be told.
	 * @user: the argument @user of the call of rnd_ucma_open() that has made the
	 * channel.
	 */
	void (*ready)(void *ctx, void *user);
	/* Publishes the answers to queries about the rdma_cm id @number, after they have
	 * changed. @answers: NULL if the id no longer exists; otherwise this function
	 * must fill in @answers->channel. @user: as for ready(). May be NULL.
	 */
	void (*show)(void *ctx, void *user, uint32_t number,
		     struct rn_cm_answers *answers);
	/* Publishes what a program must know about an rdma_cm id or a multicast group
	 * after rocind has ended. This pointer must be NULL if `show' is NULL, and must
	 * not be NULL otherwise.
	 */
	void (*show_life)(void *ctx, void *user, enum rn_cm_kind kind, uint32_t number,
			  struct rn_cm_life *life);
	/* Copies an object to a place that outlives this process. The copy replaces an
	 * earlier one. May be NULL.
	 */
	void (*keep)(void *ctx, enum rnd_ucma_kind kind, uint64_t number,
		     const void *data, size_t len);
	/* Removes the copy of an object, if there is one. This pointer must be NULL if
	 * `keep' is NULL, and must not be NULL otherwise.
	 */
	void (*forget)(void *ctx, enum rnd_ucma_kind kind, uint64_t number);
};

struct rnd_ucma_cfg {
	const struct rnd_ucma_ops *ops;
	void *ctx;
	/* The connection manager protocol. It must exist longer than the struct rnd_ucma.
	 * Only the functions of this file may give it commands and packets, and fetch its
	 * events.
	 */
	struct rn_cm *cm;
	uint64_t seed; /* seed for PSNs and ephemeral ports */
	/* function that supplies random numbers in place of the seed, see rn_cm_cfg.draw
	 */
	uint64_t (*draw)(void);
	/* range of ephemeral ports, as in net.ipv4.ip_local_port_range */
	uint16_t port_first;
	uint16_t port_last;
	/* Lowest port that every user may bind. 0: the user is root, and may bind all
	 * ports.
	 */
	uint16_t port_free;
	/* default of the option RDMA_OPTION_ID_AFONLY, as in net.ipv6.bindv6only */
	bool v6only;
};

/* Returns new state for rdma_cm without any channels, or NULL if out of memory. */
struct rnd_ucma *rnd_ucma_new(const struct rnd_ucma_cfg *cfg);

/* Frees @ucma, which has no channels any more; NULL is ignored. */
void rnd_ucma_free(struct rnd_ucma *ucma);

/**
 * rnd_ucma_open() - Make a channel for a program that opens the device
 * @devs:	The @count devices of the program, at most RN_NETDEV_MAX; copied
 * @user:	Argument of rnd_ucma_ops.ready()
 *
 * Return: the channel, or NULL if out of memory.
 */
struct rnd_ucma_channel *rnd_ucma_open(struct rnd_ucma *ucma,
				       const struct rn_netdev *devs, unsigned count,
				       void *user);

/* Closes a channel: destroys its rdma_cm ids and frees their ports. */
void rnd_ucma_close(struct rnd_ucma_channel *ch, rn_ns now);

/* Returns the number of events in the queue. */
uint32_t rnd_ucma_event_count(const struct rnd_ucma_channel *ch);

/* A command that a program has written, and its answer. */
struct rnd_call {
	struct rnd_ucma_channel *ch;
	rn_ns now;
	/* Header of the command as the program has sent it. @from below is used in place
	 * of the header's member of that name.
	 */
	const struct rn_cmdev_call *head;
	/* the command without its header: @head->in_len bytes, which need not be aligned
	 */
	const void *in;
	/* data to which the command points: @head->option_len bytes, the value of
	 * SET_OPTION
	 */
	const void *option;
	/* For MIGRATE_ID: the channel of the descriptor that the command names. NULL:
	 * that descriptor does not belong to a channel.
	 */
	struct rnd_ucma_channel *from;
	size_t answer_len; /* length of the answer in bytes; 0: there is no answer */
	uint8_t answer[RN_CMDEV_OUT_MAX];
};

/**
 * rnd_ucma_command() - Execute a command
 *
 * GET_EVENT never waits: it returns -EAGAIN if there is no event.
 *
 * Return: 0 with the answer in @c, or -errno.
 */
int rnd_ucma_command(struct rnd_call *c);

/* Called when the answer to a command has been sent, or cannot be sent. If the answer
 * reports an event, increases the number of reported events that is published on the
 * board.
 */
void rnd_ucma_answered(struct rnd_ucma *ucma);

/* Processes a MAD of the CM that has arrived at QP1 of an address. rnd_ucma_ops.hold()
 * was called for that address before. Returns what rn_cm_receive() returns.
 */
bool rnd_ucma_packet(struct rnd_ucma *ucma, rn_ns now, const struct rn_cm_rx *rx);

/* Does what is due at @now, such as sending a message again; see rn_cm_expire(). */
void rnd_ucma_expire(struct rnd_ucma *ucma, rn_ns now);

/* Called when an interface has got another link address. Ids that are bound to its
 * device, listening ones too, get the event ADDR_CHANGE.
 */
void rnd_ucma_addresses_changed(struct rnd_ucma *ucma, uint32_t ifindex);

/* Returns true if a program with a channel has a device with this address. While this is
 * so, rocind must receive the packets to QP1 of the address, see rnd_ucma_ops.hold().
 * @scope: as in rnd_ucma_ops.hold()
 */
bool rnd_ucma_wants(const struct rnd_ucma *ucma, const struct rn_gid *gid,
		    uint32_t scope);

/* ---- Handing over to a successor ---- */

/* Gives the channel a number. Copies of rdma_cm ids name the channel by this number. */
void rnd_ucma_set_number(struct rnd_ucma_channel *ch, uint64_t number);

/* Copies the devices of the channel's program to @out. Returns their number. */
unsigned rnd_ucma_devs(const struct rnd_ucma_channel *ch,
		       struct rn_netdev out[RN_NETDEV_MAX]);

/* Copies all objects that have changed since the last call, by rnd_ucma_ops.keep(). */
void rnd_ucma_keep_changes(struct rnd_ucma *ucma);

/* Makes the next rnd_ucma_keep_changes() copy everything. */
void rnd_ucma_mark_all_changed(struct rnd_ucma *ucma);

/* Restores an object from a copy. The channels must have been opened before, with their
 * old numbers. The caller must restore the objects in the order of their kinds, and
 * events in the order of their numbers. Returns 0, -EINVAL (not a valid copy) or -ENOMEM.
 */
int rnd_ucma_restore(struct rnd_ucma *ucma, enum rnd_ucma_kind kind, uint64_t number,
		     const void *data, size_t len);

/* Ends restoring: publishes all rdma_cm ids, and announces the events of all channels. */
void rnd_ucma_restored(struct rnd_ucma *ucma);

/* Numbers of objects, for reports and for tests that look for leaks. */
struct rnd_ucma_counts {
	uint32_t channels, ids, ports, connections;
};
void rnd_ucma_count(const struct rnd_ucma *ucma, struct rnd_ucma_counts *out);

/* Calls @visit with each rdma_cm id of the channel that has a device, or that listens at
 * all devices. The member @pid of the argument is not set.
 */
void rnd_ucma_describe(const struct rnd_ucma_channel *ch,
		       void (*visit)(void *ctx, const struct rn_ctl_cm_id *id),
		       void *ctx);

#endif /* RND_UCMA_H */
