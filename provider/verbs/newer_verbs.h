/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* newer_verbs.h - numbers of ATOMIC WRITE and FLUSH that <infiniband/verbs.h> of release
 * 44 does not have yet.
 *
 * A program on such a library can flush all the same: ibv_post_send() takes the opcode
 * RNP_WR_FLUSH, with the range in wr.rdma.remote_addr, wr.rdma.rkey and the sum of the
 * lengths in sg_list (whose addresses and keys do not matter), and the placement and
 * level in imm_data: htonl(placement | level << 8).
 */
#ifndef RNP_NEWER_VERBS_H
#define RNP_NEWER_VERBS_H

enum {
	RNP_WR_FLUSH = 14,		      /* IBV_WR_FLUSH */
	RNP_WC_FLUSH = 8,		      /* IBV_WC_FLUSH */
	RNP_ACCESS_FLUSH_GLOBAL = 1 << 8,     /* IBV_ACCESS_FLUSH_GLOBAL */
	RNP_ACCESS_FLUSH_PERSISTENT = 1 << 9, /* IBV_ACCESS_FLUSH_PERSISTENT */
	RNP_QP_EX_WITH_FLUSH = 1 << 11,	      /* IBV_QP_EX_WITH_FLUSH */
};

/* ibv_device_attr_ex.device_cap_flags_ex, IB_UVERBS_DEVICE_* */
#define RNP_DEVICE_FLUSH_GLOBAL (1ULL << 38)
#define RNP_DEVICE_FLUSH_PERSISTENT (1ULL << 39)
#define RNP_DEVICE_ATOMIC_WRITE (1ULL << 40)

#endif /* RNP_NEWER_VERBS_H */
