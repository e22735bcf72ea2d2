/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* resolve.c - commands that bind rdma_cm ids to addresses, and resolve addresses and
 * routes.
 */
#include <errno.h>
#include <string.h>

#include "id.h"

/* ---- Devices and addresses ---- */

static int find_gid(const struct rnd_ucma_dev *dev, const struct rn_gid *gid)
{
	for (uint32_t i = 0; i < dev->nd.gid_count; i++)
		if (memcmp(&dev->nd.gid[i], gid, sizeof(*gid)) == 0)
			return (int)i;
	return -1;
}

uint8_t rnd_gid_index(const struct rnd_ucma_dev *dev, const struct rn_gid *gid)
{
	int i = find_gid(dev, gid);

	return i < 0 ? 0 : (uint8_t)i;
}

/* Returns the path MTU of the device's interface, as an enum ibv_mtu. */
static uint8_t path_mtu(const struct rnd_ucma_dev *dev)
{
	uint32_t mtu = rn_netdev_path_mtu(dev->nd.mtu);

	return mtu ? (uint8_t)(__builtin_ctz(mtu) - 7) : 1;
}

struct rnd_ucma_dev *rnd_find_dev(const struct rnd_ucma_channel *ch,
				  const struct rnd_address *addr)
{
	for (unsigned i = 0; i < ch->dev_count; i++)
		if (find_gid(ch->dev[i], &addr->gid) >= 0 &&
		    (!addr->scope || addr->scope == ch->dev[i]->nd.ifindex))
			return ch->dev[i];
	return NULL;
}

/* Makes rocind receive the packets to QP1 of the address @gid of device @dev. */
static int hold_address(const struct rnd_ucma_channel *ch, const struct rnd_ucma_dev *dev,
			const struct rn_gid *gid)
{
	const struct rnd_ucma_cfg *cfg = &ch->ucma->cfg;

	return cfg->ops->hold(cfg->ctx, gid,
			      rn_gid_is_link_local(gid) ? dev->nd.ifindex : 0);
}

/* Called for an rdma_cm id with a wildcard address. Makes rocind receive the packets to
 * QP1 of all addresses of the program's devices. An address at which this fails is left
 * out, for instance if another program has its UDP port; if it fails at all of them, the
 * call fails. Returns 0 or -errno.
 */
static int hold_all(const struct rnd_ucma_channel *ch, uint16_t family, bool only)
{
	int rc = -ENODEV;

	for (unsigned d = 0; d < ch->dev_count; d++) {
		const struct rn_netdev *nd = &ch->dev[d]->nd;

		for (uint32_t i = 0; i < nd->gid_count; i++) {
			bool is_v4 = rn_gid_is_ipv4(&nd->gid[i]);
			int held;

			if (is_v4 ? family == AF_INET6 && only : family == AF_INET)
				continue;
			held = hold_address(ch, ch->dev[d], &nd->gid[i]);
			if (rc)
				rc = held;
		}
	}
	/* If no device has a suitable address, the program may listen nevertheless. */
	return rc == -ENODEV ? 0 : rc;
}

static int take_port(struct rnd_id *id, const struct rnd_address *addr)
{
	struct rnd_ucma *ucma = id->ch->ucma;
	int rc;

	id->port.src = *addr;
	rc = rnd_port_take(&ucma->ports, &id->port, rnd_ucma_random(ucma));
	if (rc)
		id->port.src = (struct rnd_address){ 0 };
	else
		id->state = RND_ID_BOUND;
	return rc;
}

/* Returns @addr. If it is the loopback address and no device has that address, returns
 * the wildcard, as Linux does (cma_any_addr() in cma.c). Other addresses of 127.0.0.0/8
 * stay as they are, because devices can have them.
 */
static struct rnd_address own_or_any(const struct rnd_ucma_channel *ch,
				     const struct rnd_address *addr)
{
	struct rnd_address meant = *addr;

	if (rnd_address_is_localhost(addr) && !rnd_find_dev(ch, addr))
		meant.gid = (struct rn_gid){ 0 };
	return meant;
}

static struct rnd_address anyones_or_any(const struct rnd_ucma *ucma,
					 const struct rnd_address *addr)
{
	struct rnd_address meant = { 0 };

	for (struct rn_list *l = ucma->channels.next; l != &ucma->channels; l = l->next) {
		meant = own_or_any(RN_CONTAINER_OF(l, struct rnd_ucma_channel, link),
				   addr);
		if (!rnd_address_is_any(&meant))
			break;
	}
	return meant;
}

int rnd_id_bind(struct rnd_id *id, const struct rnd_address *wanted)
{
	const struct rnd_ucma_cfg *cfg = &id->ch->ucma->cfg;
	const struct rnd_address meant = own_or_any(id->ch, wanted), *addr = &meant;
	struct rnd_ucma_dev *dev = NULL;
	int rc;

	if (id->state != RND_ID_IDLE)
		return -EINVAL;
	if (rn_gid_is_link_local(&addr->gid) && !addr->scope)
		return -EINVAL;
	if (rnd_address_is_any(addr)) {
		rc = hold_all(id->ch, addr->family, id->port.v6only);
	} else {
		dev = rnd_find_dev(id->ch, addr);
		if (!dev)
			return cfg->ops->is_local(cfg->ctx, &addr->gid) ? -ENODEV
									: -EADDRNOTAVAIL;
		rc = hold_address(id->ch, dev, &addr->gid);
	}
	if (rc == 0)
		rc = take_port(id, addr);
	if (rc == 0)
		id->dev = dev;
	return rc;
}

static int bind_to(struct rnd_call *c, uint32_t number, const void *sa, size_t len)
{
	struct rnd_address addr;
	struct rnd_id *id;
	int rc;

	if (rnd_address_read(&addr, sa, len))
		return -EINVAL;
	rc = rnd_id_find(c->ch, number, &id);
	return rc ? rc : rnd_id_bind(id, &addr);
}

int rnd_cmd_bind_ip(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_bind_ip *cmd = &in->bind_ip;

	return bind_to(c, cmd->id, &cmd->addr, sizeof(cmd->addr));
}

/* Returns true if @size is the size of a socket address of the family in @sa. */
static bool fits(const void *sa, uint16_t size)
{
	uint16_t family;

	memcpy(&family, sa, sizeof(family));
	return size && size == rnd_address_size(family);
}

/* Executes BIND. By this command librdmacm also finds out whether there are InfiniBand
 * addresses (AF_IB); there are none.
 */
int rnd_cmd_bind(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_bind *cmd = &in->bind;
	struct rnd_id *id;
	int rc;

	if (cmd->addr.ss_family == AF_IB && !cmd->reserved) {
		rc = rnd_id_find(c->ch, cmd->id, &id);
		return rc ? rc : -EADDRNOTAVAIL;
	}
	if (cmd->reserved || !fits(&cmd->addr, cmd->addr_size))
		return -EINVAL;
	return bind_to(c, cmd->id, &cmd->addr, cmd->addr_size);
}

/* ---- Resolving addresses and routes ---- */

/* Returns the device that a route uses, or NULL. Sets *@src to the source address: the
 * one that the route prefers or, if the device does not have it, the first suitable
 * address of the device.
 */
static struct rnd_ucma_dev *choose_dev(const struct rnd_id *id,
				       const struct rnd_ucma_route *route,
				       struct rn_gid *src)
{
	const struct rnd_ucma_channel *ch = id->ch;

	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned d = 0; d < ch->dev_count; d++) {
			const struct rn_netdev *nd = &ch->dev[d]->nd;

			if (pass == 0 && find_gid(ch->dev[d], &route->src) >= 0) {
				*src = route->src;
				return ch->dev[d];
			}
			/* A destination on this machine can be reached from any of the
			 * program's devices.
			 */
			if (pass == 0 ||
			    (nd->ifindex != route->ifindex && !route->is_local))
				continue;
			for (uint32_t i = 0; i < nd->gid_count; i++) {
				if (rn_gid_is_ipv4(&nd->gid[i]) !=
					    rn_gid_is_ipv4(&id->port.dst.gid) ||
				    rn_gid_is_link_local(&nd->gid[i]) !=
					    rn_gid_is_link_local(&id->port.dst.gid))
					continue;
				*src = nd->gid[i];
				return ch->dev[d];
			}
		}
	}
	return NULL;
}

/* Replaces a wildcard destination by an address of the program's own devices. */
static int loop_back(struct rnd_id *id)
{
	const struct rnd_ucma_channel *ch = id->ch;

	for (unsigned d = 0; d < ch->dev_count; d++) {
		const struct rn_netdev *nd = &ch->dev[d]->nd;

		for (uint32_t i = 0; i < nd->gid_count; i++) {
			if (rn_gid_is_ipv4(&nd->gid[i]) !=
			    (id->port.dst.family == AF_INET))
				continue;
			id->port.dst.gid = nd->gid[i];
			if (rn_gid_is_link_local(&nd->gid[i]))
				id->port.dst.scope = nd->ifindex;
			return 0;
		}
	}
	return -ENODEV;
}

/* Finds the route to the destination of the rdma_cm id, and by it the id's device and
 * source address. Returns 0; -errno if the command must fail; or a positive errno, which
 * the event ADDR_ERROR reports.
 */
static int find_way(struct rnd_id *id)
{
	const struct rnd_ucma_cfg *cfg = &id->ch->ucma->cfg;
	bool is_bound = !rnd_address_is_any(&id->port.src);
	struct rnd_ucma_route route;
	struct rnd_ucma_dev *dev;
	struct rn_gid src;
	int rc;

	if (rnd_address_is_any(&id->port.dst) && loop_back(id))
		return ENODEV;
	rc = cfg->ops->route(cfg->ctx, &id->port.dst.gid, id->port.dst.scope,
			     is_bound ? &id->port.src.gid : NULL, &route);
	if (rc)
		return rc;
	if (is_bound) {
		dev = rnd_find_dev(id->ch, &id->port.src);
		src = id->port.src.gid;
	} else {
		dev = choose_dev(id, &route, &src);
	}
	if (!dev)
		return ENODEV;
	rc = hold_address(id->ch, dev, &src);
	if (rc)
		return -rc;
	id->dev = dev;
	id->port.src.gid = src;
	id->port.src.family = id->port.dst.family;
	if (rn_gid_is_link_local(&src))
		id->port.src.scope = dev->nd.ifindex;
	return 0;
}

static int resolve(struct rnd_id *id, const struct rnd_address *src,
		   const struct rnd_address *dst)
{
	struct rnd_address any = { .family = dst->family };
	int rc;

	if (rn_gid_is_link_local(&dst->gid) && !dst->scope)
		return -EINVAL;
	if (id->state == RND_ID_IDLE) {
		id->port.dst = *dst;
		rc = rnd_id_bind(id, src ? src : &any);
		if (rc) {
			id->port.dst = (struct rnd_address){ 0 };
			return rc;
		}
	}
	if (id->state != RND_ID_BOUND || id->port.src.family != dst->family)
		return -EINVAL;
	id->port.dst = *dst;
	rc = find_way(id);
	if (rc < 0)
		return rc;
	if (rc == 0)
		id->state = RND_ID_ADDR_RESOLVED;
	rnd_event_queue(id, rc ? RND_EV_ADDR_ERROR : RND_EV_ADDR_RESOLVED, -rc);
	return 0;
}

/* Resolves the destination @dst_sa for rdma_cm id @number. If the family of @src_sa is 0,
 * the program has given no source.
 */
static int resolve_between(struct rnd_call *c, uint32_t number, const void *src_sa,
			   const void *dst_sa, size_t len)
{
	struct rnd_address src, dst;
	uint16_t src_family;
	struct rnd_id *id;
	int rc;

	memcpy(&src_family, src_sa, sizeof(src_family));
	if (rnd_address_read(&dst, dst_sa, len) ||
	    (src_family && rnd_address_read(&src, src_sa, len)))
		return -EINVAL;
	dst = anyones_or_any(c->ch->ucma, &dst);
	rc = rnd_id_find(c->ch, number, &id);
	if (rc)
		return rc;
	return resolve(id, src_family ? &src : NULL, &dst);
}

int rnd_cmd_resolve_ip(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_resolve_ip *cmd = &in->resolve_ip;

	return resolve_between(c, cmd->id, &cmd->src_addr, &cmd->dst_addr,
			       sizeof(cmd->dst_addr));
}

int rnd_cmd_resolve_addr(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_resolve_addr *cmd = &in->resolve_addr;

	if (cmd->reserved || (cmd->src_size && !fits(&cmd->src_addr, cmd->src_size)) ||
	    !fits(&cmd->dst_addr, cmd->dst_size))
		return -EINVAL;
	return resolve_between(c, cmd->id, &cmd->src_addr, &cmd->dst_addr,
			       sizeof(cmd->dst_addr));
}

int rnd_cmd_resolve_route(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_resolve_route *cmd = &in->resolve_route;
	struct rnd_id *id;
	int rc = rnd_id_find(c->ch, cmd->id, &id);

	if (rc)
		return rc;
	if (id->state != RND_ID_ADDR_RESOLVED)
		return -EINVAL;
	id->state = RND_ID_ROUTE_RESOLVED;
	rnd_event_queue(id, RND_EV_ROUTE_RESOLVED, 0);
	return 0;
}

/* Fills in the route of an rdma_cm id. Source: cma_resolve_iboe_route() in
 * drivers/infiniband/core/cma.c.
 */
void rnd_id_route(const struct rnd_id *id, struct rn_cm_route *route)
{
	uint32_t label = ntohl(id->port.dst.flowinfo) & 0xfffff;

	if (!label)
		label = ((uint32_t)id->port.src.port * 31 + id->port.dst.port) & 0xfffff;
	*route = (struct rn_cm_route){
		.flow = { .src = id->port.src.gid,
			  .dst = id->port.dst.gid,
			  .ifindex = id->dev->nd.ifindex,
			  .tclass = id->tos },
		.flow_label = label,
		.mtu = path_mtu(id->dev),
		.lifetime = id->has_ack_timeout && id->ack_timeout
				    ? (uint8_t)(id->ack_timeout - 1)
				    : 0,
	};
}
