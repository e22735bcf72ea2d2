/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach.c - gives a process that uses a device a slot (a number by which QPNs name the
 * process), with a socket for each address of the device.
 */
#include "attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "iface.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/log.h"
#include "transport/io/host/secret.h"

enum {
	/* Each slot has a counter from which the process that has the slot makes its
	 * QPNs. The counter of the next process begins this much after the beginning of
	 * the last one's, modulo 65535. So late packets for the last process have QPNs
	 * that the next process does not use, and are dropped.
	 */
	COUNTER_STRIDE = 4096,
	/* If clients of a rocind that has died still have sockets on port 4791, the bind
	 * is tried for this time in ms.
	 */
	BIND_WAIT_MS = 1000,
	/* If a port could not be bound within BIND_WAIT_MS, then for this time in ms each
	 * bind is tried only once: all other clients would have to wait meanwhile, and a
	 * socket that was not closed within a second does not belong to a process that
	 * has ended.
	 */
	BIND_PAUSE_MS = 9000,
};

/* Initialises @groups. The counters for QPNs begin at random values, because peers may
 * still send to processes to which an earlier rocind has given slots.
 */
void rnd_groups_init(struct rnd_groups *groups)
{
	*groups = (struct rnd_groups){ .idle_from = RN_NEVER,
				       .qpn_secret = rn_secret(),
				       .admission = { .is_for_all = true, .hold = -1 } };
	if (getrandom(groups->next_counter, sizeof(groups->next_counter), GRND_NONBLOCK) <
	    0)
		rn_log(RN_LOG_DEBUG, "getrandom: %m");
	for (unsigned i = 0; i < RND_SLOT_COUNT; i++)
		if (groups->next_counter[i] == 0)
			groups->next_counter[i] = 1;
}

static void close_group(struct rnd_groups *groups, struct rnd_group *group)
{
	struct rnd_group **at = &groups->first;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	if (groups->on_close)
		groups->on_close(groups->ctx, group);
	groups->refused += rnd_group_refused(group);
	rnd_group_close(group);
}

void rnd_groups_admit(struct rnd_groups *groups)
{
	if (!rnd_admission_refresh(&groups->admission))
		return;
	for (struct rnd_group *g = groups->first; g; g = g->next)
		if (rnd_group_guard(g))
			rn_log(RN_LOG_WARN, "who is admitted has not changed: %m");
}

uint64_t rnd_groups_refused(const struct rnd_groups *groups)
{
	uint64_t refused = groups->refused;

	for (const struct rnd_group *g = groups->first; g; g = g->next)
		refused += rnd_group_refused(g);
	return refused;
}

void rnd_groups_fini(struct rnd_groups *groups)
{
	while (groups->first)
		close_group(groups, groups->first);
}

/* ---- Groups, and the slots of processes in them ---- */

static void add_user(struct rnd_group *group)
{
	group->users++;
}

static void remove_user(struct rnd_group *group)
{
	assert(group->users);
	if (--group->users)
		return;
	group->idle_from = rn_clock(CLOCK_MONOTONIC);
	if (group->idle_from < group->groups->idle_from)
		group->groups->idle_from = group->idle_from;
}

static bool is_wanted(const struct rnd_groups *groups, const struct rnd_group *group)
{
	return group->users ||
	       (groups->is_wanted && groups->is_wanted(groups->ctx, group));
}

void rnd_groups_give_back(struct rnd_groups *groups, rn_ns since, rn_ns now)
{
	struct rnd_group *next;

	groups->idle_from = RN_NEVER;
	for (struct rnd_group *g = groups->first; g; g = next) {
		next = g->next;
		if (g->users)
			continue;
		if (g->idle_from <= since) {
			if (!is_wanted(groups, g)) {
				close_group(groups, g);
				continue;
			}
			g->idle_from = now;
		}
		if (g->idle_from < groups->idle_from)
			groups->idle_from = g->idle_from;
	}
}

/* Called when a call has returned @rc. If it has failed because no descriptor was free,
 * closes the group that has been without users for the longest time. Returns true if a
 * group was closed, so that the caller can repeat the call.
 */
static bool close_oldest_group(struct rnd_groups *groups, int rc)
{
	struct rnd_group *oldest = NULL;

	if (rc != -EMFILE && rc != -ENFILE)
		return false;
	for (struct rnd_group *g = groups->first; g; g = g->next)
		if ((!oldest || g->idle_from < oldest->idle_from) &&
		    !is_wanted(groups, g))
			oldest = g;
	if (oldest)
		close_group(groups, oldest);
	return oldest != NULL;
}

unsigned rnd_groups_count(const struct rnd_groups *groups)
{
	unsigned count = 0;

	for (const struct rnd_group *g = groups->first; g; g = g->next)
		count++;
	return count;
}

/* Returns the value at which the QPN counter of the next process with this slot begins,
 * from 1 to 65535. 0 is left out, because QPNs below 256 are not for processes.
 */
static uint16_t draw_counter(struct rnd_groups *groups, unsigned slot)
{
	uint16_t counter = groups->next_counter[slot];
	unsigned next = counter + COUNTER_STRIDE;

	groups->next_counter[slot] =
		(uint16_t)(next > UINT16_MAX ? next - UINT16_MAX : next);
	return counter;
}

static uint32_t scope_of(const struct rn_gid *gid, uint32_t ifindex)
{
	return rn_gid_is_link_local(gid) ? ifindex : 0;
}

struct rnd_group *rnd_group_find(const struct rnd_groups *groups,
				 const struct rn_gid *gid, uint32_t scope)
{
	for (struct rnd_group *g = groups->first; g; g = g->next)
		if (g->scope == scope && memcmp(&g->gid, gid, sizeof(*gid)) == 0)
			return g;
	return NULL;
}

static void add_group(struct rnd_groups *groups, struct rnd_group *group)
{
	assert(group);
	group->groups = groups;
	group->next = groups->first;
	group->admission = &groups->admission;
	groups->first = group;
	if (groups->on_open)
		groups->on_open(groups->ctx, group);
}

/* An address at which port 4791 is to be bound. @deadline: until then to try if the port
 * is taken; 0: try once.
 */
struct wanted {
	const struct rn_gid *gid;
	uint32_t scope;
	rn_ns deadline;
};

static rn_ns bind_deadline(const struct rnd_groups *groups)
{
	rn_ns now = rn_clock(CLOCK_MONOTONIC);

	return now < groups->no_wait_until ? 0 : now + RN_MSEC(BIND_WAIT_MS);
}

/* Called when a bind has failed with @rc. If it was tried until the deadline, remembers
 * that binds must not wait for some time.
 */
static void note_wait(struct rnd_groups *groups, const struct wanted *w, int rc)
{
	rn_ns now = rn_clock(CLOCK_MONOTONIC);

	if (rc == -EADDRINUSE && w->deadline && now >= w->deadline)
		groups->no_wait_until = now + RN_MSEC(BIND_PAUSE_MS);
}

/* Returns the group (sockets) of an address, which is opened if it does not exist, and
 * counts the caller as a user of the group. Returns 0, or -errno with an error text in
 * @err.
 */
static int get_group(struct rnd_groups *groups, const struct wanted *w,
		     struct rnd_group **out, char *err, size_t err_len)
{
	struct rnd_group *group = rnd_group_find(groups, w->gid, w->scope);
	int rc;

	if (!group) {
		do
			rc = rnd_group_open(&group, w->gid, w->scope, w->deadline, err,
					    err_len);
		while (rc && close_oldest_group(groups, rc));
		note_wait(groups, w, rc);
		if (rc)
			return rc;
		add_group(groups, group);
		rc = rnd_group_guard(group);
		if (rc) {
			close_group(groups, group);
			(void)rn_fail(err, err_len, rc,
				      "packets of other users cannot be kept out: %s",
				      strerror(-rc));
			return rc;
		}
	}
	add_user(group);
	*out = group;
	return 0;
}

static int reach_group(struct rnd_group *group, unsigned slot)
{
	int rc;

	do
		rc = rnd_group_reach(group, slot);
	while (rc && close_oldest_group(group->groups, rc));
	return rc;
}

int rnd_group_hold(struct rnd_groups *groups, const struct rn_gid *gid, uint32_t scope,
		   char *err, size_t err_len)
{
	const struct wanted w = { gid, scope, bind_deadline(groups) };
	struct rnd_group *group;
	int rc = get_group(groups, &w, &group, err, err_len);

	if (rc == 0)
		remove_user(group);
	return rc;
}

/* Opens the sockets of all addresses of @a. The addresses share one deadline, because the
 * client waits only a few seconds. Returns 0, or -errno with an error text in @err.
 */
static int get_groups(struct rnd_groups *groups, struct rnd_attachment *a, char *err,
		      size_t err_len)
{
	struct wanted w = { .deadline = bind_deadline(groups) };
	int rc = 0;

	for (uint32_t i = 0; i < a->gid_count && rc == 0; i++) {
		w.gid = &a->gid[i];
		w.scope = scope_of(w.gid, a->ifindex);
		rc = get_group(groups, &w, &a->group[i], err, err_len);
	}
	return rc;
}

static void leave_groups(const struct rnd_attachment *a)
{
	for (uint32_t i = 0; i < a->gid_count; i++)
		if (a->group[i])
			remove_user(a->group[i]);
}

/* Returns the smallest slot (number of a process) that is free in the groups of sockets
 * of all addresses of @a; 0: none is free.
 */
static unsigned find_slot(const struct rnd_attachment *a)
{
	for (unsigned slot = 1; slot < RND_SLOT_COUNT; slot++) {
		bool is_free = true;

		for (uint32_t i = 0; i < a->gid_count && is_free; i++)
			is_free = !a->group[i]->taken[slot];
		if (is_free)
			return slot;
	}
	return 0;
}

static int check_request(const struct rn_ctl_attach *msg, char *err, size_t err_len)
{
	if (!memchr(msg->ibdev, '\0', sizeof(msg->ibdev)) || msg->ibdev[0] == '\0' ||
	    !memchr(msg->ifname, '\0', sizeof(msg->ifname)) || msg->ifname[0] == '\0')
		return rn_fail(err, err_len, -EINVAL, "a device needs a name");
	if (msg->gid_count == 0 || msg->gid_count > RN_GID_MAX)
		return rn_fail(err, err_len, -EINVAL, "a device needs 1 to %d addresses",
			       RN_GID_MAX);
	for (uint32_t i = 0; i < msg->gid_count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (memcmp(&msg->gid[i], &msg->gid[k], sizeof(msg->gid[i])) == 0)
				return rn_fail(err, err_len, -EINVAL,
					       "a device has one address twice");
	return 0;
}

static void look_at_interface(struct rnd_attachment *a, bool all_addresses)
{
	struct rnd_iface iface;

	if (rnd_iface_read(a->ifindex, &iface) || iface.is_loopback)
		return;
	a->watches = true;
	a->follows = all_addresses;
}

/* Makes sure that the groups of all addresses of @a have a socket for the slot. Drops the
 * packets in these sockets, which were for an earlier process with this slot. Returns 0,
 * or -errno with an error text in @err.
 */
static int prepare_slot(const struct rnd_attachment *a, char *err, size_t err_len)
{
	for (uint32_t i = 0; i < a->gid_count; i++) {
		int rc = reach_group(a->group[i], a->slot);

		if (rc)
			return rn_fail(err, err_len, rc,
				       "rocind cannot set up slot %u: %m", a->slot);
		rnd_group_drain(a->group[i], a->slot);
	}
	return 0;
}

/* Chooses a slot (number of the process), and prepares its socket in the groups of all
 * addresses. Returns 0, or -errno with an error text in @err.
 */
static int choose_slot(struct rnd_attachment *a, char *err, size_t err_len)
{
	a->slot = find_slot(a);
	if (a->slot)
		return prepare_slot(a, err, err_len);
	return rn_fail(err, err_len, -EUSERS,
		       "%d processes use the addresses of %s already, which is all "
		       "that the low 8 bits of a QP number can tell apart",
		       RN_CTL_SLOT_MAX, a->ibdev);
}

int rnd_attach(struct rnd_groups *groups, struct rnd_attachment *a,
	       const struct rn_ctl_attach *msg, char *err, size_t err_len)
{
	struct rnd_attachment new = { .stats_fd = -1,
				      .ifindex = msg->ifindex,
				      .gid_count = msg->gid_count,
				      .wires = msg->wires == 1,
				      .no_icrc = msg->no_icrc == 1,
				      .up = msg->up != 0 };
	int rc = check_request(msg, err, err_len);

	assert(a->slot == 0);
	if (rc)
		return rc;
	rnd_groups_admit(groups);
	memcpy(new.ibdev, msg->ibdev, sizeof(new.ibdev));
	memcpy(new.ifname, msg->ifname, sizeof(new.ifname));
	memcpy(new.gid, msg->gid, sizeof(new.gid));
	rc = get_groups(groups, &new, err, err_len);
	if (rc == 0)
		rc = choose_slot(&new, err, err_len);
	if (rc) {
		leave_groups(&new);
		return rc;
	}
	for (uint32_t i = 0; i < new.gid_count; i++)
		new.group[i]->taken[new.slot] = true;
	new.qpn_counter = draw_counter(groups, new.slot);
	look_at_interface(&new, msg->all_addresses != 0);
	*a = new;
	return 0;
}

void rnd_groups_add(struct rnd_groups *groups, struct rnd_group *group)
{
	add_group(groups, group);
	/* The group has no users yet. Adding and removing one sets the time from which it
	 * counts as being without users.
	 */
	add_user(group);
	remove_user(group);
}

bool rnd_attach_again(struct rnd_groups *groups, struct rnd_attachment *a)
{
	if (a->slot < 1 || a->slot >= RND_SLOT_COUNT || a->gid_count > RN_GID_MAX)
		return false;
	for (uint32_t i = 0; i < a->gid_count; i++) {
		struct rnd_group *g = NULL;

		if (!a->group[i])
			continue;
		g = rnd_group_find(groups, &a->gid[i], scope_of(&a->gid[i], a->ifindex));
		if (!g || a->slot >= g->sock_count || g->taken[a->slot])
			return false;
		a->group[i] = g;
	}
	for (uint32_t i = 0; i < a->gid_count; i++)
		if (a->group[i]) {
			a->group[i]->taken[a->slot] = true;
			add_user(a->group[i]);
		}
	return true;
}

void rnd_detach_gid(struct rnd_attachment *a, unsigned idx)
{
	struct rnd_group *group = a->group[idx];

	if (!group)
		return;
	rnd_group_drain(group, a->slot);
	group->taken[a->slot] = false;
	a->group[idx] = NULL;
	remove_user(group);
}

void rnd_detach(struct rnd_attachment *a)
{
	for (uint32_t i = 0; i < a->gid_count; i++)
		rnd_detach_gid(a, i);
	rnd_abandon(a);
}

void rnd_abandon(struct rnd_attachment *a)
{
	if (a->stats_fd >= 0)
		close(a->stats_fd);
	*a = (struct rnd_attachment){ .stats_fd = -1 };
}

int rnd_attach_gid(struct rnd_groups *groups, struct rnd_attachment *a, unsigned idx,
		   const struct rn_gid *gid)
{
	/* The bind is tried only once: all clients of rocind would have to wait
	 * meanwhile.
	 */
	const struct wanted w = { gid, scope_of(gid, a->ifindex), 0 };
	struct rnd_group *group;
	int rc;

	assert(idx <= a->gid_count && idx < RN_GID_MAX && !a->group[idx]);
	rc = get_group(groups, &w, &group, NULL, 0);
	if (rc)
		return rc;
	rc = group->taken[a->slot] ? -EUSERS : reach_group(group, a->slot);
	if (rc) {
		remove_user(group);
		return rc;
	}
	rnd_group_drain(group, a->slot);
	group->taken[a->slot] = true;
	a->gid[idx] = *gid;
	a->group[idx] = group;
	if (idx == a->gid_count)
		a->gid_count++;
	return 0;
}
