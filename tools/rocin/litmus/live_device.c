/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_device.c - devices that play the NICs of a test. */
#include <errno.h>
#include <string.h>

#include "live.h"
#include "rocin/access.h"

enum {
	PORT = 1,
	RD_ATOMIC_MAX = 16,
	GIDS_MAX = 64, /* looked at */
};

/* The NIC'th device that is ours; on hardware any, and fewer than NICs may do. */
static struct ibv_device *choose(struct rn_live *l, unsigned nic)
{
	int ours = 0;

	if (l->request->is_hw)
		return l->list_len > 0 ? l->list[nic % (unsigned)l->list_len] : NULL;
	for (int i = 0; i < l->list_len; i++)
		if (!strncmp(ibv_get_device_name(l->list[i]), "rocin", 5) &&
		    ours++ == (int)nic)
			return l->list[i];
	return NULL;
}

/* The first RoCE v2 address of an Ethernet port, preferably an IPv4 one. */
static int choose_gid(struct rn_live_device *d)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;
	bool is_found = false;

	for (uint32_t i = 0; i < GIDS_MAX; i++) {
		bool is_ipv4;

		if (ibv_query_gid_ex(d->ctx, PORT, i, &entry, 0))
			continue;
		if (d->is_ethernet && entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		is_ipv4 = !memcmp(entry.gid.raw, ipv4, sizeof(ipv4));
		if (is_found && !is_ipv4)
			continue;
		d->gid = entry.gid;
		d->gid_index = (uint8_t)i;
		is_found = true;
		if (is_ipv4)
			break;
	}
	return is_found ? 0 : -1;
}

/* IB_UVERBS_DEVICE_FLUSH_GLOBAL */
#define CAN_FLUSH (1ULL << 38)

static unsigned flush_access(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	if (ibv_query_device_ex(ctx, NULL, &attr) ||
	    !(attr.device_cap_flags_ex & CAN_FLUSH))
		return 0;
	return RN_ACCESS_FLUSH_GLOBAL;
}

static int query(struct rn_live *l, struct rn_live_device *d)
{
	const char *name = ibv_get_device_name(d->ctx->device);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	int atomic;

	if (ibv_query_device(d->ctx, &attr) || ibv_query_port(d->ctx, PORT, &port))
		return rn_live_fail(l, "%s cannot be queried: %s", name, strerror(errno));
	if (port.state != IBV_PORT_ACTIVE)
		return rn_live_fail(l, "%s is down", name);
	d->is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	d->lid = port.lid;
	d->mtu = (uint8_t)port.active_mtu;
	atomic = attr.max_qp_rd_atom < attr.max_qp_init_rd_atom
			 ? attr.max_qp_rd_atom
			 : attr.max_qp_init_rd_atom;
	d->rd_atomic = (uint8_t)(atomic < RD_ATOMIC_MAX ? atomic : RD_ATOMIC_MAX);
	d->flush_access = flush_access(d->ctx);
	if (choose_gid(d))
		return rn_live_fail(l, "%s has no address for RoCE v2", name);
	return 0;
}

static int open_device(struct rn_live *l, struct rn_live_device *d, unsigned nic)
{
	struct ibv_device *chosen;

	if (!l->list)
		l->list = ibv_get_device_list(&l->list_len);
	chosen = l->list ? choose(l, nic) : NULL;
	if (!chosen)
		return rn_live_fail(l, "there is no RDMA device number %u", nic);
	d->ctx = ibv_open_device(chosen);
	if (!d->ctx)
		return rn_live_fail(l, "%s does not open: %s",
				    ibv_get_device_name(chosen), strerror(errno));
	if (query(l, d))
		return -1;
	d->pd = ibv_alloc_pd(d->ctx);
	return d->pd ? 0 : rn_live_fail(l, "ibv_alloc_pd: %s", strerror(errno));
}

struct rn_live_device *rn_live_device(struct rn_live *l, unsigned nic)
{
	struct rn_live_device *d = &l->device[nic];

	if (!d->ctx && open_device(l, d, nic))
		return NULL;
	return d;
}

void rn_live_close_devices(struct rn_live *l)
{
	for (unsigned i = 0; i < RN_LIVE_NICS; i++) {
		if (l->device[i].pd)
			ibv_dealloc_pd(l->device[i].pd);
		if (l->device[i].ctx)
			ibv_close_device(l->device[i].ctx);
	}
	memset(l->device, 0, sizeof(l->device));
	if (l->list)
		ibv_free_device_list(l->list);
	l->list = NULL;
}
