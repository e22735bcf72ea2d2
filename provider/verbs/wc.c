/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wc.c - from a completion entry in the ring to a work completion of verbs. */
#include "wc.h"

#include "place.h"

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), "verbs numbers")

SAME(RN_WC_GRH, IBV_WC_GRH);
SAME(RN_WC_WITH_IMM, IBV_WC_WITH_IMM);
SAME(RN_WC_WITH_INV, IBV_WC_WITH_INV);
SAME(RN_WC_IP_CSUM_OK, IBV_WC_IP_CSUM_OK);
SAME(RN_WC_SEND, IBV_WC_SEND);
SAME(RN_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE);
SAME(RN_WC_RDMA_READ, IBV_WC_RDMA_READ);
SAME(RN_WC_COMP_SWAP, IBV_WC_COMP_SWAP);
SAME(RN_WC_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(RN_WC_BIND_MW, IBV_WC_BIND_MW);
SAME(RN_WC_LOCAL_INV, IBV_WC_LOCAL_INV);
SAME(RN_WC_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE);
SAME(RN_WC_FLUSH, RNP_WC_FLUSH);
SAME(RN_WC_RECV, IBV_WC_RECV);
SAME(RN_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(RN_WC_SUCCESS, IBV_WC_SUCCESS);
SAME(RN_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR);
SAME(RN_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR);
SAME(RN_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
SAME(RN_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
SAME(RN_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR);
SAME(RN_WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR);
SAME(RN_WC_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR);
SAME(RN_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
SAME(RN_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
SAME(RN_WC_REM_OP_ERR, IBV_WC_REM_OP_ERR);
SAME(RN_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
SAME(RN_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
SAME(RN_WC_FATAL_ERR, IBV_WC_FATAL_ERR);
SAME(RN_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR);

void rnp_wc_from_cqe(struct ibv_wc *wc, const struct rn_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = rnp_cqe_status(cqe),
		.opcode = rnp_cqe_opcode(cqe),
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.imm_data = rnp_cqe_imm(cqe),
		.qp_num = cqe->qpn,
		.src_qp = cqe->src_qpn,
		.wc_flags = rnp_cqe_flags(cqe),
		.pkey_index = cqe->pkey_index,
		.sl = cqe->sl,
	};
}
