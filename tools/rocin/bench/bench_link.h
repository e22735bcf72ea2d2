/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_link.h - RC queue pairs between the two processes of a pair. */
#ifndef RN_BENCH_LINK_H
#define RN_BENCH_LINK_H

#include <infiniband/verbs.h>

#include "bench.h"

struct rn_bench_link_cfg {
	uint32_t qps;
	uint32_t tx_depth, rx_depth; /* WRs of each */
	uint32_t cq_depth;
	uint32_t inline_len; /* wanted; less is no failure */
	bool events;	     /* the CQ has a completion channel */
	size_t buf_len;
};

struct rn_bench_link {
	struct ibv_comp_channel *channel; /* or NULL */
	struct ibv_cq *cq;		  /* of all queues */
	struct ibv_qp **qp;
	uint32_t qps;
	struct ibv_mr *mr;
	uint8_t *buf; /* page-aligned, cleared */
	bool has_inline;
	uint64_t remote_va; /* of the other process's buf */
	uint32_t remote_rkey;
	bool counted; /* among the links of the open device */
};

/**
 * rn_bench_link_open() - Connect with the other process, which does the same
 *
 * The first link of a process opens end->device, the last one that is closed closes it.
 * end->path_mtu becomes that of the device.
 *
 * Return: 0, or -1 after rn_bench_fail(); then too rn_bench_link_close() is due.
 */
int rn_bench_link_open(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
		       struct rn_bench_link *link);
void rn_bench_link_close(struct rn_bench_link *link);

#endif /* RN_BENCH_LINK_H */
