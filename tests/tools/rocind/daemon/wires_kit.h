/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wires_kit.h - processes that ask rocind for local wires; they are one. */
#ifndef WIRES_KIT_H
#define WIRES_KIT_H

#include "tests/tools/rocind/kit/rocind_kit.h"

#include <errno.h>
#include <unistd.h>

/* ---- One process with a device ---- */

struct side {
	struct rn_rocind *r;
	struct rn_attach a;
	struct rn_gid gid;
};

static inline struct side open_at(struct rn_gid gid, bool takes_wires, bool no_icrc)
{
	struct side s = { .r = kit_connect(), .gid = gid };
	struct rn_netdev dev = kit_device(1);
	char why[400] = "";

	dev.gid[0] = s.gid;
	if (takes_wires)
		rn_rocind_take_wires(s.r, no_icrc);
	if (rn_rocind_attach(s.r, &dev, -1, &s.a, why, sizeof(why)))
		fail_msg("%s", why);
	return s;
}

/* Device with address kit_gid(n). */
static inline struct side open_side(unsigned n, bool takes_wires)
{
	return open_at(kit_gid(n), takes_wires, false);
}

static inline void close_side(struct side *s)
{
	kit_close_socks(&s->a);
	rn_rocind_close(s->r);
	s->r = NULL;
}

static inline struct rn_rocind_ends towards(const struct side *from,
					    const struct side *to)
{
	return (struct rn_rocind_ends){ .local = from->gid,
					.peer = to->gid,
					.peer_slot = to->a.slot };
}

static inline void ask(const struct side *from, const struct side *to)
{
	const struct rn_rocind_ends ends = towards(from, to);

	assert_int_equal(rn_rocind_ask_wire(from->r, &ends, false), 0);
}

static inline void ask_again(const struct side *from, const struct side *to)
{
	const struct rn_rocind_ends ends = towards(from, to);

	assert_int_equal(rn_rocind_ask_wire(from->r, &ends, true), 0);
}

static inline void assert_ends(const struct rn_rocind_event *ev, const struct side *local,
			       const struct side *peer)
{
	assert_memory_equal(&ev->ends.local, &local->gid, sizeof(local->gid));
	assert_memory_equal(&ev->ends.peer, &peer->gid, sizeof(peer->gid));
	assert_int_equal(ev->ends.peer_slot, peer->a.slot);
}

static inline struct rn_rocind_wire await_wire(const struct side *at,
					       const struct side *peer)
{
	struct rn_rocind_event ev = kit_event(at->r);

	assert_int_equal(ev.kind, RN_ROCIND_WIRE);
	assert_ends(&ev, at, peer);
	return ev.wire;
}

static inline void await_down(const struct side *at, const struct side *peer, int err)
{
	struct rn_rocind_event ev = kit_event(at->r);

	assert_int_equal(ev.kind, RN_ROCIND_WIRE_DOWN);
	assert_ends(&ev, at, peer);
	assert_int_equal(ev.err, err);
}

static inline void close_wire(const struct rn_rocind_wire *w)
{
	assert_int_equal(close(w->rings), 0);
	assert_int_equal(close(w->peer_page), 0);
	assert_int_equal(close(w->peer_event), 0);
	assert_int_equal(close(w->page), 0);
	assert_int_equal(close(w->event), 0);
}

static inline bool nothing_waits(const struct side *s)
{
	struct rn_rocind_event ev;
	struct rn_rocind_status status;

	/* rocind answers in order: what it had to say has been said by then. */
	assert_int_equal(rn_rocind_status(s->r, &status, NULL, 0), 0);
	return rn_rocind_event(s->r, &ev) == -EAGAIN;
}

#define test(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

#endif /* WIRES_KIT_H */
