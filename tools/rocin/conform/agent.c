/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent.c - the device of rocin-conform-agent, and the answers to a tester. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the capabilities of a device; headers of release 44 do not name it. */
#define CAN_FLUSH_GLOBAL (UINT64_C(1) << 38)
#define CAN_ATOMIC_WRITE (UINT64_C(1) << 40)

enum {
	GIDS = 256,	       /* that are looked at */
	OUR_VENDOR = 0x524f43, /* takes a FLUSH by ibv_post_send(), reads from sockets */
};

/* --------------------------------------------------------------------- device */
static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* The GID that was asked for and the first of the other family. */
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

static uint32_t abilities(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;
	uint64_t caps;

	if (ibv_query_device_ex(ctx, NULL, &attr))
		return 0;
	caps = attr.orig_attr.device_cap_flags | attr.device_cap_flags_ex;
	return (attr.orig_attr.max_srq ? RN_CONFORM_CAN_SRQ : 0) |
	       (caps & IBV_DEVICE_XRC ? RN_CONFORM_CAN_XRC : 0) |
	       (caps & IBV_DEVICE_MEM_WINDOW ? RN_CONFORM_CAN_MW1 : 0) |
	       (caps & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)
			? RN_CONFORM_CAN_MW2
			: 0) |
	       (attr.orig_attr.max_mcast_grp ? RN_CONFORM_CAN_GROUP : 0) |
	       (caps & CAN_FLUSH_GLOBAL && attr.orig_attr.vendor_id == OUR_VENDOR
			? RN_CONFORM_CAN_FLUSH
			: 0) |
	       (caps & CAN_ATOMIC_WRITE ? RN_CONFORM_CAN_ATOMIC_WRITE : 0) |
	       (caps & IBV_DEVICE_AUTO_PATH_MIG ? RN_CONFORM_CAN_MIGRATE : 0) |
	       (attr.orig_attr.vendor_id == OUR_VENDOR
			? RN_CONFORM_CAN_SOLVE | RN_CONFORM_CAN_UNMAP
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
	a->can = abilities(a->ctx);
	return 0;
}

/* -------------------------------------------------------------------- answers */
static int hello(struct rn_agent *a, struct rn_conform_line *l)
{
	l->count = 7;
	l->n[0] = RN_CONFORM_VERSION;
	l->n[1] = (uint64_t)getpid();
	l->n[2] = a->can;
	memcpy(&l->n[3], a->gid, sizeof(a->gid));
	return 0;
}

static int begin(struct rn_agent *a, struct rn_conform_line *l)
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

void rn_agent_answer(struct rn_agent *a, struct rn_conform_line *l)
{
	static const struct {
		const char *word;
		int (*run)(struct rn_agent *a, struct rn_conform_line *l);
	} verbs[] = {
		{ "hello", hello },
		{ "begin", begin },
		{ "mr", rn_agent_add_mr },
		{ "mw", rn_agent_add_mw },
		{ "srq", rn_agent_add_srq },
		{ "qp", rn_agent_add_qp },
		{ "modify", rn_agent_modify },
		{ "post", rn_agent_post },
		{ "bind", rn_agent_bind },
		{ "recv", rn_agent_recv },
		{ "srecv", rn_agent_srq_recv },
		{ "limit", rn_agent_limit },
		{ "group", rn_agent_group },
		{ "poll", rn_agent_poll },
		{ "query", query },
		{ "memory", memory },
		{ "dereg", rn_agent_dereg },
		{ "unmap", rn_agent_unmap },
		{ "arm", arm },
	};
	int rc = EPROTO;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(l->word, verbs[i].word))
			rc = verbs[i].run(a, l);
	if (rc) {
		l->count = 1;
		l->n[0] = (uint64_t)(unsigned)rc;
	}
	memcpy(l->word, rc ? "no" : "ok", sizeof("ok"));
}
