/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr.c - the ibv_wr_*() way of posting: the calls that make requests and describe them.
 *
 * What becomes of the requests: wr_batch.c.
 */
#include "wr.h"

#include <arpa/inet.h>
#include <string.h>

#include "send_wr.h"

/* --------------------------------------------------------------------- the requests */
static struct rnp_wr_entry *begin(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode)
{
	struct rnp_wr_list *list = rnp_wr_list_of(ex);
	struct rnp_wr_entry *entry;

	if (list->err)
		return NULL;
	if (ex->wr_flags &
	    ~(unsigned)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
			IBV_SEND_INLINE | IBV_SEND_IP_CSUM)) {
		list->err = EINVAL;
		return NULL;
	}
	entry = rnp_wr_append(&list->entries, sizeof(*entry), 1);
	if (!entry) {
		list->err = ENOMEM;
		return NULL;
	}
	/* IBV_SEND_INLINE says nothing here: ibv_wr_set_inline_data() does. */
	*entry = (struct rnp_wr_entry){
		.wr = { .wr_id = ex->wr_id,
			.opcode = opcode,
			.flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE },
		.sge_at = list->sges.count,
	};
	return entry;
}

static struct rnp_wr_entry *begin_rdma(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
				       uint32_t rkey, uint64_t remote_addr)
{
	struct rnp_wr_entry *entry = begin(ex, opcode);

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
	struct rnp_wr_entry *entry = begin(ex, RN_WR_SEND_WITH_IMM);

	if (entry)
		entry->wr.imm = ntohl(imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct rnp_wr_entry *entry = begin(ex, RN_WR_SEND_WITH_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct rnp_wr_entry *entry = begin(ex, RN_WR_LOCAL_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct rnp_wr_entry *entry = begin(ex, RN_WR_BIND_MW);

	if (!entry)
		return;
	if (mw->type != IBV_MW_TYPE_2 || mw->context != ex->qp_base.context)
		rnp_wr_list_of(ex)->err = EINVAL;
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
	struct rnp_wr_entry *entry =
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
	struct rnp_wr_entry *entry =
		begin_rdma(ex, RN_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	if (entry) {
		entry->wr.compare_add = compare;
		entry->wr.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	struct rnp_wr_entry *entry =
		begin_rdma(ex, RN_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr);

	if (entry)
		entry->wr.compare_add = add;
}

/* ---------------------------------------------------------------------- the setters */
static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct rnp_wr_entry *entry = rnp_wr_last(rnp_wr_list_of(ex));

	if (!entry)
		return;
	if (!ah || to_rnp_pd(ah->pd) != to_rnp_pd(ex->qp_base.pd)) {
		rnp_wr_list_of(ex)->err = EINVAL;
		return;
	}
	entry->av = to_rnp_ah(ah)->av;
	entry->wr.av = &entry->av; /* may move: settle() */
	entry->wr.remote_qpn = remote_qpn;
	entry->wr.remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct rnp_wr_entry *entry = rnp_wr_last(rnp_wr_list_of(ex));

	if (entry)
		entry->wr.remote_srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct rnp_wr_list *list = rnp_wr_list_of(ex);
	struct rnp_wr_entry *entry = rnp_wr_last(list);
	struct rn_sge *sge;

	if (!entry)
		return;
	if (num_sge > RN_SGE_MAX) {
		list->err = EINVAL;
		return;
	}
	entry->sge_at = list->sges.count;
	sge = rnp_wr_append(&list->sges, sizeof(*sge), num_sge);
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
	struct rnp_wr_list *list = rnp_wr_list_of(ex);
	struct rnp_wr_entry *entry = rnp_wr_last(list);
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
	to = rnp_wr_append(&list->bytes, 1, len);
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
	struct rnp_wr_entry *entry = begin_rdma(ex, opcode, rkey, remote_addr);

	return entry ? &entry->wr : NULL;
}

void rnp_wr_inline(struct ibv_qp_ex *ex, const void *data, size_t len)
{
	struct ibv_data_buf buf = { .addr = (void *)data, .length = len };

	wr_set_inline_data_list(ex, 1, &buf);
}

void rnp_wr_fail(struct ibv_qp_ex *ex, int err)
{
	rnp_wr_list_of(ex)->err = err;
}

/* ------------------------------------------------------------------------- creation */
/* @place_ops: those that this library has a place for. */
static uint64_t ops_of(enum ibv_qp_type type, uint64_t place_ops)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE |
			    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	const uint64_t rc = uc | IBV_QP_EX_WITH_RDMA_READ |
			    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			    IBV_QP_EX_WITH_SEND_WITH_INV | place_ops;

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
	const struct rnp_library *library = qp->ctx->library;
	struct ibv_qp_ex *ex = &qp->base.qp_ex;
	int rc;

	if (send_ops_flags & ~ops_of(qp->base.qp.qp_type, rnp_wr_place_ops(library)))
		return EOPNOTSUPP;
	rc = rnp_wr_batch_new(qp);
	if (rc)
		return rc;
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
	ex->wr_start = rnp_wr_start;
	ex->wr_complete = rnp_wr_complete;
	ex->wr_abort = rnp_wr_abort;
	library->mark_qp_ex(&qp->base);
	return 0;
}
