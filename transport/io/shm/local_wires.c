/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_wires.c - sets up and removes local wires (shared-memory links between two
 * processes of this machine), and keeps the table of destinations that have one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "local_internal.h"
#include "rocin/hash.h"
#include "rocin/wire.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/rocind/ctl_socket.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

/* A local wire (a link by shared memory) that rocind has refused is requested again
 * after this time: after ASK_SOON if the peer may just not have attached to rocind yet,
 * otherwise after ASK_LATER.
 */
#define ASK_SOON RN_MSEC(1000)
#define ASK_LATER RN_MSEC(10000)

/* A local wire (a link by shared memory) that was lost is requested again after
 * ASK_SOON; if it is lost again, after 2, 4 ... times that, up to 2^LOSSES_MAX times.
 */
#define LOSSES_MAX 6

/* At most ASKS_MAX requests are sent to rocind in ASKS_PER, so that a process with very
 * many destinations does not overload it.
 */
#define ASKS_MAX 16
#define ASKS_PER RN_MSEC(100)

/* -------------------------------------------------------- table of destinations */
static bool same_ends(const struct rn_rocind_ends *a, const struct rn_rocind_ends *b)
{
	return a->peer_slot == b->peer_slot && rn_local_same_gid(&a->peer, &b->peer) &&
	       rn_local_same_gid(&a->local, &b->local);
}

static struct local_path *place_of(struct rn_local *l, const struct rn_rocind_ends *ends)
{
	uint64_t h = rn_get_be64(ends->peer.raw) ^ rn_get_be64(ends->peer.raw + 8) ^
		     rn_get_be64(ends->local.raw + 8) * 3 ^
		     (uint64_t)ends->peer_slot << 40;

	return &l->path[rn_hash_word(h) >> 32 & (LOCAL_PATHS - 1)];
}

static struct local_wire *find_wire(const struct rn_local *l,
				    const struct rn_rocind_ends *ends)
{
	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX; i++)
		if (l->wire[i] && !l->wire[i]->is_closing &&
		    same_ends(&l->wire[i]->ends, ends))
			return l->wire[i];
	return NULL;
}

static bool is_own_gid(const struct rn_local *l, const struct rn_gid *gid)
{
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		if (rn_local_same_gid(&l->cfg.gid[i], gid))
			return true;
	return false;
}

/* Return: true if there can be a local wire (a link by shared memory) to this
 * destination: it is not a multicast group, not rocind itself (slot 0), and not this
 * process.
 */
static bool is_eligible(const struct rn_local *l, const struct rn_rocind_ends *ends)
{
	if (rn_gid_is_multicast(&ends->peer) || ends->peer_slot == 0)
		return false;
	return ends->peer_slot != l->cfg.slot || !is_own_gid(l, &ends->peer);
}

static void ask_for_wire(struct rn_local *l, struct local_path *path)
{
	rn_ns now = rn_local_now();

	if (now < path->ask_at)
		return;
	if (now - l->asks_since >= ASKS_PER) {
		l->asks_since = now;
		l->asks = 0;
	}
	if (l->asks >= ASKS_MAX)
		return;
	l->asks++;
	if (l->cfg.ask(l->cfg.ctx, &path->ends, path->lost) == -EAGAIN) {
		path->ask_at = now + ASK_SOON;
		return;
	}
	if (path->lost) {
		rn_local_count(l, RN_STAT_LOCAL_RENEWED, 1);
		if (path->losses < LOSSES_MAX)
			path->losses++;
	}
	/* rn_local_down() sets another time if rocind refuses. The time set here is used
	 * if no answer comes, because rocind believes that the local wire exists.
	 */
	path->ask_at = now + ASK_LATER + (ASK_SOON << path->losses);
	path->lost = true;
}

struct local_path *rn_local_look_up(struct rn_local *l, const struct rn_flow *flow,
				    unsigned slot)
{
	const struct rn_rocind_ends ends = { .local = flow->src,
					     .peer = flow->dst,
					     .peer_slot = slot };
	struct local_path *path = place_of(l, &ends);

	if (!path->is_used || !same_ends(&path->ends, &ends)) {
		*path = (struct local_path){ .is_used = true,
					     .ends = ends,
					     .wire = find_wire(l, &ends) };
		if (!is_eligible(l, &ends))
			path->ask_at = RN_NEVER;
	}
	if (!path->wire && path->ask_at != RN_NEVER)
		ask_for_wire(l, path);
	return path;
}

/* Return: the entry of this destination; NULL if it is not in the table any more. */
static struct local_path *known_path(struct rn_local *l,
				     const struct rn_rocind_ends *ends)
{
	struct local_path *path = place_of(l, ends);

	return path->is_used && same_ends(&path->ends, ends) ? path : NULL;
}

/* ---------------------------------------------------------- setting up a local wire */
/* Map shared memory. A fork() child does not inherit the mapping (MADV_DONTFORK), because
 * the peer acts on what is written there.
 */
static void *map_shared(int fd, size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return NULL;
	madvise(mem, len, MADV_DONTFORK);
	return mem;
}

/* Map the doorbell of this process, when the first local wire is made. rocind sends the
 * same doorbell with each later wire, which needs no mapping. Return: 0 or -errno.
 */
static int open_doorbell(struct rn_local *l, const struct rn_rocind_wire *wire)
{
	if (l->page)
		return 0;
	l->page = map_shared(wire->page, RN_DOORBELL_BYTES);
	if (!l->page)
		return -errno;
	l->event_fd = dup(wire->event);
	if (l->event_fd >= 0)
		l->event_fd = rn_own_fd_keep(rn_fd_raise(l->event_fd));
	if (l->event_fd >= 0)
		return 0;
	munmap(l->page, RN_DOORBELL_BYTES);
	l->page = NULL;
	return -EMFILE;
}

/* Return: true if the descriptor number @fd may be used for a local wire (rings in
 * shared memory); false if it is in the last quarter of the numbers that the process may
 * have. These are left to the program, because packets can also go by UDP.
 */
static bool is_spare(int fd)
{
	struct rlimit most;

	return getrlimit(RLIMIT_NOFILE, &most) ||
	       (rlim_t)fd < most.rlim_cur - most.rlim_cur / 4;
}

static void free_wire(struct local_wire *w)
{
	if (w->memory)
		munmap(w->memory, RN_WIRE_BYTES);
	if (w->peer_page)
		munmap(w->peer_page, RN_DOORBELL_BYTES);
	if (w->peer_event >= 0)
		rn_fd_close(w->peer_event);
	free(w);
}

/* Map the memory of @wire and set up both rings in @w. Return: 0 or -errno. On failure
 * the caller frees @w.
 */
static int open_wire(struct local_wire *w, const struct rn_rocind_wire *wire)
{
	size_t own = (size_t)wire->role * RN_WIRE_RING_BYTES;
	size_t peers = RN_WIRE_RING_BYTES - own;

	w->memory = map_shared(wire->rings, RN_WIRE_BYTES);
	w->peer_page = map_shared(wire->peer_page, RN_DOORBELL_BYTES);
	if (!w->memory || !w->peer_page)
		return -ENOMEM;
	if (rn_ring_send_init(&w->send, w->memory + own, RN_WIRE_CAPACITY) ||
	    rn_ring_recv_init(&w->recv, w->memory + peers, RN_WIRE_CAPACITY))
		return -EBADMSG;
	w->peer_event = dup(wire->peer_event);
	if (w->peer_event >= 0)
		w->peer_event = rn_own_fd_keep(rn_fd_raise(w->peer_event));
	return w->peer_event < 0 || !is_spare(w->peer_event) ? -EMFILE : 0;
}

static struct local_wire *make_wire(struct rn_local *l, const struct rn_rocind_ends *ends,
				    const struct rn_rocind_wire *wire)
{
	struct local_wire *w = calloc(1, sizeof(*w));
	int rc = w ? open_doorbell(l, wire) : -ENOMEM;

	if (!w)
		return NULL;
	w->ends = *ends;
	w->bit = wire->bit;
	w->peer_bit = wire->peer_bit;
	w->peer_event = -1;
	w->may_omit_icrc = wire->no_icrc;
	w->is_fresh = true;
	w->want = RN_RING_SIZE_MIN;
	if (!rc)
		rc = open_wire(w, wire);
	if (!rc)
		return w;
	free_wire(w);
	errno = -rc;
	return NULL;
}

/* Called when a ring has got memory that it may not need for long: schedules a call of
 * rn_local_trim().
 */
static void look_again(struct rn_local *l)
{
	rn_ns at = rn_local_now() + RN_LOCAL_IDLE;

	if (at < l->trim_at)
		l->trim_at = at;
}

int rn_local_up(struct rn_local *l, const struct rn_rocind_ends *ends,
		const struct rn_rocind_wire *wire)
{
	struct local_wire *old = l->wire[wire->bit];
	struct local_path *path = known_path(l, ends);
	struct local_wire *w;
	int rc = 0;

	/* The peer of the old local wire has gone. What was not read from the old ring
	 * is lost.
	 */
	if (old)
		rn_local_remove(l, old);
	w = make_wire(l, ends, wire);
	if (!w) {
		rc = -errno;
		l->cfg.drop(l->cfg.ctx, ends);
	}
	rn_rocind_close_wire(wire);
	if (path) {
		path->wire = w;
		path->lost = false;
	}
	if (path && !w)
		path->ask_at = RN_NEVER;
	if (!w)
		return rc;
	l->wire[w->bit] = w;
	l->ready[w->bit / 64] |= UINT64_C(1) << w->bit % 64;
	l->present[w->bit / 64] |= UINT64_C(1) << w->bit % 64;
	l->wires++;
	l->fresh++;
	look_again(l);
	return 0;
}

/* ------------------------------------------------------------ removing a local wire */
static void forget_wire(struct rn_local *l, const struct local_wire *w, rn_ns ask_at)
{
	struct local_path *path = known_path(l, &w->ends);

	if (!path || path->wire != w)
		return;
	path->wire = NULL;
	path->ask_at = ask_at;
}

void rn_local_lose(struct rn_local *l, const struct local_wire *w)
{
	struct local_path *path = known_path(l, &w->ends);

	if (!path || path->wire != w)
		return;
	forget_wire(l, w, rn_local_now() + (ASK_SOON << path->losses));
	path->lost = true;
}

void rn_local_remove(struct rn_local *l, struct local_wire *w)
{
	forget_wire(l, w, 0);
	if (l->place == w)
		l->place = NULL;
	l->wire[w->bit] = NULL;
	l->ready[w->bit / 64] &= ~(UINT64_C(1) << w->bit % 64);
	l->present[w->bit / 64] &= ~(UINT64_C(1) << w->bit % 64);
	l->wires--;
	if (w->is_fresh)
		l->fresh--;
	free_wire(w);
}

void rn_local_peer_gone(struct rn_local *l, struct local_wire *w)
{
	if (!rn_ring_waits(&w->recv)) {
		rn_local_remove(l, w);
		return;
	}
	forget_wire(l, w, 0);
	w->is_closing = true;
	l->ready[w->bit / 64] |= UINT64_C(1) << w->bit % 64;
}

void rn_local_break(struct rn_local *l, struct local_wire *w, const char *why)
{
	uint64_t *n = &l->cfg.stats[RN_STAT_LOCAL_SPOILT];

	rn_log(RN_LOG_WARN, "a local wire is given up: %s", why);
	__atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
	l->cfg.drop(l->cfg.ctx, &w->ends);
	forget_wire(l, w, RN_NEVER);
	rn_local_remove(l, w);
}

static rn_ns when_to_ask_again(int err)
{
	switch (err) {
	case 0: /* the peer has gone; another process may get its slot later */
	case EHOSTUNREACH:
		return rn_local_now() + ASK_SOON;
	case EPIPE:
		return RN_NEVER;
	default:
		return rn_local_now() + ASK_LATER;
	}
}

void rn_local_down(struct rn_local *l, const struct rn_rocind_ends *ends, int err)
{
	struct local_wire *w = find_wire(l, ends);
	struct local_path *path = known_path(l, ends);

	if (path) {
		path->wire = NULL;
		path->lost = false;
		path->ask_at = when_to_ask_again(err);
	}
	if (w && err == 0)
		rn_local_peer_gone(l, w);
	else if (w)
		rn_local_remove(l, w);
}

void rn_local_close(struct local_wire *w)
{
	rn_ring_send_close(&w->send);
	rn_ring_recv_close(&w->recv);
	free_wire(w);
}

void rn_local_close_doorbell(struct rn_local *l)
{
	munmap(l->page, RN_DOORBELL_BYTES);
	rn_fd_close(l->event_fd);
	l->page = NULL;
	l->event_fd = -1;
}

/* --------------------------------------------------------- memory of the rings */
/* Allocate the pages of a ring now. Return: false if that failed. The caller must not
 * access the pages then, because an access would raise SIGBUS. Kernels before 5.14,
 * which do not know MADV_POPULATE_WRITE, allocate a page when it is accessed; this
 * returns true there.
 */
static bool populate_memory(uint8_t *at, size_t len)
{
	return madvise(at, len, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

void rn_local_fit(struct local_wire *w, rn_ns now)
{
	uint32_t size = rn_ring_advice(&w->send, now), old = w->send.size;

	if (size <= old || size <= w->want)
		return;
	if (populate_memory(w->send.data + old, size - old))
		w->want = size;
}

void rn_local_resize(struct local_wire *w)
{
	/* If this fails, the ring keeps its size, and the next packet tries again. */
	(void)rn_ring_resize(&w->send, w->want);
}

/* Give back the memory of a sending ring if the peer has read all of it. Neither end
 * needs the data any more, so the peer is not told, and need not wake up.
 */
static void give_back(struct local_wire *w)
{
	if (rn_ring_is_read(&w->send) && !w->send.fault)
		w->is_away = madvise(w->send.data, RN_WIRE_CAPACITY, MADV_REMOVE) == 0;
}

rn_ns rn_local_trim_due(const struct rn_local *l)
{
	return l->trim_at;
}

void rn_local_trim(struct rn_local *l)
{
	bool all_away = true;

	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX; i++) {
		struct local_wire *w = l->wire[i];

		if (!w || w->is_away)
			continue;
		if (w->send.tail == w->trim_tail)
			give_back(w);
		w->trim_tail = w->send.tail;
		all_away = all_away && w->is_away;
	}
	l->trim_at = RN_NEVER;
	if (!all_away)
		look_again(l);
}

bool rn_local_fetch(struct rn_local *l, struct local_wire *w)
{
	/* the record that makes the ring small will be written in this page */
	uint8_t *next = w->send.data + (w->send.off & ~(RN_RING_CONTROL - 1u));

	if (!populate_memory(w->send.data, RN_RING_SIZE_MIN) ||
	    !populate_memory(next, RN_RING_CONTROL))
		return false;
	w->want = RN_RING_SIZE_MIN;
	w->is_away = false;
	look_again(l);
	return true;
}
