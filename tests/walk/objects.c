/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* objects.c - contexts, channels, PDs, CQs, MRs and AHs are made and destroyed.
 */
#include "walk.h"

#include <fcntl.h>

static struct object *const no_parent[PARENTS];

static void set_nonblocking(int fd)
{
	MUST(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
}

/* ------------------------------------------------------------------------- contexts */
static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	MUST(list && list[0]);
	ctx = ibv_open_device(list[0]);
	MUST(ctx);
	ibv_free_device_list(list);
	set_nonblocking(ctx->async_fd);
	return ctx;
}

void make_context(struct walker *w)
{
	struct object *o;

	(void)w;
	o = begin(CTX, NULL);
	if (!o)
		return;
	o->context = open_device();
	o->ctx = o->context;
	made(o, no_parent);
}

/* ----------------------------------------------------------------- channels and PDs */
void make_channel(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, CTX, NULL) }, *o = NULL;

	if (parent[0])
		o = begin(CHANNEL, parent[0]->ctx);
	if (o) {
		o->channel = ibv_create_comp_channel(o->ctx);
		MUST(o->channel);
		set_nonblocking(o->channel->fd);
		made(o, parent);
	}
	unpin(parent[0]);
}

void make_pd(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, CTX, NULL) }, *o = NULL;

	if (parent[0])
		o = begin(PD, parent[0]->ctx);
	if (o) {
		o->domain = o;
		o->pd = ibv_alloc_pd(o->ctx);
		MUST(o->pd && o->pd->context == o->ctx);
		made(o, parent);
	}
	unpin(parent[0]);
}

/* ----------------------------------------------------------------------------- CQs */
static struct ibv_cq *create_cq(struct object *o, struct ibv_comp_channel *channel,
				int cqe)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = (uint32_t)cqe,
					    .cq_context = o,
					    .channel = channel,
					    .wc_flags = IBV_WC_STANDARD_FLAGS };

	if (!o->extended)
		return ibv_create_cq(o->ctx, cqe, o, channel, 0);
	return (struct ibv_cq *)ibv_create_cq_ex(o->ctx, &attr);
}

void make_cq(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, CTX, NULL) }, *o = NULL;
	int cqe = chance(w, 20) ? 1 + (int)below(w, 8) : 256 + (int)below(w, 1000);

	if (parent[0])
		o = begin(CQ, parent[0]->ctx);
	if (o) {
		if (chance(w, 60))
			parent[1] = pin(w, CHANNEL, o->ctx);
		o->extended = chance(w, 40);
		o->waiting = 0;
		o->may_overflow = false;
		o->cq = create_cq(o, parent[1] ? parent[1]->channel : NULL, cqe);
		MUST(o->cq && o->cq->cqe >= cqe);
		o->cqe = o->cq->cqe;
		made(o, parent);
	}
	unpin(parent[1]);
	unpin(parent[0]);
}

void resize_cq(struct walker *w)
{
	struct object *o = pin(w, CQ, NULL);
	int cqe = 64 + (int)below(w, 2000), rc;

	if (!o)
		return;
	/* EINVAL: more completions wait than would have room. */
	pthread_mutex_lock(&o->poll_lock);
	rc = ibv_resize_cq(o->cq, cqe);
	MAY("ibv_resize_cq", rc, 0, EINVAL);
	MUST(rc || o->cq->cqe >= cqe);
	if (!rc)
		o->cqe = o->cq->cqe;
	pthread_mutex_unlock(&o->poll_lock);
	unpin(o);
}

/* ----------------------------------------------------------------------------- MRs */
static uint8_t pattern(uint32_t i)
{
	return (uint8_t)(i * 37 + 11);
}

void fill_block(uint8_t *block)
{
	for (uint32_t i = 0; i < BLOCK_LEN; i++)
		block[i] = pattern(i);
}

void check_block(const uint8_t *block, uint32_t from, uint32_t to, const char *what)
{
	for (uint32_t i = 0; i < BLOCK_LEN; i++) {
		if (i == from && from < to)
			i = to;
		if (i < BLOCK_LEN && block[i] != pattern(i))
			wrong("%s: byte %u of a block was written, granted is [%u, %u)",
			      what, i, from, to);
	}
}

struct range {
	uint32_t from, len;
	int access;
};

static struct range draw_range(struct walker *w)
{
	static const int access[] = {
		0,
		IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			IBV_ACCESS_MW_BIND,
	};
	struct range r = { .from = below(w, BLOCK_LEN / 4) };

	r.len = BLOCK_LEN / 2 + below(w, BLOCK_LEN / 4);
	if (chance(w, 10))
		r.len = 1 + below(w, 100);
	r.access = access[chance(w, 85) ? 5 : below(w, 5)];
	if (chance(w, 20))
		r.access |= IBV_ACCESS_RELAXED_ORDERING;
	return r;
}

static void grant(struct object *o, const struct range *r)
{
	o->access = r->access;
	if (!(r->access & IBV_ACCESS_LOCAL_WRITE))
		return;
	if (o->from == o->to) {
		o->from = r->from;
		o->to = r->from + r->len;
		return;
	}
	if (r->from < o->from)
		o->from = r->from;
	if (r->from + r->len > o->to)
		o->to = r->from + r->len;
}

void make_mr(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, PD, NULL) }, *o = NULL;
	struct range r = draw_range(w);

	if (parent[0])
		o = begin(MR, parent[0]->ctx);
	if (o) {
		/* Nothing may have come since the last region here was deregistered. */
		check_block(o->block, 0, 0, "deregistered memory");
		o->from = o->to = 0;
		o->maybe_bound = false;
		o->mr = ibv_reg_mr(parent[0]->pd, o->block + r.from, r.len,
				   (unsigned)r.access);
		MUST(o->mr && o->mr->length == r.len);
		o->va = (uintptr_t)o->block + r.from;
		o->on_dm = false;
		o->domain = parent[0]->domain;
		grant(o, &r);
		made(o, parent);
	}
	unpin(parent[0]);
}

void rereg_mr(struct walker *w)
{
	struct object *o = take(w, MR);
	struct range r = draw_range(w);
	int flags = 0, rc;

	if (!o)
		return;
	if (o->on_dm) {
		give_back(o, false);
		return;
	}
	if (chance(w, 60))
		flags |= IBV_REREG_MR_CHANGE_TRANSLATION;
	if (chance(w, 60) || !flags)
		flags |= IBV_REREG_MR_CHANGE_ACCESS;
	if (!(flags & IBV_REREG_MR_CHANGE_TRANSLATION)) {
		r.from = (uint32_t)((uint8_t *)o->mr->addr - o->block);
		r.len = (uint32_t)o->mr->length;
	}
	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		r.access = o->access;
	rc = ibv_rereg_mr(o->mr, flags, NULL,
			  flags & IBV_REREG_MR_CHANGE_TRANSLATION ? o->block + r.from
								  : NULL,
			  r.len, flags & IBV_REREG_MR_CHANGE_ACCESS ? r.access : 0);
	/* EBUSY: windows are bound to it. */
	if (rc == IBV_REREG_MR_ERR_CMD)
		rc = errno;
	MAY("ibv_rereg_mr", rc, 0, o->maybe_bound ? EBUSY : 0);
	if (!rc) {
		o->va = (uintptr_t)o->mr->addr;
		grant(o, &r);
	}
	give_back(o, false);
}

/* ----------------------------------------------------------------------------- AHs */
void make_ah(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, PD, NULL) }, *o = NULL;
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh.dgid = world.gid };

	if (parent[0])
		o = begin(AH, parent[0]->ctx);
	if (o) {
		attr.grh.hop_limit = (uint8_t)(1 + below(w, 255));
		attr.grh.traffic_class = (uint8_t)below(w, 256);
		attr.sl = (uint8_t)below(w, 8);
		o->domain = parent[0]->domain;
		o->multicast = chance(w, 20);
		if (o->multicast)
			attr.grh.dgid = group_gid(below(w, GROUPS));
		if (chance(w, 10)) /* nobody is there */
			attr.grh.dgid.raw[15] ^= 0x40;
		o->ah = ibv_create_ah(parent[0]->pd, &attr);
		MUST(o->ah && o->ah->pd == parent[0]->pd);
		made(o, parent);
	}
	unpin(parent[0]);
}

/* ------------------------------------------------------------------------- the end */
static int destroy_verb(struct object *o)
{
	switch (o->kind) {
	case CTX:
		return ibv_close_device(o->context) ? errno : 0;
	case CHANNEL:
		return ibv_destroy_comp_channel(o->channel);
	case PD:
		return ibv_dealloc_pd(o->pd);
	case CQ:
		return ibv_destroy_cq(o->cq);
	case MR:
		return ibv_dereg_mr(o->mr);
	case AH:
		return ibv_destroy_ah(o->ah);
	case TD:
		return ibv_dealloc_td(o->td);
	case XRCD:
		return ibv_close_xrcd(o->xrcd);
	case DM:
		return ibv_free_dm(o->dm);
	case MW:
		return ibv_dealloc_mw(o->mw);
	case SRQ:
		return ibv_destroy_srq(o->srq);
	case WQ:
		return ibv_destroy_wq(o->wq);
	case TABLE:
		return ibv_destroy_rwq_ind_table(o->table);
	case QP:
	case KINDS:
		break;
	}
	return EINVAL;
}

void destroy(struct object *o)
{
	static const char *const name[KINDS] = {
		[CTX] = "ibv_close_device", [CHANNEL] = "ibv_destroy_comp_channel",
		[TD] = "ibv_dealloc_td",    [PD] = "ibv_dealloc_pd",
		[XRCD] = "ibv_close_xrcd",  [CQ] = "ibv_destroy_cq",
		[DM] = "ibv_free_dm",	    [MR] = "ibv_dereg_mr",
		[MW] = "ibv_dealloc_mw",    [AH] = "ibv_destroy_ah",
		[SRQ] = "ibv_destroy_srq",  [QP] = "ibv_destroy_qp",
		[WQ] = "ibv_destroy_wq",    [TABLE] = "ibv_destroy_rwq_ind_table",
	};
	unsigned children;
	int rc;

	pthread_mutex_lock(&world.lock);
	children = o->children;
	pthread_mutex_unlock(&world.lock);
	if (o->kind == CTX &&
	    children) { /* undefined: the library frees what is in use */
		give_back(o, false);
		return;
	}
	rc = destroy_verb(o);
	if (rc == EBUSY && o->kind == MR && o->maybe_bound) {
		give_back(o, false);
		return;
	}
	if (rc != (children ? EBUSY : 0))
		wrong("%s with %u objects that use it: %d (%s)", name[o->kind], children,
		      rc, strerror(rc));
	if (o->kind == MR) {
		check_block(o->block, o->from, o->to, "a region");
		fill_block(o->block);
	}
	give_back(o, !rc);
}

void kill_one(struct walker *w, enum kind kind)
{
	struct object *o = take(w, kind);

	if (o)
		destroy(o);
}

/* clang-format off */
void kill_context(struct walker *w) { kill_one(w, CTX); }
void kill_channel(struct walker *w) { kill_one(w, CHANNEL); }
void kill_pd(struct walker *w) { kill_one(w, PD); }
void kill_cq(struct walker *w) { kill_one(w, CQ); }
void kill_mr(struct walker *w) { kill_one(w, MR); }
void kill_ah(struct walker *w) { kill_one(w, AH); }
/* clang-format on */
