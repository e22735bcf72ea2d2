/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* window.c - memory windows, and regions that programs register and deregister.
 *
 * Each QP of an RC pair has a window of type 2, a window of type 1 and a region. Each of
 * the three opens one slot to the peer, for WRITEs or for READs, until the owner or the
 * peer invalidates its key. From then on no access may reach the slot. A region, unlike a
 * window, may be deregistered while requests that use it are in progress; these requests
 * may then fail.
 */
#include "world_internal.h"

enum {
	PD = 1,
	INDEX = 0x100, /* index part of the first key, in bits 8 and up */
};

static const char *const kind_names[] = { "window of type 2", "window of type 1",
					  "region" };

static_assert(RN_ARRAY_SIZE(kind_names) == RN_W_KEYS, "each has a name");

static uint32_t next_key(struct rn_w_end *e, unsigned kind)
{
	uint32_t number = (uint32_t)(e->pair - e->pair->w->pair) * 2 + e->number;

	return (INDEX + RN_W_KEYS * number + kind) << RN_KEY_INDEX_SHIFT |
	       (++e->key[kind].count & 0xff);
}

void rn_w_keys_create(struct rn_w_end *e)
{
	struct rn_w_device *d = &e->pair->w->device[e->dev];

	if (rn_w_type(e) != RN_QPT_RC)
		return;
	for (unsigned k = 0; k < RN_W_KEYS; k++) {
		struct rn_w_key *key = &e->key[k];

		key->state = RN_W_UNBOUND;
		key->slot = RN_W_NONE;
		key->uses = key->len = key->fuse = 0;
		key->key = key->old = next_key(e, k);
		if (k == RN_W_REGION)
			continue;
		rn_mw_init(&key->mr, k == RN_W_MW2 ? RN_MR_KIND_MW2 : RN_MR_KIND_MW1,
			   key->key, PD);
		rn_dev_add_mr(d->dev, &key->mr);
	}
}

void rn_w_keys_destroy(struct rn_w_end *e)
{
	struct rn_w_device *d = &e->pair->w->device[e->dev];

	if (rn_w_type(e) != RN_QPT_RC)
		return;
	for (unsigned k = 0; k < RN_W_KEYS; k++)
		if (k != RN_W_REGION || e->key[k].state == RN_W_BOUND)
			rn_dev_remove_mr(d->dev, &e->key[k].mr);
}

/* ----------------------------------------------- opening and closing of slots */
static void open_up(struct rn_w_end *e, unsigned kind, uint32_t slot, uint32_t value)
{
	struct rn_w_key *key = &e->key[kind];
	const struct rn_w_slot *s = &e->pair->w->device[e->dev].slot[slot];

	key->slot = slot;
	key->old = key->key;
	key->key = value;
	key->len = s->len;
	key->reads = s->use == RN_W_FETCHED;
	key->address = rn_w_slot_address(&e->pair->w->device[e->dev], slot);
}

/* Closes a slot to all accesses. It becomes free when no request is left that will
 * compare its content.
 */
static void end_slot(struct rn_w_end *e, uint32_t slot)
{
	struct rn_w_device *d = &e->pair->w->device[e->dev];

	if (slot == RN_W_NONE)
		return;
	d->slot[slot].use = RN_W_ENDED;
	rn_w_slot_release(d, slot, 0);
}

static void end_key(struct rn_w_end *e, unsigned kind)
{
	struct rn_w_key *key = &e->key[kind];

	key->state = RN_W_UNBOUND;
	end_slot(e, key->slot);
	key->slot = RN_W_NONE;
}

static uint32_t take_slot(struct rn_w_end *e, struct rn_random *r)
{
	struct rn_w_device *d = &e->pair->w->device[e->dev];
	uint32_t len = 1 + rn_random_below(r, 4 * e->pair->plan->mtu);
	enum rn_w_use use = rn_random_below(r, 2) ? RN_W_TARGET : RN_W_FETCHED;
	uint32_t slot = rn_w_slot_take(d, use, e->qpn, len, rn_random_next(r));

	if (slot != RN_W_NONE)
		d->slot[slot].budget = 0;
	return slot;
}

static uint32_t remote_access(const struct rn_w_key *key)
{
	return key->reads ? RN_ACCESS_REMOTE_READ : RN_ACCESS_REMOTE_WRITE;
}

static void register_region(struct rn_world *w, struct rn_w_end *e, struct rn_random *r)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_w_key *key = &e->key[RN_W_REGION];
	uint32_t slot = take_slot(e, r);
	struct rn_mr_attr attr = { .pd = PD };
	int rc;

	if (slot == RN_W_NONE)
		return;
	open_up(e, RN_W_REGION, slot, next_key(e, RN_W_REGION));
	attr.key = key->key;
	attr.va = attr.iova_base = key->address;
	attr.length = key->len;
	attr.access = remote_access(key) | RN_ACCESS_LOCAL_WRITE;
	rc = rn_mr_init(&key->mr, &attr);
	assert(rc == 0);
	rn_dev_add_mr(d->dev, &key->mr);
	key->state = RN_W_BOUND;
	rn_w_say(w, "QP %x registers %u bytes as %x", e->qpn, key->len, key->key);
}

static void deregister_region(struct rn_world *w, struct rn_w_end *e)
{
	rn_w_say(w, "QP %x deregisters %x", e->qpn, e->key[RN_W_REGION].key);
	rn_dev_remove_mr(w->device[e->dev].dev, &e->key[RN_W_REGION].mr);
	if (e->key[RN_W_REGION].uses) {
		e->peer->bad_posted = true;
		/* The peer's READs of this region that are sent again from now on get no
		 * answer, but later requests do.
		 */
		rn_w_account_lost(e->peer, RN_W_UNANSWERED);
	}
	end_key(e, RN_W_REGION);
}

static void post_key_request(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
			     const struct rn_send_wr *send)
{
	struct rn_w_device *d = &w->device[e->dev];

	e->sq.tail++;
	rn_w_say(w, "QP %x posts %llu: %s %x, the %s%s", e->qpn,
		 (unsigned long long)wr->id,
		 wr->opcode == RN_WR_BIND_MW ? "bind" : "invalidate", wr->rkey,
		 kind_names[wr->key - 1], wr->bad ? ", which cannot be" : "");
	if (rn_qp_post_send(d->dev, e->qp, rn_w_local(d), send))
		rn_w_fail(w, "QP %x does not take a request", e->qpn);
}

static struct rn_w_wr *new_key_request(struct rn_world *w, struct rn_w_end *e,
				       unsigned kind, enum rn_wr_opcode opcode,
				       struct rn_random *r)
{
	struct rn_w_wr *wr = rn_w_new_wr(w, &e->sq, 0, e);

	wr->opcode = opcode;
	wr->key = (uint8_t)(kind + 1);
	wr->signaled = rn_random_below(r, 4) || e->sq.tail - e->sq.head > RN_W_WRS / 2;
	wr->bad = w->plan.rough && !rn_random_below(r, 24);
	return wr;
}

static uint32_t flags_of(const struct rn_w_wr *wr, struct rn_random *r)
{
	return (wr->signaled ? RN_SEND_SIGNALED : 0) |
	       (rn_random_below(r, 4) ? 0 : RN_SEND_FENCE);
}

/* Binds a window; or binds a window of type 1, which is bound already, to other memory.
 */
static void bind(struct rn_world *w, struct rn_w_end *e, unsigned kind,
		 struct rn_random *r)
{
	struct rn_w_key *key = &e->key[kind];
	uint32_t slot = take_slot(e, r);
	struct rn_w_wr *wr;
	struct rn_send_wr send = { .opcode = RN_WR_BIND_MW };

	if (slot == RN_W_NONE)
		return;
	wr = new_key_request(w, e, kind, RN_WR_BIND_MW, r);
	/* the present slot of the window, which stays open until the bind is done */
	wr->remote_slot = key->slot;
	open_up(e, kind, slot, next_key(e, kind));
	key->state = RN_W_CHANGING;
	key->zero_based = kind == RN_W_MW2 && rn_random_below(r, 2);
	wr->rkey = key->key;
	send.wr_id = wr->id;
	send.flags = flags_of(wr, r);
	send.rkey = key->key;
	send.remote_addr = key->address;
	send.bind_length = wr->bad ? sizeof(w->device[0].memory) : key->len;
	send.bind_region = w->device[e->dev].mr.lkey;
	send.bind_access =
		remote_access(key) | (key->zero_based ? RN_ACCESS_ZERO_BASED : 0);
	post_key_request(w, e, wr, &send);
}

static void unbind(struct rn_world *w, struct rn_w_end *e, unsigned kind,
		   struct rn_random *r)
{
	struct rn_w_key *key = &e->key[kind];
	enum rn_wr_opcode opcode = kind == RN_W_MW2 ? RN_WR_LOCAL_INV : RN_WR_BIND_MW;
	struct rn_w_wr *wr = new_key_request(w, e, kind, opcode, r);
	struct rn_send_wr send = { .opcode = opcode };

	key->state = RN_W_CHANGING;
	if (opcode == RN_WR_LOCAL_INV) {
		/* A request that is to be refused (wr->bad) names the window of type 1,
		 * which cannot be invalidated.
		 */
		wr->rkey = e->key[wr->bad ? RN_W_MW1 : RN_W_MW2].key;
		send.imm = wr->rkey;
	} else {
		wr->bad = false;
		wr->rkey = next_key(e, kind);
		send.rkey = wr->rkey;
	}
	wr->ends_key = true;
	send.wr_id = wr->id;
	send.flags = flags_of(wr, r);
	post_key_request(w, e, wr, &send);
}

static void change_key(struct rn_world *w, struct rn_w_end *e, unsigned kind,
		       struct rn_random *r)
{
	struct rn_w_key *key = &e->key[kind];
	/* A correct program changes a key only when the peer does not use it any more. */
	bool early = w->plan.rough && kind == RN_W_REGION;

	if (key->state == RN_W_CHANGING || e->sq.tail - e->sq.head == RN_W_WRS)
		return;
	if (key->state == RN_W_BOUND && key->uses && !early)
		return;
	if (kind == RN_W_REGION && key->state == RN_W_BOUND && w->plan.rough)
		key->fuse = 1 + rn_random_below(r, 16);
	else if (kind == RN_W_REGION && key->state == RN_W_BOUND)
		deregister_region(w, e);
	else if (kind == RN_W_REGION)
		register_region(w, e, r);
	else if (key->state == RN_W_UNBOUND ||
		 (kind == RN_W_MW1 && rn_random_below(r, 2)))
		bind(w, e, kind, r);
	else
		unbind(w, e, kind, r);
}

void rn_w_key_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r)
{
	if (rn_w_type(e) != RN_QPT_RC || !e->alive)
		return;
	for (unsigned k = 0; k < RN_W_KEYS; k++)
		if (rn_random_below(r, 3))
			change_key(w, e, k, r);
}

void rn_w_key_tick(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_key *key = &e->key[RN_W_REGION];

	if (key->fuse && --key->fuse == 0 && key->state == RN_W_BOUND)
		deregister_region(w, e);
}

/* Updates the key after a BIND_MW or LOCAL_INV request of @e has succeeded. */
void rn_w_key_changed(struct rn_world *w, struct rn_w_end *e, const struct rn_w_wr *wr)
{
	struct rn_w_key *key = &e->key[wr->key - 1];

	if (key->mr.valid == wr->ends_key)
		rn_w_fail(w, "%llu of QP %x succeeds, and key %x is as before",
			  (unsigned long long)wr->id, e->qpn, wr->rkey);
	if (wr->ends_key)
		end_key(e, wr->key - 1u);
	else
		key->state = RN_W_BOUND;
	end_slot(e, wr->remote_slot);
}

/* ---- Requests that use the peer's keys ---- */
/* Makes @wr wrong: gives it an old key, or makes it an operation or a length that the
 * key does not allow.
 */
static void make_invalid(const struct rn_w_key *key, struct rn_w_wr *wr,
			 struct rn_random *r)
{
	bool fits =
		key->state == RN_W_BOUND && key->reads == (wr->opcode == RN_WR_RDMA_READ);
	bool old = key->state == RN_W_BOUND && rn_random_below(r, 2);

	wr->bad = true;
	wr->rkey = old ? key->old : key->key;
	wr->len = key->len + (fits && !old);
	wr->address = key->zero_based ? 0 : key->address;
}

static bool is_careless(const struct rn_world *w, const struct rn_w_key *key,
			struct rn_random *r)
{
	return w->plan.rough && !rn_random_below(r, key->state == RN_W_BOUND ? 24 : 6);
}

void rn_w_key_use(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		  struct rn_random *r)
{
	unsigned kind = rn_random_below(r, RN_W_KEYS);
	struct rn_w_key *key = &e->peer->key[kind];
	bool reads = wr->opcode == RN_WR_RDMA_READ;

	if (rn_w_type(e) != RN_QPT_RC || key->state == RN_W_CHANGING || !key->len)
		return;
	if (wr->opcode == RN_WR_SEND && kind == RN_W_MW2 && key->state == RN_W_BOUND) {
		wr->opcode = RN_WR_SEND_WITH_INV;
		wr->imm = key->key;
		wr->key = (uint8_t)(kind + 1);
		wr->fence = key->reads;
		return;
	}
	if (wr->opcode != RN_WR_RDMA_WRITE && !reads &&
	    wr->opcode != RN_WR_RDMA_WRITE_WITH_IMM)
		return;
	if (is_careless(w, key, r)) {
		make_invalid(key, wr, r);
		e->bad_posted = true;
		return;
	}
	if (key->state != RN_W_BOUND || key->reads != reads)
		return;
	wr->key = (uint8_t)(kind + 1);
	wr->rkey = key->key;
	wr->len = rn_random_below(r, 2) ? key->len : 1 + rn_random_below(r, key->len);
	wr->pattern = w->device[e->peer->dev].slot[key->slot].pattern;
	wr->remote_slot = key->slot;
	wr->address = key->zero_based ? 0 : key->address;
}

void rn_w_key_gather(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		     struct rn_random *r)
{
	struct rn_w_key *key = &e->key[RN_W_REGION];
	bool gathers = wr->opcode == RN_WR_SEND || wr->opcode == RN_WR_SEND_WITH_IMM ||
		       wr->opcode == RN_WR_RDMA_WRITE ||
		       wr->opcode == RN_WR_RDMA_WRITE_WITH_IMM;

	if (rn_w_type(e) != RN_QPT_RC || key->state != RN_W_BOUND || !key->reads ||
	    !gathers || wr->rkey || rn_random_below(r, 3))
		return;
	wr->lkey = key->key;
	wr->local_address = key->address;
	wr->len = rn_random_below(r, 2) ? key->len : 1 + rn_random_below(r, key->len);
	wr->pattern = w->device[e->dev].slot[key->slot].pattern;
}

bool rn_w_key_is_gone_here(const struct rn_w_end *e, const struct rn_w_wr *wr)
{
	const struct rn_w_key *key = &e->key[RN_W_REGION];

	return wr->lkey && (key->state != RN_W_BOUND || key->key != wr->lkey);
}

/* Counts a request that uses the region. In a rough plan (rn_plan.rough), may also
 * decide that the region is deregistered a few packets later, while it is in use.
 */
static void plan_deregistration(const struct rn_world *w, struct rn_w_key *region,
				const struct rn_w_wr *wr)
{
	region->uses++;
	if (w->plan.rough && !region->fuse && wr->imm % 4 == 0)
		region->fuse = 1 + wr->imm / 4 % 8;
}

/* Called when @wr is about to be posted: counts it as a user of the keys that it names.
 */
void rn_w_key_used(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr)
{
	struct rn_w_key *key;
	struct rn_w_slot *s;

	if (wr->lkey)
		plan_deregistration(w, &e->key[RN_W_REGION], wr);
	if (!wr->key)
		return;
	key = &e->peer->key[wr->key - 1];
	if (wr->opcode == RN_WR_SEND_WITH_INV) {
		key->state = RN_W_CHANGING;
		return;
	}
	s = &w->device[e->peer->dev].slot[wr->remote_slot];
	if (wr->key == RN_W_REGION + 1)
		plan_deregistration(w, key, wr);
	else
		key->uses++;
	s->users++;
	s->budget += wr->len;
}

/* Called when @wr has completed: it no longer uses the keys that it names. */
void rn_w_key_done(struct rn_world *w, struct rn_w_end *e, const struct rn_w_wr *wr)
{
	if (wr->lkey)
		e->key[RN_W_REGION].uses--;
	if (!wr->key || wr->opcode == RN_WR_SEND_WITH_INV)
		return;
	e->peer->key[wr->key - 1].uses--;
	rn_w_slot_release(&w->device[e->peer->dev], wr->remote_slot, 1);
}

/* Returns true if the key of the peer that @wr uses has been invalidated since @wr was
 * posted.
 */
bool rn_w_key_is_gone(const struct rn_w_end *e, const struct rn_w_wr *wr)
{
	const struct rn_w_key *key;

	if (wr->key != RN_W_REGION + 1)
		return false;
	key = &e->peer->key[RN_W_REGION];
	return key->state != RN_W_BOUND || key->key != wr->rkey;
}

/* Called when a SEND with Invalidate of the peer has arrived at @e. Checks that it has
 * invalidated a window of @e.
 */
void rn_w_key_invalidated(struct rn_world *w, struct rn_w_end *e,
			  const struct rn_w_wr *sent, const struct rn_cqe *cqe)
{
	const struct rn_w_key *key = &e->key[RN_W_MW2];

	if (!(cqe->ctl >> 16 & RN_WC_WITH_INV) || cqe->imm != sent->imm || key->mr.valid)
		rn_w_fail(w, "QP %x receives %llu, and key %x has not ended", e->qpn,
			  (unsigned long long)sent->id, sent->imm);
	end_key(e, RN_W_MW2);
}
