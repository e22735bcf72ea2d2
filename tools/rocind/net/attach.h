/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach.h - gives a process a slot, with a socket for each address of its device.
 *
 * A slot is a number by which QPNs name the process. A process has the same slot in the
 * groups (sockets) of all addresses of its device, because a QPN does not say by which
 * address it is reached. Devices may share addresses; a slot is free for a device if it
 * is free in the groups of all its addresses.
 */
#ifndef RND_ATTACH_H
#define RND_ATTACH_H

#include "group.h"
#include "rocin/gid.h"

/* The groups of this rocind, one for each address. A group is the set of sockets that are
 * bound to the address. A caller that wants to use a group must first count itself as a
 * user, so that the group is not closed meanwhile.
 */
struct rnd_groups {
	struct rnd_group *first;
	/* For each slot: the value from which the next process that has the slot counts
	 * to make its QPNs.
	 */
	uint16_t next_counter[RND_SLOT_COUNT];
	/* Key of the permutation by which processes turn counters into QPNs. All
	 * processes have the same key, so different counters give different QPNs.
	 */
	uint64_t qpn_secret;
	struct rnd_admission admission; /* rules that say whose packets are accepted */
	/* number of packets that were refused (admission.h) by groups that are closed now
	 */
	uint64_t refused;
	/* Each group that has no users has been without users since this time or later
	 * (rnd_group.idle_from). RN_NEVER: every group has users.
	 */
	rn_ns idle_from;
	/* until this time a bind is tried only once, see BIND_PAUSE_MS */
	rn_ns no_wait_until;
	/* on_open() is called when the sockets of an address (a group) have been opened,
	 * on_close() before they are closed. Either may be NULL.
	 */
	void (*on_open)(void *ctx, struct rnd_group *group);
	void (*on_close)(void *ctx, struct rnd_group *group);
	/* Returns true if something else than a process with a slot, such as rdma_cm,
	 * uses the group. May be NULL.
	 */
	bool (*is_wanted)(void *ctx, const struct rnd_group *group);
	void *ctx;
};

/* What rocind has given to a process: its slot, and the addresses of its device. Slot 0:
 * the process has none.
 */
struct rnd_attachment {
	unsigned slot;
	uint16_t qpn_counter;
	char ibdev[32];
	char ifname[16];
	uint32_t ifindex;
	uint32_t gid_count;
	struct rn_gid gid[RN_GID_MAX];
	/* Groups of sockets, by index in the GID table. NULL: the interface no longer has
	 * this address.
	 */
	struct rnd_group *group[RN_GID_MAX];
	/* the process must be told of changes of the interface's addresses; false for
	 * loopback
	 */
	bool watches;
	bool follows; /* the device gets new addresses of the interface, too */
	bool wires;   /* the process can use local wires */
	bool no_icrc; /* the process accepts packets without ICRC on local wires */
	bool up;      /* state of the link, as it was last reported to the process */
	int stats_fd; /* descriptor of the stats page of the process; -1: none */
	/* index at which the next search for a record of a QP begins, see
	 * rn_stats_find_qp()
	 */
	uint32_t next_record;
};

void rnd_groups_init(struct rnd_groups *groups);
void rnd_groups_fini(struct rnd_groups *groups);

/* If users other than rocind's own are admitted, updates the set of admitted ports. The
 * caller must call this at intervals.
 */
void rnd_groups_admit(struct rnd_groups *groups);

/* Returns the number of packets that were refused (admission.h). */
uint64_t rnd_groups_refused(const struct rnd_groups *groups);
unsigned rnd_groups_count(const struct rnd_groups *groups);

/**
 * rnd_groups_give_back() - Close groups that have had no users for long enough
 * @since:	Close groups whose last user left at this time or before; RN_NEVER: all
 *	groups
 * @now:	If is_wanted() says that a group without users is still used, it counts as
 *	being without users from this time on
 */
void rnd_groups_give_back(struct rnd_groups *groups, rn_ns since, rn_ns now);

/* Returns the group (sockets) of an address, or NULL. @scope: interface index of a
 * link-local address, else 0.
 */
struct rnd_group *rnd_group_find(const struct rnd_groups *groups,
				 const struct rn_gid *gid, uint32_t scope);

/* Opens a group for the address, unless there is one. The group stays open as long as
 * is_wanted() returns true for it. Returns 0, or an error of rnd_group_open() with an
 * error text in @err.
 */
int rnd_group_hold(struct rnd_groups *groups, const struct rn_gid *gid, uint32_t scope,
		   char *err, size_t err_len);

/**
 * rnd_attach() - Give a process the slot and the addresses that its request asks for
 * @a:	Attachment with slot 0 and stats_fd -1; unchanged on failure
 * @msg:	Request; every field is checked
 *
 * Return: 0, or -errno with an error text in @err; rn_rocind_attach() lists the errors.
 */
int rnd_attach(struct rnd_groups *groups, struct rnd_attachment *a,
	       const struct rn_ctl_attach *msg, char *err, size_t err_len);

/* Adds a group of sockets that rnd_group_restore() has made. */
void rnd_groups_add(struct rnd_groups *groups, struct rnd_group *group);

/* Gives @a its slot in groups that were restored. @a is a copy of the attachment that a
 * process had before rocind died: it had the addresses for which group[i] is not NULL.
 * Returns false, with the groups unchanged, if one of these groups is missing, or if
 * another process has the slot.
 */
bool rnd_attach_again(struct rnd_groups *groups, struct rnd_attachment *a);

/* Releases the slot and closes the stats page; does nothing if @a has no slot. */
void rnd_detach(struct rnd_attachment *a);

/* Called when rocind ends, after it has closed its sockets of all addresses: releases the
 * slot of a process. Unlike rnd_detach() it does not drop the packets in the sockets of
 * the slot, because the process may live on and read them.
 */
void rnd_abandon(struct rnd_attachment *a);

/**
 * rnd_attach_gid() - Add an address to an attachment
 * @idx:	Index in the GID table: the first unused one, or one whose address the
 *	interface has lost
 *
 * Return: 0; -EUSERS if another process already uses this attachment's slot number among
 *	the users of the address (its group); or an error of rnd_group_open(). There is no
 *	error text, because this is not done for a request of a client.
 */
int rnd_attach_gid(struct rnd_groups *groups, struct rnd_attachment *a, unsigned idx,
		   const struct rn_gid *gid);

/* Removes the address at index @idx, which the interface has lost, from the attachment.
 */
void rnd_detach_gid(struct rnd_attachment *a, unsigned idx);

#endif /* RND_ATTACH_H */
