/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* link.c - queue pair and TCP connection of a network drive. */
#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	DEPTH = 4,
	/* Time in ms between two looks at the socket by one who waits for a completion;
	 * only a missed event would make it matter.
	 */
	LOOK_MS = 1000,
};

struct hello {
	uint32_t magic;
	uint32_t qpn, psn;
	uint32_t path_mtu;
	uint8_t gid[16];
};

static int tell(char *err, size_t len, const char *what)
{
	int error = errno ? errno : EIO;

	snprintf(err, len, "%s: %s", what, strerror(error));
	return -error;
}

/* ------------------------------------------------------------- device of an address */
/* Finds the index of the GID that is the IPv4 address @ip; -1 if the device has none. */
static int find_gid(struct ibv_context *context, in_addr_t ip, union ibv_gid *gid)
{
	struct ibv_port_attr port;

	if (ibv_query_port(context, 1, &port))
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid(context, 1, i, gid))
			continue;
		if (gid->raw[10] == 0xff && gid->raw[11] == 0xff &&
		    !memcmp(gid->raw + 12, &ip, 4))
			return i;
	}
	return -1;
}

static struct ibv_context *open_device(in_addr_t ip, int *gid_index, union ibv_gid *gid)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context = NULL;

	for (int i = 0; list && i < count && !context; i++) {
		context = ibv_open_device(list[i]);
		*gid_index = context ? find_gid(context, ip, gid) : -1;
		if (context && *gid_index < 0) {
			ibv_close_device(context);
			context = NULL;
		}
	}
	if (list)
		ibv_free_device_list(list);
	return context;
}

/* Returns the address of the device to use, in network order; INADDR_ANY if none. */
static in_addr_t own_address(int tcp, const char *address)
{
	struct sockaddr_in own = { 0 };
	socklen_t len = sizeof(own);

	if (address)
		return inet_addr(address);
	if (getsockname(tcp, (struct sockaddr *)&own, &len) || own.sin_family != AF_INET)
		return INADDR_ANY;
	return own.sin_addr.s_addr;
}

/* -------------------------------------------------------------------- connecting */
static bool transfer_all(int tcp, void *data, size_t len, bool is_send)
{
	char *at = data;

	while (len > 0) {
		ssize_t n = is_send ? send(tcp, at, len, MSG_NOSIGNAL)
				    : recv(tcp, at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = ECONNRESET;
			return false;
		}
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static int connect_qp(struct rn_netdrive_link *l, const struct hello *own,
		      const struct hello *peer, int gid_index)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT,
				 .port_num = 1,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ };
	int err = ibv_modify_qp(l->qp, &a,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS);

	if (err)
		return err;
	err = rn_netdrive_link_receive(l);
	if (err)
		return -err;
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				  .path_mtu = own->path_mtu < peer->path_mtu
						      ? own->path_mtu
						      : peer->path_mtu,
				  .dest_qp_num = peer->qpn,
				  .rq_psn = peer->psn,
				  .max_dest_rd_atomic = 4,
				  .min_rnr_timer = 12,
				  .ah_attr = { .is_global = 1,
					       .port_num = 1,
					       .grh = { .sgid_index = (uint8_t)gid_index,
							.hop_limit = 64 } } };
	memcpy(a.ah_attr.grh.dgid.raw, peer->gid, 16);
	err = ibv_modify_qp(l->qp, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .sq_psn = own->psn,
				  .max_rd_atomic = 4 };
	return ibv_modify_qp(l->qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

static bool make_objects(struct rn_netdrive_link *l)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1,
					 .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };

	l->pd = ibv_alloc_pd(l->context);
	l->channel = ibv_create_comp_channel(l->context);
	if (!l->pd || !l->channel)
		return false;
	l->cq = ibv_create_cq(l->context, 2 * DEPTH, NULL, l->channel, 0);
	l->messages = calloc(2, sizeof(*l->messages));
	if (!l->cq || !l->messages)
		return false;
	init.send_cq = l->cq;
	init.recv_cq = l->cq;
	l->qp = ibv_create_qp(l->pd, &init);
	l->mr = ibv_reg_mr(l->pd, l->messages, 2 * sizeof(*l->messages),
			   IBV_ACCESS_LOCAL_WRITE);
	return l->qp && l->mr;
}

int rn_netdrive_link_open(struct rn_netdrive_link *l, int tcp, const char *address,
			  char *err, size_t err_len)
{
	struct hello own = { .magic = RN_NETDRIVE_MAGIC }, peer = { 0 };
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index = -1, error;

	*l = (struct rn_netdrive_link){ .tcp = tcp };
	l->context = open_device(own_address(tcp, address), &gid_index, &gid);
	if (!l->context) {
		snprintf(err, err_len, "no RDMA device has the address %s",
			 address ? address : "of this connection");
		error = -ENODEV;
		goto failed;
	}
	if (!make_objects(l) || ibv_query_port(l->context, 1, &port)) {
		error = tell(err, err_len, "a queue pair cannot be made");
		goto failed;
	}
	own.qpn = l->qp->qp_num;
	own.psn = l->qp->qp_num * 2654435761u >> 8;
	own.path_mtu = port.active_mtu;
	memcpy(own.gid, gid.raw, 16);
	if (!transfer_all(tcp, &own, sizeof(own), true) ||
	    !transfer_all(tcp, &peer, sizeof(peer), false)) {
		error = tell(err, err_len, "the peer does not answer");
		goto failed;
	}
	if (peer.magic != RN_NETDRIVE_MAGIC || peer.path_mtu < IBV_MTU_256 ||
	    peer.path_mtu > IBV_MTU_4096 || peer.qpn > 0xffffff || peer.psn > 0xffffff) {
		snprintf(err, err_len, "the peer is no network drive of Rocin");
		error = -EPROTO;
		goto failed;
	}
	errno = connect_qp(l, &own, &peer, gid_index);
	if (errno == 0)
		return 0;
	error = tell(err, err_len, "the queue pair cannot be connected");
failed:
	rn_netdrive_link_close(l);
	return error;
}

void rn_netdrive_link_close(struct rn_netdrive_link *l)
{
	if (l->qp)
		ibv_destroy_qp(l->qp);
	if (l->mr)
		ibv_dereg_mr(l->mr);
	if (l->cq)
		ibv_destroy_cq(l->cq);
	if (l->channel)
		ibv_destroy_comp_channel(l->channel);
	if (l->pd)
		ibv_dealloc_pd(l->pd);
	if (l->context)
		ibv_close_device(l->context);
	free(l->messages);
	close(l->tcp);
	*l = (struct rn_netdrive_link){ .tcp = -1 };
}

/* ---------------------------------------------------------------------- messages */
int rn_netdrive_link_send(struct rn_netdrive_link *l, size_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)&l->messages[0], (uint32_t)bytes, l->mr->lkey };
	struct ibv_send_wr *bad,
		wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	return -ibv_post_send(l->qp, &wr, &bad);
}

int rn_netdrive_link_receive(struct rn_netdrive_link *l)
{
	struct ibv_sge sge = { (uintptr_t)&l->messages[1], sizeof(l->messages[1]),
			       l->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return -ibv_post_recv(l->qp, &wr, &bad);
}

/* Sleeps until there is an event of the CQ, or for LOOK_MS. Returns 0; 1 if there was no
 * event; -ECONNRESET: the peer is gone.
 */
static int sleep_for_event(struct rn_netdrive_link *l)
{
	struct pollfd fds[2] = { { l->channel->fd, POLLIN, 0 }, { l->tcp, POLLIN, 0 } };
	struct ibv_cq *cq;
	void *context;
	int n = poll(fds, 2, LOOK_MS);

	if (n <= 0)
		return n == 0;
	if (fds[0].revents != 0) {
		if (ibv_get_cq_event(l->channel, &cq, &context) == 0)
			ibv_ack_cq_events(cq, 1);
		return 0;
	}
	/* Nobody sends anything behind the hello: this is the end of the peer. */
	return -ECONNRESET;
}

/* Takes completions until one is of @opcode. Returns its bytes; -EAGAIN: there is none
 * yet; -EIO, -ECONNRESET: a request has failed.
 */
static int take(struct rn_netdrive_link *l, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	for (;;) {
		int n = ibv_poll_cq(l->cq, 1, &wc);

		if (n <= 0)
			return n < 0 ? -EIO : -EAGAIN;
		if (wc.status == IBV_WC_WR_FLUSH_ERR || wc.status == IBV_WC_RETRY_EXC_ERR)
			return -ECONNRESET;
		if (wc.status != IBV_WC_SUCCESS)
			return -EIO;
		if (wc.opcode == opcode)
			return (int)wc.byte_len;
	}
}

int rn_netdrive_link_wait(struct rn_netdrive_link *l, enum ibv_wc_opcode opcode,
			  unsigned patience)
{
	unsigned waited = 0;

	for (;;) {
		int n = take(l, opcode);

		if (n != -EAGAIN)
			return n;
		if (ibv_req_notify_cq(l->cq, 0))
			return -EIO;
		/* What came before the request for an event makes no event. */
		n = take(l, opcode);
		if (n != -EAGAIN)
			return n;
		n = sleep_for_event(l);
		if (n < 0)
			return n;
		waited += (unsigned)n;
		if (patience > 0 && waited * LOOK_MS >= patience * 1000)
			return -ETIMEDOUT;
	}
}
