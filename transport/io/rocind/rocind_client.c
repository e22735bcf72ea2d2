/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_client.c - the requests that a client can make. See rocind_client.h. */
#include "rocind_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rocind_conn.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/host/sentence.h"

static int attach(struct rn_rocind *r, const struct rn_netdev *dev, int stats_fd,
		  struct rn_attach *out, const struct rn_complaint *c)
{
	struct rn_ctl_attach msg = { .hdr = rn_ctl_hdr(RN_CTL_ATTACH),
				     .ifindex = dev->ifindex,
				     .gid_count = dev->gid_count,
				     .up = dev->up,
				     .all_addresses = dev->all_addresses,
				     .wires = r->takes_wires,
				     .bare = r->takes_bare };
	struct rn_ctl_packet pkt;
	const struct rn_ctl_attached *answer = &pkt.msg.attached;
	int rc;

	if (dev->gid_count == 0 || dev->gid_count > RN_GID_MAX)
		return rn_fail(c->err, c->err_len, -EINVAL,
			       "a device needs 1 to %d addresses", RN_GID_MAX);
	snprintf(msg.ibdev, sizeof(msg.ibdev), "%s", dev->ibdev);
	snprintf(msg.ifname, sizeof(msg.ifname), "%s", dev->ifname);
	memcpy(msg.gid, dev->gid, dev->gid_count * sizeof(msg.gid[0]));
	rc = rn_rocind_request(r, &msg, stats_fd, &pkt, RN_CTL_ATTACHED, c);
	if (rc)
		return rc;
	if (answer->slot < 1 || answer->slot > RN_CTL_SLOT_MAX ||
	    answer->qpn_counter < 1 || answer->qpn_counter > UINT16_MAX ||
	    answer->sock_count != dev->gid_count || pkt.fd_count != dev->gid_count) {
		rn_ctl_close_fds(&pkt);
		return rn_rocind_lose(r, -EBADMSG, c);
	}
	*out = (struct rn_attach){ .slot = answer->slot,
				   .qpn_counter = answer->qpn_counter,
				   .sock_count = pkt.fd_count };
	memcpy(out->sock, pkt.fd, pkt.fd_count * sizeof(out->sock[0]));
	return 0;
}

int rn_rocind_attach(struct rn_rocind *r, const struct rn_netdev *dev, int stats_fd,
		     struct rn_attach *out, char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	int before = rn_rocind_cancel_off();
	int rc = attach(r, dev, stats_fd, out, &c);

	rn_rocind_cancel_restore(before);
	return rc;
}

/* A request and an answer that are a header alone. */
static int plain_request(struct rn_rocind *r, enum rn_ctl_type type,
			 enum rn_ctl_type want, const struct rn_complaint *c)
{
	const struct rn_ctl_hdr msg = rn_ctl_hdr(type);
	struct rn_ctl_packet pkt;
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, -1, &pkt, want, c);

	if (rc == 0)
		rn_ctl_close_fds(&pkt);
	rn_rocind_cancel_restore(before);
	return rc;
}

int rn_rocind_open_cm(struct rn_rocind *r, const char *netdevs, int *board, char *err,
		      size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	struct rn_ctl_cm_open msg = { .hdr = rn_ctl_hdr(RN_CTL_CM_OPEN) };
	struct rn_ctl_packet pkt;
	int rc, before;

	*board = -1;
	if (strlen(netdevs) >= sizeof(msg.netdevs))
		return rn_fail(err, err_len, -EINVAL, "too long a list of devices");
	memcpy(msg.netdevs, netdevs, strlen(netdevs));
	before = rn_rocind_cancel_off();
	rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_CM_OPENED, &c);
	if (rc == 0 && (pkt.fd_count < 1 || pkt.fd_count > 2)) {
		rn_ctl_close_fds(&pkt);
		rc = rn_rocind_lose(r, -EBADMSG, &c);
	} else if (rc == 0) {
		rc = rn_fd_raise(pkt.fd[0]);
		if (pkt.fd_count == 2)
			*board = pkt.fd[1];
	}
	rn_rocind_cancel_restore(before);
	return rc;
}

int rn_rocind_detach(struct rn_rocind *r, char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };

	return plain_request(r, RN_CTL_DETACH, RN_CTL_DETACHED, &c);
}

int rn_rocind_shutdown(struct rn_rocind *r, char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	int rc = plain_request(r, RN_CTL_SHUTDOWN, RN_CTL_STOPPING, &c);

	if (rc == 0)
		r->gone = true;
	return rc;
}

int rn_rocind_status(struct rn_rocind *r, struct rn_rocind_status *out, char *err,
		     size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	const struct rn_ctl_hdr msg = rn_ctl_hdr(RN_CTL_STATUS);
	struct rn_ctl_packet pkt;
	const struct rn_ctl_status_reply *answer = &pkt.msg.status;
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_STATUS_REPLY, &c);

	static_assert((int)RN_ROCIND_DROP_COUNT <= (int)RN_CTL_DROP_MAX, "drops fit");
	if (rc == 0) {
		rn_ctl_close_fds(&pkt);
		*out = (struct rn_rocind_status){ .pid = answer->pid,
						  .since_s = answer->since_s,
						  .idle_ms = answer->idle_ms,
						  .clients = answer->clients,
						  .attached = answer->attached,
						  .groups = answer->groups,
						  .cm_channels = answer->cm_channels,
						  .cm_ids = answer->cm_ids,
						  .cm_ports = answer->cm_ports,
						  .cm_connections =
							  answer->cm_connections };
		snprintf(out->version, sizeof(out->version), "%.*s",
			 (int)sizeof(answer->version) - 1, answer->version);
		memcpy(out->drops, answer->drops, sizeof(out->drops));
	}
	rn_rocind_cancel_restore(before);
	return rc;
}

/* Return: 0 with one client in @out and the cursor moved on, 1 at the end, or -errno. */
static int next_client(struct rn_rocind *r, struct rn_ctl_list *cursor,
		       struct rn_rocind_client *out, const struct rn_complaint *c)
{
	struct rn_ctl_packet pkt;
	const struct rn_ctl_client *answer = &pkt.msg.client;
	int rc = rn_rocind_request(r, cursor, -1, &pkt, RN_CTL_CLIENT, c);

	if (rc)
		return rc;
	if (pkt.msg.hdr.type == RN_CTL_LIST_END) {
		rn_ctl_close_fds(&pkt);
		return 1;
	}
	if (answer->id <= cursor->after || answer->gid_count > RN_GID_MAX ||
	    pkt.fd_count != (answer->has_stats ? 1 : 0)) {
		rn_ctl_close_fds(&pkt);
		return rn_rocind_lose(r, -EBADMSG, c);
	}
	cursor->after = answer->id;
	*out = (struct rn_rocind_client){ .pid = answer->pid,
					  .slot = answer->slot,
					  .gid_count = answer->gid_count,
					  .stats_fd = pkt.fd_count ? pkt.fd[0] : -1 };
	memcpy(out->gid, answer->gid, sizeof(out->gid));
	snprintf(out->ibdev, sizeof(out->ibdev), "%.*s", (int)sizeof(answer->ibdev) - 1,
		 answer->ibdev);
	snprintf(out->ifname, sizeof(out->ifname), "%.*s",
		 (int)sizeof(answer->ifname) - 1, answer->ifname);
	return 0;
}

int rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
		   char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	struct rn_ctl_list cursor = { .hdr = rn_ctl_hdr(RN_CTL_LIST) };

	for (;;) {
		struct rn_rocind_client client;
		int before = rn_rocind_cancel_off();
		int rc = next_client(r, &cursor, &client, &c);

		rn_rocind_cancel_restore(before);
		if (rc)
			return rc > 0 ? 0 : rc;
		rc = on_client(ctx, &client);
		if (rc)
			return rc;
	}
}
