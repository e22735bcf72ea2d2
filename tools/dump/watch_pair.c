/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_pair.c - finds the two half-connections that make a connection, and when the
 * connection ends.
 *
 * QP numbers are used again: the next run of a program often gets the same QPNs and PSNs
 * as the run before. A packet names only its destination QP. So if the QP at one side is
 * a new one, a response may answer requests that go to another QP than before. But a
 * response can only answer a request that was sent. If only one half-connection has sent
 * a request with the PSN of the response, that half-connection and the one of the
 * response are certainly a pair. If several have sent that PSN, this code chooses one of
 * them, and for a while reports no broken rules about responses to any of them.
 */
#include <string.h>

#include "watch_internal.h"

/* ---- List of half-connections without a certain peer ---- */

static bool has_answers(const struct rn_watch_flow *f)
{
	return f->half.class == RN_CLASS_RC || f->half.class == RN_CLASS_XRC;
}

static void update_loose_list(struct rn_watch *w, struct rn_watch_flow *f)
{
	bool is_loose = f->has_begun && !f->is_sure && has_answers(f);

	if (is_loose == f->is_loose)
		return;
	f->is_loose = is_loose;
	if (is_loose)
		LIST_INSERT_HEAD(&w->loose, f, loose);
	else
		LIST_REMOVE(f, loose);
}

static struct rn_watch_flow *peer_of(const struct rn_watch *w,
				     const struct rn_watch_flow *f)
{
	return f->peer == RN_WATCH_NONE ? NULL : w->flow[f->peer];
}

/* ---- Making and ending pairs of half-connections ---- */

static void part_halves(struct rn_watch *w, struct rn_watch_flow *f)
{
	f->peer = RN_WATCH_NONE;
	f->half.is_paired = f->is_sure = false;
	update_loose_list(w, f);
}

static void unpair(struct rn_watch *w, struct rn_watch_flow *f)
{
	struct rn_watch_flow *peer = peer_of(w, f);

	if (!peer)
		return;
	part_halves(w, peer);
	part_halves(w, f);
}

static void join_halves(struct rn_watch *w, struct rn_watch_flow *f,
			struct rn_watch_flow *peer)
{
	f->peer = rn_watch_number(w, peer);
	f->half.is_paired = true;
	f->half.peer_qpn = peer->half.qpn;
	f->nak = (struct rn_watch_nak){ 0 };
	f->has_msn = f->has_credits = false;
}

void rn_watch_pair(struct rn_watch *w, struct rn_watch_flow *a, struct rn_watch_flow *b,
		   bool is_sure)
{
	if (peer_of(w, a) != b) {
		unpair(w, a);
		unpair(w, b);
		join_halves(w, a, b);
		join_halves(w, b, a);
	}
	if (!a->is_sure)
		a->paired = b->paired = w->packets;
	a->is_sure = b->is_sure = is_sure;
	a->confirmed = b->confirmed = w->packets;
	update_loose_list(w, a);
	update_loose_list(w, b);
}

void rn_watch_loosen(struct rn_watch *w, struct rn_watch_flow *f)
{
	struct rn_watch_flow *peer = peer_of(w, f);

	f->is_sure = false;
	update_loose_list(w, f);
	if (!peer)
		return;
	peer->is_sure = false;
	update_loose_list(w, peer);
}

void rn_watch_part(struct rn_watch *w, struct rn_watch_flow *f)
{
	struct rn_watch_flow *peer = peer_of(w, f);

	if (peer && f->asked < f->paired) {
		rn_watch_loosen(w, f);
		return;
	}
	if (peer)
		peer->may_restart = true;
	unpair(w, f);
}

void rn_watch_begin(struct rn_watch *w, struct rn_watch_flow *f, struct rn_psn psn)
{
	f->has_begun = true;
	f->knows_message = f->has_msn = f->has_credits = false;
	f->may_restart = f->is_doubted = false;
	f->kind = 0;
	f->head = f->count = f->messages = 0;
	f->nak = (struct rn_watch_nak){ 0 };
	f->depth = RN_WATCH_NO_DEPTH;
	f->half.pmtu = 0;
	f->half.n.credits = RN_CREDITS_UNLIMITED;
	f->first = f->oldest = f->next = f->una = f->resent_to = f->recover =
		f->msn_since = psn;
	f->begun = w->packets;
	update_loose_list(w, f);
}

void rn_watch_doubt(struct rn_watch_flow *f)
{
	if (!f->is_doubted)
		f->doubt_from = f->next;
	f->is_doubted = true;
	f->doubt_to = f->next;
}

/* Makes the state of half-connection @f certain again. Forgets what responses have shown
 * while the state was uncertain. Also drops the records of requests from before
 * @f->doubt_to, because these may belong to another connection.
 */
void rn_watch_believe(struct rn_watch_flow *f)
{
	while (f->count && rn_watch_at(f, 0)->span &&
	       rn_psn_before(rn_watch_at(f, 0)->psn, f->doubt_to)) {
		f->head++;
		f->count--;
	}
	f->is_doubted = f->has_msn = f->has_credits = false;
	f->nak = (struct rn_watch_nak){ 0 };
}

/* ---- Finding the half-connection that a response answers ---- */

/* Returns the PSN after the last request of @f. If that request is a READ that uses an
 * unknown number of PSNs, assumes the largest possible number.
 */
static struct rn_psn sent_to(struct rn_watch_flow *f)
{
	const struct rn_watch_record *r = f->count ? rn_watch_at(f, f->count - 1) : NULL;

	return r && !r->span ? rn_psn_add(r->psn, (r->dma_len - 1) / 256 + 1) : f->next;
}

static bool has_sent(struct rn_watch_flow *f, struct rn_psn psn)
{
	return f->has_begun && !rn_psn_before(psn, f->oldest) &&
	       rn_psn_before(psn, sent_to(f));
}

static bool waits_for(struct rn_watch_flow *f, struct rn_psn psn)
{
	return has_sent(f, psn) && (f->is_doubted || !rn_psn_before(psn, f->una));
}

static bool is_other_way(const struct rn_watch_flow *a, const struct rn_watch_flow *b)
{
	return memcmp(&a->half.src, &b->half.dst, sizeof(a->half.src)) == 0 &&
	       memcmp(&a->half.dst, &b->half.src, sizeof(a->half.dst)) == 0;
}

/* Returns true if @a is more likely than @b to have sent the request that a response with
 * @psn answers. A half-connection that waits for an answer to @psn is the most likely,
 * then one without a peer, then the one that has sent @psn last.
 */
static bool is_likelier(struct rn_watch_flow *a, struct rn_watch_flow *b,
			struct rn_psn psn)
{
	if (waits_for(a, psn) != waits_for(b, psn))
		return waits_for(a, psn);
	if ((a->peer == RN_WATCH_NONE) != (b->peer == RN_WATCH_NONE))
		return a->peer == RN_WATCH_NONE;
	return rn_psn_diff(a->next, psn) < rn_psn_diff(b->next, psn);
}

static bool is_asker(struct rn_watch_flow *g, const struct rn_watch_flow *f,
		     struct rn_psn psn, uint64_t since)
{
	return g->begun > since && is_other_way(g, f) && has_sent(g, psn);
}

/* Looks for half-connections without a certain peer that have begun after packet number
 * @since and have sent @psn. Returns their number, and sets *@best to the likeliest one.
 */
static unsigned find_loose(struct rn_watch *w, const struct rn_watch_flow *f,
			   struct rn_psn psn, uint64_t since, struct rn_watch_flow **best)
{
	struct rn_watch_flow *g;
	unsigned count = 0;

	*best = NULL;
	LIST_FOREACH(g, &w->loose, loose)
	{
		if (!is_asker(g, f, psn, since))
			continue;
		count++;
		if (!*best || is_likelier(g, *best, psn))
			*best = g;
	}
	if (count < 2)
		return count;
	/* The choice may be wrong. So for now, no broken rules are reported about
	 * responses to any of these half-connections.
	 */
	LIST_FOREACH(g, &w->loose, loose)
	if (is_asker(g, f, psn, since))
		rn_watch_doubt(g);
	return count;
}

/* Returns a half-connection that waits for an answer to @psn and whose certain peer is
 * not @f; NULL: there is none.
 */
static struct rn_watch_flow *find_sure(struct rn_watch *w, const struct rn_watch_flow *f,
				       struct rn_psn psn)
{
	for (uint32_t i = 0; i < w->flows; i++) {
		struct rn_watch_flow *g = w->flow[i];

		if (g->is_sure && has_answers(g) && is_other_way(g, f) &&
		    waits_for(g, psn))
			return g;
	}
	return NULL;
}

/* Resolves a contradiction: @g is the certain peer of @f, but a response in @f answers a
 * PSN that @g has never sent. Returns the half-connection to which the response belongs,
 * or NULL.
 */
static struct rn_watch_flow *doubt_peer(struct rn_watch_job *job, struct rn_watch_flow *f,
					struct rn_watch_flow *g)
{
	struct rn_psn psn = job->p->bth.psn;
	struct rn_watch_flow *other = find_sure(job->w, f, psn);

	if (other) {
		rn_watch_loosen(job->w, other);
		rn_watch_loosen(job->w, f);
		return NULL;
	}
	if (rn_psn_diff(psn, g->next) > RN_WATCH_FAR ||
	    rn_psn_diff(psn, g->next) < -RN_WATCH_FAR) {
		unpair(job->w, f);
		return NULL;
	}
	return g;
}

/* Finds the half-connection whose request a response in @f answers. @f has a certain
 * peer, @g. But if another half-connection has sent requests since @g was last answered,
 * the QP of @f may be a new one, and the response may answer that half-connection.
 */
static struct rn_watch_flow *ask_sure(struct rn_watch_job *job, struct rn_watch_flow *f,
				      struct rn_watch_flow *g)
{
	struct rn_psn psn = job->p->bth.psn;
	bool is_sent = has_sent(g, psn);
	struct rn_watch_flow *best;
	unsigned count = find_loose(job->w, f, psn, is_sent ? g->confirmed : 0, &best);

	if (count == 0 && !is_sent)
		return doubt_peer(job, f, g);
	if (count == 0) {
		if (waits_for(g, psn))
			g->confirmed = job->w->packets;
		return g;
	}
	/* The response may be a second one to a request of @g, or the first one to a
	 * request of another half-connection. So no broken rule is reported about it.
	 */
	job->is_muted = is_sent || count > 1;
	if (is_sent &&
	    (waits_for(g, psn) || !waits_for(best, psn) || g->asked > best->begun))
		return g;
	rn_watch_pair(job->w, best, f, !job->is_muted);
	if (job->is_muted)
		rn_watch_doubt(best);
	return best;
}

static struct rn_watch_flow *find_asker(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_watch_flow *g = peer_of(job->w, f), *best;
	struct rn_psn psn = job->p->bth.psn;
	unsigned count;

	if (g && g->is_sure)
		return ask_sure(job, f, g);
	count = find_loose(job->w, f, psn, 0, &best);
	if (count == 0) {
		g = find_sure(job->w, f, psn);
		if (g)
			rn_watch_loosen(job->w, g);
		return NULL;
	}
	job->is_muted = count > 1;
	if (count > 1 && g && has_sent(g, psn))
		return g;
	rn_watch_pair(job->w, best, f, count == 1);
	return best;
}

struct rn_watch_flow *rn_watch_asker(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_watch_flow *g = find_asker(job, f);

	/* After @g had begun, responses were taken for answers to requests of another
	 * half-connection. They may have been answers to requests of @g.
	 */
	if (g && g != f->answered && f->answered_at > g->begun)
		rn_watch_doubt(g);
	f->answered = g;
	f->answered_at = job->w->packets;
	return g;
}
