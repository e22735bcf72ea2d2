/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_post.c - requests that a tester wants posted to a send queue. */
#include <arpa/inet.h>
#include <errno.h>

#include "agent.h"

enum {
	WR_FLUSH = 14, /* headers of release 44 do not name it */
};

/* Where the bytes at an address of the scenario are; NULL: in no region of it. This
 * process must not be led to read anything else.
 */
static uint8_t *bytes_at(const struct rn_agent *a, uint64_t address, uint64_t len)
{
	for (unsigned i = 0; i < a->mrs; i++) {
		const struct rn_agent_mr *m = &a->mr[i];
		uint64_t offset = address - m->va;

		if (m->mr && !m->unmapped && offset <= m->len && len <= m->len - offset)
			return m->buf + offset;
	}
	return NULL;
}

/* The address handle of a domain to the tester or the group, made once. */
static struct ibv_ah *handle_to(struct rn_agent *a, unsigned pd, bool group)
{
	struct ibv_ah_attr attr = rn_agent_path(a, group ? &a->group : &a->tester);

	if (!a->ah[pd].ah[group])
		a->ah[pd].ah[group] = ibv_create_ah(a->pd[pd], &attr);
	return a->ah[pd].ah[group];
}

static int name_target(struct rn_agent *a, const uint64_t *n, struct ibv_send_wr *wr)
{
	const struct rn_agent_qp *q = &a->qp[n[0]];

	if (q->qp->qp_type == IBV_QPT_UD) {
		wr->wr.ud.ah = handle_to(a, q->pd, n[RN_CONFORM_TO] == 1);
		wr->wr.ud.remote_qpn = (uint32_t)n[RN_CONFORM_TO_QPN];
		wr->wr.ud.remote_qkey = (uint32_t)n[RN_CONFORM_TO_QKEY];
		return wr->wr.ud.ah ? 0 : errno;
	}
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = n[RN_CONFORM_REMOTE];
		wr->wr.atomic.rkey = (uint32_t)n[RN_CONFORM_RKEY];
		wr->wr.atomic.compare_add = n[RN_CONFORM_COMPARE_ADD];
		wr->wr.atomic.swap = n[RN_CONFORM_SWAP];
	} else {
		wr->wr.rdma.remote_addr = n[RN_CONFORM_REMOTE];
		wr->wr.rdma.rkey = (uint32_t)n[RN_CONFORM_RKEY];
	}
	if (q->qp->qp_type == IBV_QPT_XRC_SEND)
		wr->qp_type.xrc.remote_srqn = (uint32_t)n[RN_CONFORM_SRQN];
	return 0;
}

/* There is no other way to post one; the library reads its 8 bytes at once. */
static int post_atomic_write(struct rn_agent *a, const uint64_t *n)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a->qp[n[0]].qp);
	const uint8_t *bytes = bytes_at(a, n[RN_CONFORM_ADDRESS], sizeof(uint64_t));

	if (!qp || !bytes || n[RN_CONFORM_LENGTH] != sizeof(uint64_t))
		return EPROTO;
	ibv_wr_start(qp);
	qp->wr_id = n[RN_CONFORM_ID];
	qp->wr_flags = (unsigned)n[RN_CONFORM_FLAGS];
	ibv_wr_atomic_write(qp, (uint32_t)n[RN_CONFORM_RKEY], n[RN_CONFORM_REMOTE],
			    bytes);
	return ibv_wr_complete(qp);
}

int rn_agent_post(struct rn_agent *a, struct rn_conform_line *l)
{
	const uint64_t *n = l->n;
	struct ibv_sge sge = { .addr = n[RN_CONFORM_ADDRESS],
			       .length = (uint32_t)n[RN_CONFORM_LENGTH],
			       .lkey = (uint32_t)n[RN_CONFORM_LKEY] };
	struct ibv_send_wr wr = { .wr_id = n[RN_CONFORM_ID],
				  .sg_list = &sge,
				  .num_sge = sge.length ? 1 : 0,
				  .opcode = (enum ibv_wr_opcode)n[RN_CONFORM_OPCODE],
				  .send_flags = (unsigned)n[RN_CONFORM_FLAGS] },
			   *bad;
	int rc;

	if (l->count != RN_CONFORM_WRS || n[0] >= a->qps || wr.opcode == IBV_WR_BIND_MW ||
	    wr.opcode == IBV_WR_TSO || wr.opcode == IBV_WR_DRIVER1)
		return EPROTO;
	l->count = 0;
	if (wr.opcode == IBV_WR_ATOMIC_WRITE)
		return post_atomic_write(a, n);
	if (wr.send_flags & IBV_SEND_INLINE) {
		sge.addr = (uintptr_t)bytes_at(a, sge.addr, sge.length);
		if (!sge.addr)
			return EPROTO;
	}
	rc = name_target(a, n, &wr);
	if (rc)
		return rc;
	if (wr.opcode == IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = (uint32_t)n[RN_CONFORM_IMM];
	else
		wr.imm_data = htonl((uint32_t)n[RN_CONFORM_IMM]);
	if (wr.opcode == (enum ibv_wr_opcode)WR_FLUSH) /* a length, not bytes of ours */
		wr.num_sge = 1;
	return ibv_post_send(a->qp[n[0]].qp, &wr, &bad);
}

/* A window of type 1 has a call of its own, which chooses the key. */
int rn_agent_bind(struct rn_agent *a, struct rn_conform_line *l)
{
	const uint64_t *n = l->n;
	struct ibv_mw *mw = a->mr[n[RN_CONFORM_BIND_MW] % RN_SCN_MRS].mw;
	const struct ibv_mw_bind_info info = {
		.mr = a->mr[n[RN_CONFORM_BIND_MR] % RN_SCN_MRS].mr,
		.addr = n[RN_CONFORM_BIND_ADDRESS],
		.length = n[RN_CONFORM_BIND_LENGTH],
		.mw_access_flags = (unsigned)n[RN_CONFORM_BIND_ACCESS],
	};
	struct ibv_send_wr wr = {
		.wr_id = n[RN_CONFORM_BIND_ID],
		.opcode = IBV_WR_BIND_MW,
		.send_flags = (unsigned)n[RN_CONFORM_BIND_FLAGS],
		.bind_mw = { mw, (uint32_t)n[RN_CONFORM_BIND_KEY], info },
	}, *bad;
	struct ibv_mw_bind bind = { .wr_id = wr.wr_id,
				    .send_flags = wr.send_flags,
				    .bind_info = info };
	int rc;

	if (l->count != RN_CONFORM_BINDS || n[0] >= a->qps ||
	    n[RN_CONFORM_BIND_MW] >= RN_SCN_MRS || n[RN_CONFORM_BIND_MR] >= RN_SCN_MRS ||
	    !mw || !info.mr || wr.send_flags & IBV_SEND_INLINE)
		return EPROTO;
	if (mw->type == IBV_MW_TYPE_1)
		rc = ibv_bind_mw(a->qp[n[0]].qp, mw, &bind);
	else
		rc = ibv_post_send(a->qp[n[0]].qp, &wr, &bad);
	if (rc)
		return rc;
	l->count = 1;
	l->n[0] = mw->type == IBV_MW_TYPE_1 ? mw->rkey : wr.bind_mw.rkey;
	return 0;
}
