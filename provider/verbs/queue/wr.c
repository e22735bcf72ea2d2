/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr.c - requests that are built by ibv_wr_*().
 *
 * From ibv_wr_start() on the requests are collected in a list of the QP, with the bytes
 * of inline data. A lock of the QP guards the list, so a program that works slowly
 * between the calls does not block the engine. ibv_wr_complete() posts all requests or,
 * if one of them is refused, none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "post.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"
#include "qp.h"

static struct rnp_wr_list *list_of(struct ibv_qp_ex *ex)
{
	return to_rnp_qp(&ex->qp_base)->wr;
}

static void *append_items(struct rnp_wr_array *a, size_t item_size, size_t n)
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

static struct rnp_wr_entry *last_wr(struct rnp_wr_list *list)
{
	struct rnp_wr_entry *entry = list->entries.item;

	if (list->err)
		return NULL;
	if (list->entries.count == 0) {
		/* A function such as ibv_wr_set_sge() was called before any request was
		 * begun.
		 */
		list->err = EINVAL;
		return NULL;
	}
	return &entry[list->entries.count - 1];
}

/* --------------------------------------------------------------- beginning a request */
static struct rnp_wr_entry *begin_wr(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode)
{
	struct rnp_wr_list *list = list_of(ex);
	struct rnp_wr_entry *entry;

	if (list->err)
		return NULL;
	if (ex->wr_flags &
	    ~(unsigned)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
			IBV_SEND_INLINE | IBV_SEND_IP_CSUM)) {
		list->err = EINVAL;
		return NULL;
	}
	entry = append_items(&list->entries, sizeof(*entry), 1);
	if (!entry) {
		list->err = ENOMEM;
		return NULL;
	}
	/* Only ibv_wr_set_inline_data() makes data inline, not IBV_SEND_INLINE. */
	*entry = (struct rnp_wr_entry){
		.wr = { .wr_id = ex->wr_id,
			.opcode = opcode,
			.flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE },
		.sge_at = list->sges.count,
	};
	return entry;
}

static struct rnp_wr_entry *begin_remote(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
					 uint32_t rkey, uint64_t remote_addr)
{
	struct rnp_wr_entry *entry = begin_wr(ex, opcode);

	if (entry) {
		entry->wr.rkey = rkey;
		entry->wr.remote_addr = remote_addr;
	}
	return entry;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin_wr(ex, RN_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_SEND_WITH_IMM);

	if (entry)
		entry->wr.imm = ntohl(imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_SEND_WITH_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_LOCAL_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_BIND_MW);

	if (!entry)
		return;
	if (mw->type != IBV_MW_TYPE_2 || mw->context != ex->qp_base.context)
		list_of(ex)->err = EINVAL;
	else
		rnp_bind_request(mw, rkey, bind_info, &entry->wr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, RN_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	struct rnp_wr_entry *entry =
		begin_remote(ex, RN_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);

	if (entry)
		entry->wr.imm = ntohl(imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, RN_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct rnp_wr_entry *entry =
		begin_remote(ex, RN_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	if (entry) {
		entry->wr.compare_add = compare;
		entry->wr.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	struct rnp_wr_entry *entry =
		begin_remote(ex, RN_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr);

	if (entry)
		entry->wr.compare_add = add;
}

/* ------------------------------------------------------------- operands of a request */
static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct rnp_wr_entry *entry = last_wr(list_of(ex));

	if (!entry)
		return;
	entry->ah = ah;
	entry->wr.remote_qpn = remote_qpn;
	entry->wr.remote_qkey = remote_qkey;
	if (!ah || to_rnp_pd(ah->pd) != to_rnp_pd(ex->qp_base.pd)) {
		list_of(ex)->err = EINVAL;
		return;
	}
	entry->av = to_rnp_ah(ah)->av;
	/* point_at_data() sets this pointer again, as realloc() may move the entries */
	entry->wr.av = &entry->av;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct rnp_wr_entry *entry = last_wr(list_of(ex));

	if (entry)
		entry->wr.remote_srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct rnp_wr_list *list = list_of(ex);
	struct rnp_wr_entry *entry = last_wr(list);
	struct rn_sge *sge;

	if (!entry)
		return;
	if (num_sge > RN_SGE_MAX) {
		list->err = EINVAL;
		return;
	}
	entry->sge_at = list->sges.count;
	sge = append_items(&list->sges, sizeof(*sge), num_sge);
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
	struct rnp_wr_entry *entry = last_wr(list);
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
	to = append_items(&list->bytes, 1, len);
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

/* -------------------------------------------------------- requests of newer releases */
/* struct ibv_qp_ex has the member wr_atomic_write since release 44 of rdma-core, and
 * wr_flush since release 45. In an older libibverbs the struct ends before them, and the
 * memory there belongs to libibverbs; so they must not be written then.
 */
typedef void flush_fn(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		      size_t len, uint8_t type, uint8_t level);

enum {
	ATOMIC_WRITE_AT = offsetof(struct ibv_qp_ex, wr_atomic_write),
	FLUSH_AT = ATOMIC_WRITE_AT + sizeof(void *),
	WORD = 8,
};

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	if (begin_remote(ex, RN_WR_ATOMIC_WRITE, rkey, remote_addr))
		wr_set_inline_data(ex, (void *)atomic_wr, WORD);
}

// NOLINTNEXTLINE(readability-function-size): libibverbs prescribes the parameters
static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		     size_t len, uint8_t type, uint8_t level)
{
	struct rnp_wr_entry *entry = begin_remote(ex, RN_WR_FLUSH, rkey, remote_addr);

	if (!entry)
		return;
	if (len > UINT32_MAX)
		list_of(ex)->err = EINVAL;
	entry->wr.flush_length = (uint32_t)len;
	entry->wr.flush_placement = type;
	entry->wr.flush_selectivity = level;
}

static uint64_t newer_ops(const struct rnp_library *library)
{
	uint64_t ops = 0;

	if (library->qp_ex_len >= ATOMIC_WRITE_AT + sizeof(void *))
		ops |= IBV_QP_EX_WITH_ATOMIC_WRITE;
	if (library->qp_ex_len >= FLUSH_AT + sizeof(void *))
		ops |= RNP_QP_EX_WITH_FLUSH;
	return ops;
}

static void set_newer_requests(union rnp_abi_qp *qp, uint64_t ops)
{
	flush_fn *const flush = wr_flush;

	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		qp->qp_ex.wr_atomic_write = wr_atomic_write;
	if (ops & RNP_QP_EX_WITH_FLUSH)
		memcpy(qp->room + FLUSH_AT, &flush, sizeof(flush));
}

/* ---------------------------------------------- ibv_wr_start() and ibv_wr_complete() */
static void empty_list(struct rnp_wr_list *list)
{
	list->entries.count = list->sges.count = list->bytes.count = 0;
	list->err = 0;
}

static bool in_copy(struct ibv_qp_ex *ex)
{
	return rnp_is_fork_child(to_rnp_qp(&ex->qp_base)->ctx);
}

static void start_list(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		rnp_use_lock_take(&list_of(ex)->lock);
	empty_list(list_of(ex));
}

static void abort_list(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		rnp_use_lock_give(&list_of(ex)->lock);
}

static int complete_list(struct ibv_qp_ex *ex)
{
	struct rnp_qp *qp = to_rnp_qp(&ex->qp_base);
	struct rnp_wr_list *list = qp->wr;
	int rc = list->err;

	if (in_copy(ex))
		return rnp_set_errno(EIO);
	if (!rc && list->entries.count)
		rc = rnp_post_list(qp);
	rnp_use_lock_give(&list->lock);
	return rnp_set_errno(rc);
}

/* ----------------------------------------------------- preparing a QP for ibv_wr_*() */
static int new_list(struct rnp_qp *qp)
{
	qp->wr = calloc(1, sizeof(*qp->wr));
	if (!qp->wr)
		return ENOMEM;
	qp->wr->lock.is_single = qp->base.qp.pd && rnp_pd_has_td(qp->base.qp.pd);
	return 0;
}

static void free_items(struct rnp_wr_array *a)
{
	free(a->item);
	*a = (struct rnp_wr_array){ 0 };
}

static void free_list(struct rnp_wr_list *list)
{
	free_items(&list->entries);
	free_items(&list->sges);
	free_items(&list->bytes);
}

void rnp_wr_fini(struct rnp_qp *qp)
{
	const bool all = !qp->handle.was_named;

	/* If the trylock fails, a thread is between ibv_wr_start() and ibv_wr_complete()
	 * and uses the list.
	 */
	if (!qp->wr || (!all && !rnp_use_lock_try(&qp->wr->lock)))
		return;
	free_list(qp->wr);
	if (all)
		free(qp->wr);
	else
		rnp_use_lock_give(&qp->wr->lock);
}

/* Returns the ibv_wr_*() operations that a type of QP has, as IBV_QP_EX_WITH_* flags.
 * @newer: flags of those operations of newer releases that the loaded libibverbs has.
 */
static uint64_t ops_of_type(enum ibv_qp_type type, uint64_t newer)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE |
			    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	const uint64_t rc = uc | IBV_QP_EX_WITH_RDMA_READ |
			    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			    IBV_QP_EX_WITH_SEND_WITH_INV | newer;

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

	if (send_ops_flags & ~ops_of_type(qp->base.qp.qp_type, newer_ops(library)))
		return EOPNOTSUPP;
	rc = new_list(qp);
	if (rc)
		return rc;
	set_requests(ex, send_ops_flags);
	set_newer_requests(&qp->base, send_ops_flags);
	if (qp->base.qp.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->base.qp.qp_type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = start_list;
	ex->wr_complete = complete_list;
	ex->wr_abort = abort_list;
	library->mark_qp_ex(&qp->base);
	return 0;
}
