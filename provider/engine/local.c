/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local.c - local wires of an engine: rocind lays them, the background thread is woken by
 * them.
 */
#include "engine_internal.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/rocind_client.h"

static int ask(void *ctx, const struct rn_rocind_ends *ends, bool lost)
{
	const struct rnp_engine *e = ctx;

	return rn_rocind_ask_wire(e->rocind, ends, lost);
}

static int drop(void *ctx, const struct rn_rocind_ends *ends)
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
				      .ask = ask,
				      .drop = drop,
				      .ctx = e };
	return true;
}

void rnp_local_event(struct rnp_engine *e, const struct rn_rocind_event *ev)
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
