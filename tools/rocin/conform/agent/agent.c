/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent.c - opens the device of rocin-conform-agent, and executes the requests of a
 * tester on it.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocin/cqe.h"
#include "rocin/work_request.h"

/* ------------------------------------------------------------ modifying queue pairs */
static enum ibv_mtu mtu_of(uint64_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && bytes > UINT64_C(128) << mtu)
		mtu = (enum ibv_mtu)(mtu + 1);
	return mtu;
}

/* Returns the address vector for packets to @to, which is the tester, the other host or
 * the multicast group.
 */
static struct ibv_ah_attr path_of(const struct rn_agent *a, const union ibv_gid *to)
{
	return (struct ibv_ah_attr){
		.grh = { .dgid = *to,
			 .sgid_index = (uint8_t)a->gid_index[rn_agent_family(a)],
			 .hop_limit = 64 },
		.is_global = 1,
		.port_num = 1,
	};
}

static int modify_qp(struct rn_agent *a, struct rn_conform_line *l)
{
	const uint64_t *n = l->n;
	struct ibv_qp_attr attr = {
		.qp_state = (enum ibv_qp_state)n[RN_CONFORM_STATE],
		.path_mtu = mtu_of(n[RN_CONFORM_MTU]),
		.qkey = (uint32_t)n[RN_CONFORM_QKEY],
		.rq_psn = (uint32_t)n[RN_CONFORM_RQ_PSN],
		.sq_psn = (uint32_t)n[RN_CONFORM_SQ_PSN],
		.dest_qp_num = (uint32_t)n[RN_CONFORM_DEST],
		.qp_access_flags = (unsigned)n[RN_CONFORM_ACCESS],
		.ah_attr = path_of(a, &a->tester),
		.port_num = 1,
		.max_rd_atomic = (uint8_t)n[RN_CONFORM_RD],
		.max_dest_rd_atomic = (uint8_t)n[RN_CONFORM_DEST_RD],
		.min_rnr_timer = (uint8_t)n[RN_CONFORM_RNR_TIMER],
		.timeout = (uint8_t)n[RN_CONFORM_TIMEOUT],
		.retry_cnt = (uint8_t)n[RN_CONFORM_RETRY],
		.rnr_retry = (uint8_t)n[RN_CONFORM_RNR_RETRY],
		.en_sqd_async_notify = n[RN_CONFORM_DRAIN] != 0,
		.alt_ah_attr = path_of(a, n[RN_CONFORM_ALT] ? &a->other : &a->tester),
		.alt_port_num = 1,
		.alt_timeout = (uint8_t)n[RN_CONFORM_ALT_TIMEOUT],
		.cur_qp_state = (enum ibv_qp_state)n[RN_CONFORM_CUR],
		.path_mig_state = (enum ibv_mig_state)n[RN_CONFORM_MIG],
	};

	if (l->count != RN_CONFORM_ATTRS || n[0] >= a->qps)
		return EPROTO;
	l->count = 0;
	return ibv_modify_qp(a->qp[n[0]].qp, &attr, (int)n[1]);
}

/* ------------------------------------------ posting receives, and joining the group */
static int post_recv(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_sge sge = { l->n[2], (uint32_t)l->n[3], (uint32_t)l->n[4] };
	struct ibv_recv_wr wr = { .wr_id = l->n[1],
				  .sg_list = &sge,
				  .num_sge = sge.length ? 1 : 0 },
			   *bad;

	if (l->count != 5 || l->n[0] >= a->qps)
		return EPROTO;
	l->count = 0;
	return ibv_post_recv(a->qp[l->n[0]].qp, &wr, &bad);
}

static int post_srq_recv(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_sge sge = { l->n[2], (uint32_t)l->n[3], (uint32_t)l->n[4] };
	struct ibv_recv_wr wr = { .wr_id = l->n[1],
				  .sg_list = &sge,
				  .num_sge = sge.length ? 1 : 0 },
			   *bad;

	if (l->count != 5 || l->n[0] >= a->srqs)
		return EPROTO;
	l->count = 0;
	return ibv_post_srq_recv(a->srq[l->n[0]].srq, &wr, &bad);
}

static int set_srq_limit(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_srq_attr attr = { .srq_limit = (uint32_t)l->n[1] };

	if (l->count != 2 || l->n[0] >= a->srqs)
		return EPROTO;
	l->count = 0;
	return ibv_modify_srq(a->srq[l->n[0]].srq, &attr, IBV_SRQ_LIMIT);
}

static int join_group(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_qp *q = &a->qp[l->n[0] % RN_SCN_QPS];
	bool join = l->n[1] == 1;
	int rc;

	if (l->count != 2 || l->n[0] >= a->qps)
		return EPROTO;
	l->count = 0;
	rc = join ? ibv_attach_mcast(q->qp, &a->group, 0)
		  : ibv_detach_mcast(q->qp, &a->group, 0);
	if (!rc)
		q->joined = join;
	return rc;
}

/* ------------------------------------------------------------ completions and events */
static bool poll_cq(struct rn_agent *a, unsigned queue, struct rn_conform_line *l)
{
	struct ibv_wc wc;

	if (!a->cq[queue] || ibv_poll_cq(a->cq[queue], 1, &wc) != 1)
		return false;
	l->count = 10;
	l->n[0] = RN_CONFORM_WC;
	l->n[1] = queue;
	l->n[2] = wc.wr_id;
	l->n[3] = wc.qp_num;
	l->n[4] = wc.byte_len;
	l->n[5] =
		wc.wc_flags & IBV_WC_WITH_INV ? wc.invalidated_rkey : ntohl(wc.imm_data);
	l->n[6] = wc.src_qp;
	l->n[7] = wc.status;
	l->n[8] = wc.opcode;
	l->n[9] = wc.wc_flags;
	return true;
}

static bool take_comp(struct rn_agent *a, unsigned queue, struct rn_conform_line *l)
{
	struct ibv_cq *cq;
	void *context;

	if (!a->channel[queue] || ibv_get_cq_event(a->channel[queue], &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	l->count = 2;
	l->n[0] = RN_CONFORM_COMP;
	l->n[1] = queue;
	return true;
}

static uint64_t srq_number(const struct rn_agent *a, const struct ibv_srq *srq)
{
	for (unsigned i = 0; i < a->srqs; i++)
		if (a->srq[i].srq == srq)
			return a->srq[i].number;
	return 0;
}

/* Returns true if the event is about an object of the scenario, and sets *@number to the
 * number by which the tester knows the object: a QPN, an SRQ number, or 0 for a CQ.
 * Returns false for an event of the port or of the device.
 */
static bool is_of_scenario(const struct rn_agent *a, const struct ibv_async_event *ev,
			   uint64_t *number)
{
	switch (rn_event_object((int)ev->event_type)) {
	case RN_EVENT_OF_CQ:
		*number = 0;
		return true;
	case RN_EVENT_OF_QP:
		*number = ev->element.qp->qp_num;
		return true;
	case RN_EVENT_OF_SRQ:
		*number = srq_number(a, ev->element.srq);
		return true;
	case RN_EVENT_OF_WQ:
	case RN_EVENT_OF_DEVICE:
		break;
	}
	return false;
}

static bool take_event(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_async_event ev;
	uint64_t number;
	bool found;

	if (ibv_get_async_event(a->ctx, &ev))
		return false;
	found = is_of_scenario(a, &ev, &number);
	if (found) {
		l->count = 3;
		l->n[0] = RN_CONFORM_EVENT;
		l->n[1] = number;
		l->n[2] = ev.event_type;
	}
	ibv_ack_async_event(&ev);
	return found;
}

static int poll_for_tester(struct rn_agent *a, struct rn_conform_line *l)
{
	if (!poll_cq(a, 0, l) && !poll_cq(a, 1, l) && !take_comp(a, 0, l) &&
	    !take_comp(a, 1, l) && !take_event(a, l) && !rn_agent_cm_poll(a, l)) {
		l->count = 1;
		l->n[0] = RN_CONFORM_NOTHING;
	}
	return 0;
}

/* -------------------------------------------------------------------- posting sends */
/* Returns the bytes at [@address, @address + @len) in the memory of a region of the
 * scenario. Returns NULL if no region contains them, because a tester must not make this
 * process access other memory.
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

/* Returns an address handle of protection domain @pd for packets to the multicast group
 * (@group) or to the tester. Creates it at first use. Returns NULL if that fails.
 */
static struct ibv_ah *handle_to(struct rn_agent *a, unsigned pd, bool group)
{
	struct ibv_ah_attr attr = path_of(a, group ? &a->group : &a->tester);

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
	if (rn_wr_is_atomic(wr->opcode)) {
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

/* Posts an ATOMIC WRITE by ibv_wr_atomic_write(), the only function for this operation.
 * libibverbs reads the 8 bytes during the call.
 */
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

static int post_send(struct rn_agent *a, struct rn_conform_line *l)
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
	/* A FLUSH needs an SGE for its length, which is all that the SGE contains. */
	if (n[RN_CONFORM_OPCODE] == RN_WR_FLUSH)
		wr.num_sge = 1;
	return ibv_post_send(a->qp[n[0]].qp, &wr, &bad);
}

/* Binds a memory window. For a window of type 1 the function is ibv_bind_mw(), which also
 * chooses the key of the window.
 */
static int post_bind(struct rn_agent *a, struct rn_conform_line *l)
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

/* -------------------------------------------- the device, and answers to the tester */
enum {
	GIDS = 256, /* maximum number of GID table entries that are examined */
	/* Vendor ID of Rocin. Some tests are possible only on devices of Rocin, because
	 * these accept FLUSH in ibv_post_send() and do not pin pages.
	 */
	OUR_VENDOR = 0x524f43,
};

/* --------------------------------------------------- opening and closing the device */
static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* Uses the GID with index @wanted for its own address family. For the other family, uses
 * the first RoCEv2 GID that is not link-local.
 */
static int choose_gids(struct rn_agent *a, uint8_t wanted)
{
	struct ibv_gid_entry e;
	unsigned other;

	if (ibv_query_gid_ex(a->ctx, 1, wanted, &e, 0))
		return -ENOENT;
	other = is_ipv4(&e.gid) ? 1 : 0;
	a->gid[!other] = e.gid;
	a->gid_index[!other] = wanted;
	for (uint32_t i = 0; i < GIDS && a->gid_index[other] < 0; i++) {
		if (ibv_query_gid_ex(a->ctx, 1, i, &e, 0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2 || is_link_local(&e.gid) ||
		    is_ipv4(&e.gid) == (other == 1))
			continue;
		a->gid[other] = e.gid;
		a->gid_index[other] = (int)i;
	}
	return 0;
}

/* Returns the bits of enum rn_conform_can for those optional operations that the device
 * supports according to its capability flags @caps.
 */
static uint32_t operations(uint64_t caps, bool is_ours)
{
	uint32_t can = 0;

	for (unsigned opcode = 0; opcode < RN_WR_COUNT; opcode++) {
		const struct rn_conform_operation *op = rn_conform_operation(opcode);

		if (op && caps & op->cap && (is_ours || !op->is_ours))
			can |= op->ability;
	}
	return can;
}

static uint32_t device_abilities(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;
	uint64_t caps;
	bool is_ours;

	if (ibv_query_device_ex(ctx, NULL, &attr))
		return 0;
	caps = attr.orig_attr.device_cap_flags | attr.device_cap_flags_ex;
	is_ours = attr.orig_attr.vendor_id == OUR_VENDOR;
	return operations(caps, is_ours) |
	       (attr.orig_attr.max_srq ? RN_CONFORM_CAN_SRQ : 0) |
	       (caps & IBV_DEVICE_XRC ? RN_CONFORM_CAN_XRC : 0) |
	       (caps & IBV_DEVICE_MEM_WINDOW ? RN_CONFORM_CAN_MW1 : 0) |
	       (caps & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)
			? RN_CONFORM_CAN_MW2
			: 0) |
	       (attr.orig_attr.max_mcast_grp ? RN_CONFORM_CAN_GROUP : 0) |
	       (caps & IBV_DEVICE_AUTO_PATH_MIG ? RN_CONFORM_CAN_MIGRATE : 0) |
	       (is_ours ? RN_CONFORM_CAN_SOLVE | RN_CONFORM_CAN_UNMAP |
				  RN_CONFORM_CAN_HEAR_GROUP | RN_CONFORM_CAN_BE_OURS
			: 0);
}

int rn_agent_open(struct rn_agent *a, const char *name, uint8_t gid_index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	*a = (struct rn_agent){ .gid_index = { RN_AGENT_GID_NONE, RN_AGENT_GID_NONE } };
	for (unsigned i = 0; list && list[i] && !a->ctx; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			a->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!a->ctx) {
		fprintf(stderr, "rocin-conform-agent: no device %s\n", name ? name : "");
		return -ENODEV;
	}
	if (choose_gids(a, gid_index) || fcntl(a->ctx->async_fd, F_SETFL, O_NONBLOCK)) {
		fprintf(stderr, "rocin-conform-agent: the device has no GID %u\n",
			gid_index);
		ibv_close_device(a->ctx);
		return -ENOENT;
	}
	a->can = rn_agent_try(a, device_abilities(a->ctx));
	if (rn_agent_cm_open(a))
		a->can |= RN_CONFORM_CAN_CONNECT;
	return 0;
}

void rn_agent_close(struct rn_agent *a)
{
	rn_agent_clear(a);
	rn_agent_cm_close(a);
	ibv_close_device(a->ctx);
	a->ctx = NULL;
}

/* ------------------------------------------------- answers to the tester's requests */
static int answer_hello(struct rn_agent *a, struct rn_conform_line *l)
{
	l->count = 7;
	l->n[0] = RN_CONFORM_VERSION;
	l->n[1] = (uint64_t)getpid();
	l->n[2] = a->can;
	memcpy(&l->n[3], a->gid, sizeof(a->gid));
	return 0;
}

static int begin_scenario(struct rn_agent *a, struct rn_conform_line *l)
{
	int least = 1 << 16;

	if (l->count != 7 || l->n[0] == 0 || l->n[0] > 1 << 16)
		return EPROTO;
	rn_agent_clear(a);
	memcpy(a->tester.raw, &l->n[1], sizeof(a->tester.raw));
	memcpy(a->other.raw, &l->n[3], sizeof(a->other.raw));
	memcpy(a->group.raw, &l->n[5], sizeof(a->group.raw));
	for (unsigned i = 0; i < 2; i++) {
		a->channel[i] = ibv_create_comp_channel(a->ctx);
		if (!a->channel[i] || fcntl(a->channel[i]->fd, F_SETFL, O_NONBLOCK))
			return ENOMEM;
		a->cq[i] = ibv_create_cq(a->ctx, (int)l->n[0], NULL, a->channel[i], 0);
		if (!a->cq[i])
			return errno;
		least = a->cq[i]->cqe < least ? a->cq[i]->cqe : least;
	}
	l->count = 1;
	l->n[0] = (uint64_t)least;
	return 0;
}

static int query(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int rc;

	if (l->count != 1 || l->n[0] >= a->qps)
		return EPROTO;
	rc = ibv_query_qp(a->qp[l->n[0]].qp, &attr,
			  IBV_QP_STATE | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN |
				  IBV_QP_PATH_MIG_STATE,
			  &init);
	if (rc)
		return rc;
	l->count = 4;
	l->n[0] = attr.qp_state;
	l->n[1] = attr.rq_psn;
	l->n[2] = attr.sq_psn;
	l->n[3] = attr.path_mig_state;
	return 0;
}

static int memory(struct rn_agent *a, struct rn_conform_line *l)
{
	uint64_t offset = l->n[1], len = l->n[2];
	const struct rn_agent_mr *m = &a->mr[l->n[0] % RN_SCN_MRS];

	if (l->count != 3 || l->n[0] >= a->mrs || len > RN_CONFORM_READ_MAX)
		return EPROTO;
	if (!m->buf || m->unmapped || offset > m->len || len > m->len - offset)
		return EFAULT;
	memset(l->n, 0, sizeof(l->n));
	memcpy(l->n, m->buf + offset, len);
	l->count = (unsigned)(len + 7) / 8;
	return 0;
}

static int arm(struct rn_agent *a, struct rn_conform_line *l)
{
	if (l->count != 2 || l->n[0] > 1 || !a->cq[l->n[0]])
		return EPROTO;
	return ibv_req_notify_cq(a->cq[l->n[0]], l->n[1] != 0);
}

/* Returns the row of the table for the request @word, or NULL. */
static const struct rn_agent_word *find_word(const struct rn_agent_word *w,
					     const char *word)
{
	while (w->word && strcmp(w->word, word) != 0)
		w++;
	return w->word ? w : NULL;
}

void rn_agent_answer(struct rn_agent *a, struct rn_conform_line *l)
{
	static const struct rn_agent_word verbs[] = {
		{ "hello", answer_hello },
		{ "begin", begin_scenario },
		{ "mr", rn_agent_add_mr },
		{ "mw", rn_agent_add_mw },
		{ "srq", rn_agent_add_srq },
		{ "qp", rn_agent_add_qp },
		{ "modify", modify_qp },
		{ "post", post_send },
		{ "bind", post_bind },
		{ "recv", post_recv },
		{ "srecv", post_srq_recv },
		{ "limit", set_srq_limit },
		{ "group", join_group },
		{ "poll", poll_for_tester },
		{ "query", query },
		{ "memory", memory },
		{ "dereg", rn_agent_dereg },
		{ "unmap", rn_agent_unmap },
		{ "arm", arm },
		{ 0 },
	};
	const struct rn_agent_word *w = find_word(verbs, l->word);
	int rc;

	if (!w)
		w = find_word(rn_agent_cm_words, l->word);
	rc = w ? w->run(a, l) : EPROTO;
	if (rc) {
		l->count = 1;
		l->n[0] = (uint64_t)(unsigned)rc;
	}
	memcpy(l->word, rc ? "no" : "ok", sizeof("ok"));
}
