/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach.h - give a process one slot, with a socket for each address of its device.
 *
 * A slot has the same number in the group of every address of a device, since a QPN does
 * not say by which address it is reached. Devices may share addresses: a slot is free
 * for a device if it is free in all of its groups.
 */
#ifndef RND_ATTACH_H
#define RND_ATTACH_H

#include "group.h"
#include "rocin/gid.h"

/* All addresses that this rocind holds. Who is about to use a group that others have left
 * has it counted among its users first, so that none is given back under somebody.
 */
struct rnd_groups {
	struct rnd_group *first;
	uint16_t next_counter[RND_SLOT_COUNT]; /* where the slot's next owner starts */
	rn_ns idle_from; /* not after that of any group without users; RN_NEVER: none */
	/* Told of each new group, and of each that is about to be closed; may be NULL. */
	void (*on_open)(void *ctx, struct rnd_group *group);
	void (*on_close)(void *ctx, struct rnd_group *group);
	/* Is it used by others than processes with slots? May be NULL. */
	bool (*is_wanted)(void *ctx, const struct rnd_group *group);
	void *ctx;
};

/* What one process holds. slot 0: nothing. */
struct rnd_attachment {
	unsigned slot;
	uint16_t qpn_counter;
	char ibdev[32];
	char ifname[16];
	uint32_t ifindex;
	uint32_t gid_count;
	struct rn_gid gid[RN_GID_MAX];
	struct rnd_group *group[RN_GID_MAX]; /* NULL: the interface lost that address */
	bool watches; /* the interface's addresses can change: it is not loopback */
	bool follows; /* takes addresses that appear later */
	bool wires;   /* takes local wires */
	bool bare;    /* and packets without ICRC there */
	bool up;      /* link state as the process knows it */
	int stats_fd; /* -1: none */
};

void rnd_groups_init(struct rnd_groups *groups);
void rnd_groups_fini(struct rnd_groups *groups);
unsigned rnd_groups_count(const struct rnd_groups *groups);

/**
 * rnd_groups_give_back() - Close the groups that have had no users for long enough
 * @since:	Those whose last user left at this time or before; RN_NEVER: all
 * @now:	Time from which those count that are wanted all the same
 */
void rnd_groups_give_back(struct rnd_groups *groups, rn_ns since, rn_ns now);

/* The group of an address, or NULL. @scope: interface of a link-local address, else 0 */
struct rnd_group *rnd_group_find(const struct rnd_groups *groups,
				 const struct rn_gid *gid, uint32_t scope);

/* Have a group for the address as long as it is wanted. Return: 0, or as
 * rnd_group_open().
 */
int rnd_group_hold(struct rnd_groups *groups, const struct rn_gid *gid, uint32_t scope,
		   char *err, size_t err_len);

/**
 * rnd_attach() - Fill an attachment as a request asks
 * @a:		Attachment with slot 0 and stats_fd -1; unchanged on failure
 * @msg:	Request; every field is checked
 *
 * Return: 0, or -errno with a sentence, as rn_rocind_attach() lists them.
 */
int rnd_attach(struct rnd_groups *groups, struct rnd_attachment *a,
	       const struct rn_ctl_attach *msg, char *err, size_t err_len);

/* Give the slot back and close the statistics page; nothing if there is no slot. */
void rnd_detach(struct rnd_attachment *a);

/* The same at the end of rocind, which takes all groups with it: what has come to the
 * sockets of a process that lives is for that process to read.
 */
void rnd_abandon(struct rnd_attachment *a);

/**
 * rnd_attach_gid() - Take one more address into an attachment
 * @idx:	Place in its GID table: its first unused one, or one that lost its address
 *
 * Return: 0, -EUSERS (the slot is somebody else's there), or as rnd_group_open(). No
 *	   sentence: nobody asked for it.
 */
int rnd_attach_gid(struct rnd_groups *groups, struct rnd_attachment *a, unsigned idx,
		   const struct rn_gid *gid);

/* The interface lost the address at @idx. */
void rnd_detach_gid(struct rnd_attachment *a, unsigned idx);

#endif /* RND_ATTACH_H */
