/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* as.c - tries calls on a device that reports itself as another one. Started as `as NAME'
 * under `rocin run --as NAME'. Prints a line for each call: its name, and "ok" or the
 * errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/e2e/kit/loop.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char buffer[4096];

static void say(const char *what, bool is_ok)
{
	printf("%s: %s\n", what, is_ok ? "ok" : strerrorname_np(errno));
	errno = 0;
}

static void try_qp(const char *what, enum ibv_qp_type type, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = cap
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	say(what, qp);
	EXPECT(!qp || !ibv_destroy_qp(qp));
}

static void try_queue_pairs(void)
{
	try_qp("RC", IBV_QPT_RC, (struct ibv_qp_cap){ 1, 1, 1, 1, 0 });
	try_qp("UD", IBV_QPT_UD, (struct ibv_qp_cap){ 1, 1, 1, 1, 0 });
	try_qp("XRC send", IBV_QPT_XRC_SEND, (struct ibv_qp_cap){ 1, 0, 1, 0, 0 });
	try_qp("UD, 31 SGEs", IBV_QPT_UD, (struct ibv_qp_cap){ 1, 1, 31, 1, 0 });
	try_qp("UD, 512 bytes inline", IBV_QPT_UD,
	       (struct ibv_qp_cap){ 1, 1, 1, 1, 512 });
	try_qp("UD, 5000 requests", IBV_QPT_UD, (struct ibv_qp_cap){ 5000, 1, 1, 1, 0 });
}

static void try_outstanding_reads(void)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		return;
	EXPECT(!ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = qp->qp_num,
				     .max_dest_rd_atomic = 17,
				     .ah_attr = { .is_global = 1, .port_num = 1 } };
	EXPECT(!ibv_query_gid(ctx, 1, 0, &attr.ah_attr.grh.dgid));
	say("17 READs to answer",
	    !ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER));
	EXPECT(!ibv_destroy_qp(qp));
}

static void try_regions(void)
{
	struct ibv_mr *mr =
		ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);

	say("a region", mr);
	EXPECT(mr);
	say("another range for it",
	    !ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buffer, 100, 0));
	EXPECT(!ibv_dereg_mr(mr));
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	say("paged on demand", mr);
	EXPECT(!mr || !ibv_dereg_mr(mr));
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	say("for atomics", mr);
	EXPECT(!mr || !ibv_dereg_mr(mr));
}

static void try_objects(void)
{
	struct ibv_xrcd_init_attr xrcd_attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							     IBV_XRCD_INIT_ATTR_OFLAGS,
						.fd = -1,
						.oflags = O_CREAT };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 28 } };
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(ctx, &xrcd_attr);
	struct ibv_srq *srq;
	struct ibv_dm *dm;
	struct ibv_cq *large;

	say("an XRC domain", xrcd);
	EXPECT(!xrcd || !ibv_close_xrcd(xrcd));
	srq = ibv_create_srq(pd, &srq_attr);
	say("an SRQ of 28 SGEs", srq);
	EXPECT(!srq || !ibv_destroy_srq(srq));
	large = ibv_create_cq(ctx, 40000, NULL, NULL, 0);
	say("a CQ of 40000", large);
	EXPECT(!large || !ibv_destroy_cq(large));
	dm = ibv_alloc_dm(ctx, &dm_attr);
	say("memory on the device", dm);
	EXPECT(!dm || !ibv_free_dm(dm));
}

int main(void)
{
	ctx = loop_open_device();
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	EXPECT(pd && cq);
	try_queue_pairs();
	try_outstanding_reads();
	try_regions();
	try_objects();
	EXPECT(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(ctx));
	return 0;
}
