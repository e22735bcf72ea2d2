/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr.c - the ibv_wr_*() way of posting: requests are built by calls, then posted at once.
 *
 * From ibv_wr_start() to ibv_wr_complete() the requests gather here, with the bytes of
 * inline data, under a lock of the QP: the engine is not held up by a program that takes
 * its time. ibv_wr_complete() posts all or, if any cannot be posted, none.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "send_wr.h"
#include "watch.h"
#include "wr.h"

struct entry {
	struct rn_send_wr wr;
	struct rn_av av;
	size_t sge_at;	     /* first of wr.num_sge in list.sges */
	size_t inline_at;    /* with RN_SEND_INLINE: first byte in list.bytes */
	uint32_t inline_len; /* bytes */
};

struct array {
	void *item;
	size_t count, room; /* items */
};

struct rnp_wr_list {
	pthread_mutex_t
		lock; /* guards all; taken by start, released by complete, abort */
	int err;      /* the first thing that went wrong since start; positive */
	struct array entries; /* struct entry */
	struct array sges;    /* struct rn_sge */
	struct array bytes;
};

/* Room for @n more items; NULL if out of memory. */
static void *append(struct array *a, size_t item_size, size_t n)
{
	size_t room = a->room ? a->room : 16;
	void *item;

	while (room < a->count + n)
		room *= 2;
	if (room > a->room) {
		item = realloc(a->item, room * item_size);
		if (!item)
			return NULL;
		a->item = item;
		a->room = room;
	}
	a->count += n;
	return (char *)a->item + (a->count - n) * item_size;
}

static struct rnp_wr_list *list_of(struct ibv_qp_ex *ex)
{
	return to_rnp_qp(&ex->qp_base)->wr;
}

/* The request in the making; NULL once something has gone wrong. */
static struct entry *last_entry(struct rnp_wr_list *list)
{
	struct entry *entry = list->entries.item;

	if (list->err)
		return NULL;
	if (list->entries.count == 0) {
		list->err = EINVAL; /* a setter before any request */
		return NULL;
	}
	return &entry[list->entries.count - 1];
}

/* ---------------------------------------------------------------- start and complete */
static void forget(struct rnp_wr_list *list)
{
	list->entries.count = list->sges.count = list->bytes.count = 0;
	list->err = 0;
}

static bool in_copy(struct ibv_qp_ex *ex)
{
	return rnp_is_copy(to_rnp_qp(&ex->qp_base)->ctx);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		pthread_mutex_lock(&list_of(ex)->lock);
	forget(list_of(ex));
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		pthread_mutex_unlock(&list_of(ex)->lock);
}

/* The arrays no longer move: turn places into pointers. Inline data becomes one entry,
 * @inline_sge, which must live as long as the request is looked at.
 */
static void settle(const struct rnp_wr_list *list, struct entry *entry,
		   struct rn_sge *inline_sge)
{
	struct rn_send_wr *wr = &entry->wr;

	if (wr->av)
		wr->av = &entry->av;
	if (wr->flags & RN_SEND_INLINE) {
		*inline_sge = (struct rn_sge){
			.addr = (uintptr_t)list->bytes.item + entry->inline_at,
			.len = entry->inline_len,
		};
		wr->sg = inline_sge;
	} else {
		wr->sg = (const struct rn_sge *)list->sges.item + entry->sge_at;
	}
}

/* Engine lock held. @posted: NULL: only ask whether it would work. A positive errno. */
static int walk(struct rnp_qp *qp, struct rnp_posted *posted)
{
	struct rnp_wr_list *list = qp->wr;
	struct entry *entry = list->entries.item;
	int rc = 0;

	for (size_t i = 0; i < list->entries.count && !rc; i++) {
		struct rn_send_wr *wr = &entry[i].wr;
		struct rn_sge inline_sge;

		settle(list, &entry[i], &inline_sge);
		rc = posted ? rnp_watch_post_send(qp, posted->now, wr)
			    : rn_qp_check_send(qp->core, wr);
		if (posted)
			rnp_posted_add(posted, wr);
	}
	return -rc;
}

static int post_list(struct rnp_qp *qp)
{
	struct rnp_engine *e = qp->ctx->engine;
	struct rnp_posted posted = { 0 };
	int cancel = rnp_enter(e);
	int rc = 0;

	rnp_pcie_doorbell(rnp_engine_pcie(e));
	if (qp->wr->entries.count > rn_qp_sq_room(qp->core))
		rc = ENOMEM;
	if (!rc)
		rc = walk(qp, NULL);
	posted.now = rnp_engine_send_time(e, qp->core);
	if (!rc)
		rc = walk(qp, &posted);
	if (!rc)
		rnp_engine_posted(e, qp->core, &posted);
	rnp_leave(e, cancel);
	return rc;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct rnp_qp *qp = to_rnp_qp(&ex->qp_base);
	struct rnp_wr_list *list = qp->wr;
	int rc = list->err;

	if (in_copy(ex))
		return EIO;
	if (!rc && list->entries.count)
		rc = post_list(qp);
	pthread_mutex_unlock(&list->lock);
	return rc;
}

/* --------------------------------------------------------------------- the requests */
static struct entry *begin(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode)
{
	struct rnp_wr_list *list = list_of(ex);
	struct entry *entry;

	if (list->err)
		return NULL;
	if (ex->wr_flags &
	    ~(unsigned)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
			IBV_SEND_INLINE | IBV_SEND_IP_CSUM)) {
		list->err = EINVAL;
		return NULL;
	}
	entry = append(&list->entries, sizeof(*entry), 1);
	if (!entry) {
		list->err = ENOMEM;
		return NULL;
	}
	/* IBV_SEND_INLINE says nothing here: ibv_wr_set_inline_data() does. */
	*entry = (struct entry){
		.wr = { .wr_id = ex->wr_id,
			.opcode = opcode,
			.flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE },
		.sge_at = list->sges.count,
	};
	return entry;
}

static struct entry *begin_rdma(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
				uint32_t rkey, uint64_t remote_addr)
{
	struct entry *entry = begin(ex, opcode);

	if (entry) {
		entry->wr.rkey = rkey;
		entry->wr.remote_addr = remote_addr;
	}
	return entry;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin(ex, RN_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct entry *entry = begin(ex, RN_WR_SEND_WITH_IMM);

	if (entry)
		entry->wr.imm = ntohl(imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct entry *entry = begin(ex, RN_WR_SEND_WITH_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct entry *entry = begin(ex, RN_WR_LOCAL_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct entry *entry = begin(ex, RN_WR_BIND_MW);

	if (!entry)
		return;
	if (mw->type != IBV_MW_TYPE_2 || mw->context != ex->qp_base.context)
		list_of(ex)->err = EINVAL;
	else
		rnp_send_wr_bind(mw, rkey, bind_info, &entry->wr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, RN_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	struct entry *entry =
		begin_rdma(ex, RN_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);

	if (entry)
		entry->wr.imm = ntohl(imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, RN_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct entry *entry = begin_rdma(ex, RN_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	if (entry) {
		entry->wr.compare_add = compare;
		entry->wr.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	struct entry *entry =
		begin_rdma(ex, RN_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr);

	if (entry)
		entry->wr.compare_add = add;
}

/* ---------------------------------------------------------------------- the setters */
static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct entry *entry = last_entry(list_of(ex));

	if (!entry)
		return;
	if (!ah || to_rnp_pd(ah->pd) != to_rnp_pd(ex->qp_base.pd)) {
		list_of(ex)->err = EINVAL;
		return;
	}
	entry->av = to_rnp_ah(ah)->av;
	entry->wr.av = &entry->av; /* may move: settle() */
	entry->wr.remote_qpn = remote_qpn;
	entry->wr.remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct entry *entry = last_entry(list_of(ex));

	if (entry)
		entry->wr.remote_srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct rnp_wr_list *list = list_of(ex);
	struct entry *entry = last_entry(list);
	struct rn_sge *sge;

	if (!entry)
		return;
	if (num_sge > RN_SGE_MAX) {
		list->err = EINVAL;
		return;
	}
	entry->sge_at = list->sges.count;
	sge = append(&list->sges, sizeof(*sge), num_sge);
	if (!sge) {
		list->err = ENOMEM;
		return;
	}
	for (size_t i = 0; i < num_sge; i++)
		sge[i] = (struct rn_sge){ .addr = sg_list[i].addr,
					  .len = sg_list[i].length,
					  .lkey = sg_list[i].lkey };
	entry->wr.num_sge = (uint32_t)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct rnp_wr_list *list = list_of(ex);
	struct entry *entry = last_entry(list);
	size_t len = 0;
	char *to;

	if (!entry)
		return;
	for (size_t i = 0; i < num_buf && len <= RN_INLINE_MAX; i++)
		len = buf_list[i].length > RN_INLINE_MAX ? RN_INLINE_MAX + 1
							 : len + buf_list[i].length;
	if (len > RN_INLINE_MAX) {
		list->err = EINVAL;
		return;
	}
	entry->inline_at = list->bytes.count;
	to = append(&list->bytes, 1, len);
	if (!to) {
		list->err = ENOMEM;
		return;
	}
	for (size_t i = 0; i < num_buf; i++)
		if (buf_list[i].length)
			to = (char *)memcpy(to, buf_list[i].addr, buf_list[i].length) +
			     buf_list[i].length;
	entry->wr.flags |= RN_SEND_INLINE;
	entry->wr.num_sge = 1;
	entry->inline_len = (uint32_t)len;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* ----------------------------------------------------------------------- wr_place.c */
struct rn_send_wr *rnp_wr_begin(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
				uint32_t rkey, uint64_t remote_addr)
{
	struct entry *entry = begin_rdma(ex, opcode, rkey, remote_addr);

	return entry ? &entry->wr : NULL;
}

void rnp_wr_inline(struct ibv_qp_ex *ex, const void *data, size_t len)
{
	struct ibv_data_buf buf = { .addr = (void *)data, .length = len };

	wr_set_inline_data_list(ex, 1, &buf);
}

void rnp_wr_fail(struct ibv_qp_ex *ex, int err)
{
	list_of(ex)->err = err;
}

/* ------------------------------------------------------------------------- creation */
static uint64_t ops_of(enum ibv_qp_type type)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE |
			    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	const uint64_t rc =
		uc | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
		rnp_wr_place_ops(rnp_plugin_abi());

	if (type == IBV_QPT_RAW_PACKET)
		return IBV_QP_EX_WITH_SEND;
	if (type == IBV_QPT_UD)
		return ud;
	return type == IBV_QPT_UC ? uc : rc;
}

static void set_requests(struct ibv_qp_ex *ex, uint64_t ops)
{
	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = wr_send_inv;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
}

int rnp_wr_init(struct rnp_qp *qp, uint64_t send_ops_flags)
{
	struct ibv_qp_ex *ex = &qp->base.qp_ex;

	if (send_ops_flags & ~ops_of(qp->base.qp.qp_type))
		return EOPNOTSUPP;
	qp->wr = calloc(1, sizeof(*qp->wr));
	if (!qp->wr)
		return ENOMEM;
	pthread_mutex_init(&qp->wr->lock, NULL);
	set_requests(ex, send_ops_flags);
	rnp_wr_init_place(&qp->base, send_ops_flags);
	if (qp->base.qp.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->base.qp.qp_type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	rnp_abi_mark_qp_ex(rnp_plugin_abi(), &qp->base);
	return 0;
}

void rnp_wr_fini(struct rnp_qp *qp)
{
	if (!qp->wr)
		return;
	free(qp->wr->entries.item);
	free(qp->wr->sges.item);
	free(qp->wr->bytes.item);
	free(qp->wr);
}
