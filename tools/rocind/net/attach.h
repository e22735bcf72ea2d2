/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach.h - gives a process a slot, with a socket for each address of its device.
 *
 * A slot has the same number in the groups of all addresses of a device, since a QPN does
 * not say by which address it is reached. Devices may share addresses; a slot is free for
 * a device if it is free in all its groups.
 */
#ifndef RND_ATTACH_H
#define RND_ATTACH_H

#include "group.h"
#include "rocin/gid.h"

/* The groups of sockets of this rocind, one group for each address. A caller that wants
 * to use a group must first count itself as a user, so that the group is not closed
 * meanwhile.
 */
struct rnd_groups {
	struct rnd_group *first;
	/* For each slot (number of a process): the value from which its next owner counts
	 * to make QPNs.
	 */
	uint16_t next_counter[RND_SLOT_COUNT];
	/* Key of the permutation by which processes turn counters into QPNs. All
	 * processes have the same key, so if their counters differ, their QPNs differ,
	 * too.
	 */
	uint64_t qpn_secret;
	struct rnd_admission admission; /* rules that say whose packets are accepted */
	/* number of packets that were refused (admission.h) by groups that have been
	 * closed since
	 */
	uint64_t refused;
	/* No group has been without users since before this time (rnd_group.idle_from).
	 * RN_NEVER: every group has users.
	 */
	rn_ns idle_from;
	/* until then no bind waits for its port, see BIND_PAUSE_MS */
	rn_ns no_wait_until;
	/* on_open() is called when the sockets of an address (a group) have been opened,
	 * on_close() before they are closed. Either may be NULL.
	 */
	void (*on_open)(void *ctx, struct rnd_group *group);
	void (*on_close)(void *ctx, struct rnd_group *group);
	/* Returns true if something other than a process with a slot uses the sockets of
	 * the group, such as rdma_cm. May be NULL.
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
	/* changes of the interface's addresses are to be reported; false for loopback */
	bool watches;
	bool follows; /* the device gets new addresses of the interface, too */
	bool wires;   /* the process can use local wires */
	bool no_icrc; /* the process accepts packets without ICRC on local wires */
	bool up;      /* state of the link, as it was last reported to the process */
	int stats_fd; /* descriptor of the stats page; -1: none */
	/* index at which the next search for a record of a QP begins, see
	 * rn_stats_find_qp()
	 */
	uint32_t next_record;
};

void rnd_groups_init(struct rnd_groups *groups);
void rnd_groups_fini(struct rnd_groups *groups);

/* If users other than this one are admitted, updates the set of admitted ports. The
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
 * @now:	Start of a new time without users, for a group that is_wanted() says is
 *	still used
 */
void rnd_groups_give_back(struct rnd_groups *groups, rn_ns since, rn_ns now);

/* Returns the group (sockets) of an address, or NULL. @scope: interface index of a
 * link-local address, else 0.
 */
struct rnd_group *rnd_group_find(const struct rnd_groups *groups,
				 const struct rn_gid *gid, uint32_t scope);

/* Opens a group (sockets) for the address, unless there is one. The group stays open as
 * long as is_wanted() returns true for it. Returns 0, or an error of rnd_group_open()
 * with an error text in @err.
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

/* Gives @a, a copy of the attachment that a process had before rocind died, its slot in
 * groups that were restored. Where its group[i] is not NULL, it had an address. Returns
 * false, with the groups unchanged, if one of these groups is missing, or if another
 * process has the slot.
 */
bool rnd_attach_again(struct rnd_groups *groups, struct rnd_attachment *a);

/* Releases the slot and closes the stats page; does nothing if @a has no slot. */
void rnd_detach(struct rnd_attachment *a);

/* Called when rocind ends, after it has closed its sockets of all addresses: releases the
 * slot (number) of a process. Unlike rnd_detach() it leaves the packets in the sockets,
 * because the process may live on and read them.
 */
void rnd_abandon(struct rnd_attachment *a);

/**
 * rnd_attach_gid() - Add an address to an attachment
 * @idx:	Index in the GID table: the first unused one, or one whose address the
 *	interface has lost
 *
 * Return: 0; -EUSERS if another process already uses this attachment's slot number among
 *	the users of the address (its group); or an error of rnd_group_open(). No error
 *	text is written, as no client asked for this.
 */
int rnd_attach_gid(struct rnd_groups *groups, struct rnd_attachment *a, unsigned idx,
		   const struct rn_gid *gid);

/* Removes the address at index @idx, which the interface has lost, from the attachment.
 */
void rnd_detach_gid(struct rnd_attachment *a, unsigned idx);

#endif /* RND_ATTACH_H */
