/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.c - what is below the core of a device: the chain of back ends, which the engine
 * builds and rocind_events.c extends; the path MTU that the network carries now, which
 * may be less than before; and the ICMP probe, which tells why a peer is silent.
 */
#include "engine_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "rocin/icrc.h"
#include "rocin/transport.h"
#include "rocin/wire.h"
#include "rocin/work_request.h"
#include "transport/io/capture/capture_log.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/capture/tap.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/udp/icmp_probe.h"
#include "transport/io/udp/route_mtu.h"

static int add_tap(struct rnp_wire *w, const struct rnp_settings *set, char *err,
		   size_t err_len)
{
	if (!set->pcap || rn_capture_log_is_name(set->pcap))
		return 0;
	w->tap = rn_tap_open(set->pcap, w->net, err, err_len);
	if (!w->tap)
		return -errno;
	w->net = rn_tap_net(w->tap);
	rn_log(RN_LOG_INFO, "packets are recorded in %s", rn_tap_path(w->tap));
	return 0;
}

/* Returns the last back end of the chain. */
static struct rn_net *base_net(const struct rnp_wire *w)
{
	return w->local ? rn_local_net(w->local) : rn_udp_net(w->udp);
}

static int add_local(struct rnp_wire *w, const struct rn_local_cfg *local)
{
	struct rn_local_cfg cfg = *local;

	cfg.udp = w->udp;
	w->local = rn_local_new(&cfg);
	return w->local ? 0 : -ENOMEM;
}

/* Sets the receive buffer of the socket @fd to the size of ROCIN_RCVBUF, if that is set.
 * rocind has given its sockets the largest buffer; with this variable users try smaller
 * ones.
 */
void rnp_limit_socket(const struct rnp_engine *e, int fd)
{
	int size = (int)e->set.rcvbuf;

	if (size && fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/* Makes packets on local wires (rings in shared memory) carry an ICRC, as on a network,
 * if a capture or fault rules see these packets. Otherwise they carry none.
 */
static void update_local_icrc(struct rnp_wire *w)
{
	if (w->local)
		rn_local_seal(w->local, w->net != base_net(w));
}

int rnp_wire_open(struct rnp_wire *w, const struct rn_udp_cfg *cfg,
		  const struct rn_local_cfg *local, const struct rnp_settings *set,
		  char *err, size_t err_len)
{
	int rc;

	*w = (struct rnp_wire){ .udp = rn_udp_new(cfg) };
	if (!w->udp)
		return rn_fail(err, err_len, -ENOMEM, "no memory for sockets");
	if (local && add_local(w, local)) {
		rnp_wire_close(w);
		return rn_fail(err, err_len, -ENOMEM, "no memory for local wires");
	}
	w->net = base_net(w);
	rc = add_tap(w, set, err, err_len);
	if (rc)
		rnp_wire_close(w);
	else
		update_local_icrc(w);
	return rc;
}

/* Returns the back end in front of which the back end of fault rules is inserted. */
static struct rn_net *under_fault(const struct rnp_wire *w)
{
	if (w->capture)
		return rn_capture_net(w->capture);
	return w->tap ? rn_tap_net(w->tap) : base_net(w);
}

/* Builds the chain of back ends anew, after a capture was inserted or removed, or the
 * back end of fault rules was removed. If there is a back end of fault rules, it is the
 * first of the chain.
 */
static void rebuild_chain(struct rnp_wire *w)
{
	w->net = under_fault(w);
	if (w->fault) {
		rn_fault_set_inner(w->fault, w->net);
		w->net = rn_fault_net(w->fault);
	}
	update_local_icrc(w);
}

int rnp_wire_add_capture(struct rnp_wire *w, const struct rn_capture_host *host,
			 void *host_ctx)
{
	assert(!w->capture);
	w->capture = rn_capture_new(under_fault(w), host, host_ctx);
	if (!w->capture)
		return -ENOMEM;
	rebuild_chain(w);
	return 0;
}

void rnp_wire_remove_capture(struct rnp_wire *w)
{
	rn_capture_free(w->capture);
	w->capture = NULL;
	w->log = NULL;
	rebuild_chain(w);
}

int rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
		       const struct rn_fault_host *host, void *host_ctx)
{
	assert(!w->fault);
	w->fault = rn_fault_new(w->net, has_begun, stats, host, host_ctx);
	if (!w->fault)
		return -ENOMEM;
	w->net = rn_fault_net(w->fault);
	update_local_icrc(w);
	return 0;
}

void rnp_wire_remove_fault(struct rnp_wire *w)
{
	if (!rn_fault_is_idle(w->fault))
		return;
	rn_fault_free(w->fault);
	w->fault = NULL;
	rebuild_chain(w);
}

rn_ns rnp_wire_flush_due(const struct rnp_wire *w)
{
	if (w->log)
		return rn_capture_log_flush_due(w->log);
	return w->tap ? rn_tap_flush_due(w->tap) : RN_NEVER;
}

void rnp_wire_flush(struct rnp_wire *w)
{
	if (w->log)
		rn_capture_log_flush(w->log);
	else if (w->tap)
		rn_tap_flush(w->tap);
}

void rnp_wire_finish_files(struct rnp_wire *w)
{
	if (w->log)
		rn_capture_log_finish(w->log);
	rnp_wire_flush(w);
}

void rnp_wire_close(struct rnp_wire *w)
{
	rn_fault_free(w->fault);
	rn_capture_free(w->capture);
	rn_tap_close(w->tap);
	rn_local_free(w->local);
	rn_udp_free(w->udp);
	*w = (struct rnp_wire){ 0 };
}

void rnp_set_memory(struct rn_dev_cfg *cfg, const struct rnp_pcie *pcie)
{
	int rc = rn_mem_direct_init();

	if (rc)
		rn_log(RN_LOG_WARN,
		       "no handler for memory faults (errno %d); copies are slow", -rc);
	cfg->mem = rnp_pcie_is_on(pcie) ? pcie->api->mem : &rn_mem_direct_ops;
	cfg->mem_ctx = pcie->nic;
	cfg->before_ack = rnp_pcie_before_ack(pcie);
	if (pcie->cuda) {
		cfg->mem = &rn_cuda_ops;
		cfg->mem_ctx = pcie->cuda;
		cfg->before_ack = rn_cuda_settle;
	}
}

/* --------------------------------------------------------------------------- path MTU */

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	/* The longest headers of a packet with a full payload: those of a WRITE Only with
	 * immediate, over XRC.
	 */
	HEADERS = UDP_LEN + RN_BTH_LEN + RN_XRCETH_LEN + RN_RETH_LEN + RN_IMM_LEN +
		  RN_ICRC_LEN,
};

uint32_t rnp_port_mtu(const struct rn_netdev *dev)
{
	uint32_t mtu = rn_netdev_path_mtu(dev->mtu), now = mtu;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { 0 };

	if (fd < 0)
		return mtu;
	memcpy(req.ifr_name, dev->ifname, sizeof(req.ifr_name));
	if (ioctl(fd, SIOCGIFMTU, &req) == 0)
		now = rn_netdev_path_mtu((uint32_t)req.ifr_mtu);
	rn_fd_close(fd);
	if (now == 0) /* The MTU of the interface is smaller than any path MTU. */
		now = 256;
	return now < mtu ? now : mtu;
}

static void close_path(int *fd)
{
	if (*fd > 0)
		rn_fd_close(*fd);
	*fd = 0;
}

void rnp_path_mtu_close(struct rnp_path_mtu *p)
{
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		close_path(&p->path[i].fd);
}

/* Opens a socket by which query_path_mtu() asks the kernel for the MTU of a route. It is
 * bound to @src, since the route may depend on the source. Return: the socket, or 0 on
 * failure.
 */
static int open_path(const struct rn_gid *src, uint32_t ifindex)
{
	int fd = rn_fd_own(socket(rn_gid_is_ipv4(src) ? AF_INET : AF_INET6,
				  SOCK_DGRAM | SOCK_CLOEXEC, 0));
	union rn_sockaddr a;
	socklen_t len = rn_gid_sockaddr_on(&a, src, 0, ifindex);

	if (fd > 0 && bind(fd, &a.sa, len) < 0)
		close_path(&fd);
	return fd > 0 ? fd : 0;
}

/* Returns the MTU of the path to an address, IP header included; 0: not known. */
static uint32_t query_path_mtu(int fd, const struct rn_gid *dst, uint32_t ifindex)
{
	bool ipv4 = rn_gid_is_ipv4(dst);
	union rn_sockaddr a;
	socklen_t len = rn_gid_sockaddr_on(&a, dst, RN_ROCE_PORT, ifindex);
	int mtu = 0;

	/* connect() looks up the route again, which may have changed. */
	if (connect(fd, &a.sa, len) < 0)
		return 0;
	len = sizeof(mtu);
	if (getsockopt(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU : IPV6_MTU,
		       &mtu, &len) < 0)
		return 0;
	return mtu > 0 ? (uint32_t)mtu : 0;
}

static uint32_t find_path_mtu(struct rnp_path_mtu *p, const struct rn_netdev *dev,
			      const struct rn_av *av)
{
	const struct rn_gid *src = &dev->gid[av->sgid_index];
	int *fd = &p->path[av->sgid_index].fd;
	uint32_t mtu;

	if (memcmp(&p->path[av->sgid_index].src, src, sizeof(*src)) != 0)
		close_path(fd);
	p->path[av->sgid_index].src = *src;
	if (!*fd)
		*fd = open_path(src, dev->ifindex);
	mtu = *fd ? query_path_mtu(*fd, &av->dgid, dev->ifindex) : 0;
	/* Either the address has been removed meanwhile, or the program has closed
	 * the socket.
	 */
	if (!mtu)
		close_path(fd);
	return mtu;
}

bool rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
		      const struct rn_av *av, uint32_t path_mtu)
{
	uint32_t ip = rn_gid_is_ipv4(&av->dgid) ? IPV4_LEN : IPV6_LEN;
	uint32_t mtu = find_path_mtu(p, dev, av);

	if (mtu == 0 || mtu >= ip + HEADERS + path_mtu)
		return true;
	if (rn_route_mtu(&dev->gid[av->sgid_index], &av->dgid, dev->ifindex) >=
	    ip + HEADERS + path_mtu)
		/* the kernel knows a smaller MTU from an ICMP message, which anybody may
		 * have forged
		 */
		return true;
	rn_log(RN_LOG_WARN,
	       "%s: a path MTU of %u bytes is refused: packets of %u bytes go to its "
	       "peer "
	       "at most",
	       dev->ibdev, path_mtu, mtu);
	return false;
}

/* ---------------------------------------------------------------- the ICMP probe */
enum {
	/* time between probes in ms, as hosts limit the rate of ICMP messages */
	PAUSE_MS = 1000,
};

void rnp_icmp_probe_init(struct rnp_icmp_probe *k)
{
	*k = (struct rnp_icmp_probe){ .fd = -1 };
}

void rnp_icmp_probe_end(struct rnp_icmp_probe *k)
{
	if (k->fd >= 0)
		rn_fd_close(k->fd);
	k->fd = -1;
}

/* Counts that the ICMP probe was refused: the host of a peer does not take packets to
 * port 4791. Logs it unless the last logged refusal came from the same host.
 */
static void log_refusal(struct rnp_engine *e, int err)
{
	struct rnp_icmp_probe *k = &e->icmp_probe;
	uint64_t *n = &e->stats.page->counter[RN_STAT_ICMP_REFUSED];
	const char *meaning = rn_icmp_probe_meaning(err);
	char peer[RN_GID_TEXT_MAX];

	if (!meaning)
		return;
	__atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
	if (memcmp(&k->said, &k->peer, sizeof(k->peer)) == 0)
		return;
	k->said = k->peer;
	rn_log(RN_LOG_WARN, "%s: %s refuses packets: %s", e->netdev.ibdev,
	       rn_gid_text(&k->peer, peer), meaning);
}

static void read_probe_answer(struct rnp_engine *e)
{
	int err = e->icmp_probe.fd < 0 ? 0 : rn_icmp_probe_answer(e->icmp_probe.fd);

	if (!err)
		return;
	log_refusal(e, err);
	rnp_icmp_probe_end(&e->icmp_probe);
}

void rnp_icmp_probe_silent(struct rnp_engine *e, rn_ns now)
{
	struct rnp_icmp_probe *k = &e->icmp_probe;
	struct rn_flow flow;

	if (!rn_dev_silent(e->dev, &flow))
		return;
	read_probe_answer(e);
	if (now < k->next)
		return;
	rnp_icmp_probe_end(k);
	k->next = now + RN_MSEC(PAUSE_MS);
	k->peer = flow.dst;
	if (!flow.ifindex)
		flow.ifindex = e->netdev.ifindex;
	k->fd = rn_icmp_probe_send(&flow);
	if (k->fd < 0)
		log_refusal(e, -k->fd);
	else
		read_probe_answer(e);
}
