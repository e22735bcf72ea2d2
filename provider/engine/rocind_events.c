/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_events.c - what rocind says while a device is in use: addresses, link, the local
 * wires that it lays, its end.
 */
#include <infiniband/verbs.h>
#include <unistd.h>

#include "engine_internal.h"
#include "rocin/transport.h"
#include "sim/kernel/sysfs_tree.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/rocind/rocind_client.h"
#include "wire.h"

/* -------------------------------------------------------------------- local wires */
static int ask_for_wire(void *ctx, const struct rn_rocind_ends *ends, bool lost)
{
	const struct rnp_engine *e = ctx;

	return rn_rocind_ask_wire(e->rocind, ends, lost);
}

static int drop_wire(void *ctx, const struct rn_rocind_ends *ends)
{
	const struct rnp_engine *e = ctx;

	return rn_rocind_drop_wire(e->rocind, ends);
}

bool rnp_local_cfg(struct rnp_engine *e, unsigned slot, struct rn_local_cfg *cfg)
{
	if (e->set.local == RNP_LOCAL_OFF || !e->rocind)
		return false;
	*cfg = (struct rn_local_cfg){ .ifindex = e->netdev.ifindex,
				      .slot = slot,
				      .gid = e->gid,
				      .stats = e->stats.page->counter,
				      .ask = ask_for_wire,
				      .drop = drop_wire,
				      .ctx = e };
	return true;
}

/* RN_ROCIND_WIRE or RN_ROCIND_WIRE_DOWN; takes its descriptors. */
static void take_wire(struct rnp_engine *e, const struct rn_rocind_event *ev)
{
	struct rn_local *local = e->wire.local;
	bool is_first;
	int rc;

	if (!local) {
		if (ev->kind == RN_ROCIND_WIRE)
			rn_rocind_close_wire(&ev->wire);
		return;
	}
	if (ev->kind == RN_ROCIND_WIRE_DOWN) {
		rn_local_down(local, &ev->ends, ev->err);
		return;
	}
	is_first = rn_local_event_fd(local) < 0;
	rc = rn_local_up(local, &ev->ends, &ev->wire);
	if (rc)
		rn_log(RN_LOG_INFO, "%s: a local wire cannot be used (errno %d)",
		       e->netdev.ibdev, -rc);
	if (is_first && rn_local_event_fd(local) >= 0)
		rnp_background_add(e, rn_local_event_fd(local), RNP_TAG_LOCAL, true);
	rnp_progress_deadline(e, rnp_engine_now()); /* its memory, if it is not used */
}

/* ------------------------------------------------------------------------- events */
static void tell_owners(struct rnp_engine *e, int ibv_event_type)
{
	for (const struct rnp_owner *o = e->owners; o; o = o->next)
		e->hooks->on_device_event(o->owner, ibv_event_type);
}

/* What changed is to be read from the files before the program hears of it. Processes
 * that share the tree write the same.
 */
static void show(const struct rnp_engine *e)
{
	int rc = e->tree ? rn_sysfs_tree_update(e->tree, &e->netdev, 1) : 0;

	if (rc)
		rn_log(RN_LOG_WARN, "%s: port and GIDs in %s are out of date (errno %d)",
		       e->netdev.ibdev, e->tree, -rc);
}

/* Nobody owns our port any more: the sockets go at once, so that a new rocind can have
 * it; then the program learns that its device is dead. What came before, such as the last
 * acknowledgement of a peer that ended with rocind, has come in time.
 */
static void die(struct rnp_engine *e, bool robbed)
{
	rn_ns now = rnp_engine_now();

	if (robbed)
		rn_log(RN_LOG_ERROR,
		       "the program has closed descriptors of the device; %s is dead",
		       e->netdev.ibdev);
	else
		rn_log(RN_LOG_ERROR, "rocind has ended; %s is dead", e->netdev.ibdev);
	rnp_engine_take_all(e);
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		rnp_background_remove(e, rn_udp_fd(e->wire.udp, i));
	rnp_background_remove(e, rn_udp_groups_fd(e->wire.udp));
	if (e->wire.local)
		rnp_background_remove(e, rn_local_event_fd(e->wire.local));
	rnp_raw_shut(&e->raw);
	rnp_wire_close(&e->wire);
	rnp_tx_batch_drop(&e->batch);
	rnp_background_remove(e, rn_rocind_fd(e->rocind));
	rn_rocind_close(e->rocind);
	e->rocind = NULL;

	atomic_store(&e->dead, true);
	rn_dev_error(e->dev, now);
	rnp_pump_events(e);
	tell_owners(e, IBV_EVENT_DEVICE_FATAL);
}

static void set_gid(struct rnp_engine *e, unsigned idx, const struct rn_gid *gid,
		    int sock)
{
	rnp_background_remove(e, rn_udp_fd(e->wire.udp, idx));
	rnp_engine_limit_socket(e, sock);
	rn_udp_set(e->wire.udp, idx, sock, gid);
	e->gid[idx] = e->netdev.gid[idx] = *gid;
	if (idx >= e->netdev.gid_count)
		e->netdev.gid_count = idx + 1;
	rn_dev_set_gid(e->dev, idx, gid);
	show(e);
}

static void add_gid(struct rnp_engine *e, const struct rn_rocind_event *ev)
{
	if (ev->gid_idx >= RN_GID_MAX) { /* no room in the table */
		if (ev->sock >= 0)
			close(ev->sock);
		return;
	}
	set_gid(e, ev->gid_idx, &ev->gid, ev->sock);
	if (ev->sock >= 0)
		rnp_background_add(e, ev->sock, RNP_TAG_SOCKET,
				   e->policy.turn == RNP_ARMED);
	tell_owners(e, IBV_EVENT_GID_CHANGE);
}

static void remove_gid(struct rnp_engine *e, const struct rn_rocind_event *ev)
{
	static const struct rn_gid none;

	if (ev->gid_idx >= RN_GID_MAX)
		return;
	set_gid(e, ev->gid_idx, &none, -1);
	tell_owners(e, IBV_EVENT_GID_CHANGE);
}

void rnp_set_link(struct rnp_engine *e, bool up)
{
	if (e->netdev.up == up)
		return;
	e->netdev.up = up;
	show(e);
	tell_owners(e, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void rnp_look_at_descriptors(struct rnp_engine *e)
{
	if (!e->rocind || e->closing || rn_own_fd_all_there())
		return;
	die(e, true);
}

void rnp_rocind_events(struct rnp_engine *e)
{
	struct rn_rocind_event ev;

	while (e->rocind && rn_rocind_event(e->rocind, &ev) == 0) {
		switch (ev.kind) {
		case RN_ROCIND_GONE:
			die(e, false);
			break;
		case RN_ROCIND_GID_ADDED:
			add_gid(e, &ev);
			break;
		case RN_ROCIND_GID_REMOVED:
			remove_gid(e, &ev);
			break;
		case RN_ROCIND_FAULTS:
			rnp_fault_live(e, ev.text, ev.generation);
			break;
		case RN_ROCIND_WIRE:
		case RN_ROCIND_WIRE_DOWN:
			take_wire(e, &ev);
			break;
		case RN_ROCIND_TAP:
			rnp_capture_begin(e, &ev.tap);
			break;
		case RN_ROCIND_TAP_END:
			rnp_capture_end(e, &ev.tap);
			break;
		case RN_ROCIND_TAP_SOURCE: /* is for those who capture */
			rn_rocind_close_tap(&ev.tap);
			break;
		case RN_ROCIND_PORT_UP:
			rnp_fault_link(e, true);
			break;
		case RN_ROCIND_PORT_DOWN:
			rnp_fault_link(e, false);
			break;
		}
	}
}
