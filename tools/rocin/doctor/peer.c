/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer.c - `rocin doctor --peer`: finds out whether packets reach a device at another
 * host and come back, and compares that host with this one.
 *
 * First a connected UDP socket finds out whether a host refuses packets by ICMP, because
 * the kernel reports ICMP errors only on connected sockets. Then this process asks the
 * rocind of the other host (rocin/peer_info.h). The question goes from port 4791 to port
 * 4791 as the packets of programs do, so that a firewall treats both alike. For that,
 * this process takes a slot of the local device, as a program does.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"
#include "provider/settings/settings.h"
#include "question.h"
#include "rocin/net.h"
#include "rocin/netdev.h"
#include "rocin/stats.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/log.h"
#include "transport/io/host/secret.h"
#include "transport/io/rocind/rocind_client.h"
#include "transport/io/rocind/rocind_conn.h"
#include "transport/io/udp/icmp_probe.h"
#include "transport/io/udp/net_udp.h"
#include "transport/io/udp/own_port.h"

/* ------------------------------------------------------- refusals by ICMP */
enum {
	/* Maximum time in ms to wait for an ICMP error: more than a round trip. */
	WAIT_MS = 500,
	/* Number of datagrams that are sent. It is more than one, because hosts limit the
	 * rate of ICMP errors.
	 */
	PROBES = 2,
	/* Difference of the clocks of both hosts in ms from which it is reported: about
	 * the time of a retransmission. With a greater one, captures of the two hosts are
	 * hard to compare.
	 */
	CLOCKS_APART_MS = 20,
};

static void explain(struct doctor *d, int err)
{
	const char *meaning = rn_icmp_probe_meaning(err);

	rn_doctor_find(d, FAULT, "%s refuses packets: %s", d->peer,
		       meaning ? meaning : strerror(err));
}

/* Sends empty datagrams to the port to which @fd is connected. Returns the errno value of
 * the ICMP error that has come back, or 0 if none has come.
 */
static int probe_port(int fd)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct pollfd p = { .fd = fd };
		int err = 0;
		socklen_t size = sizeof(err);

		if (send(fd, "", 0, 0) < 0)
			return errno;
		/* No events are requested, but poll() reports an error on the socket in
		 * any case.
		 */
		if (poll(&p, 1, WAIT_MS) > 0 &&
		    !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) && err)
			return err;
	}
	return 0;
}

/* Sends packets to @to. Returns the errno value of the ICMP error that has come back, or
 * 0.
 */
static int find_refusal(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) ? errno
								     : probe_port(fd);

	if (fd >= 0)
		close(fd);
	return err;
}

/* ----------------------------------------------------- questions to the peer's rocind */
/* The local device from which questions are sent to the peer's rocind, and the sockets of
 * the slot that this process has taken.
 */
struct asker {
	struct rn_rocind *rocind;
	struct rn_udp *udp;
	uint32_t qpn; /* a QPN of this slot, to which answers come */
	struct rn_flow flow;
	uint32_t gid_idx;
	uint64_t stats[RN_STAT_COUNT];
	struct rn_gsi gsi;
	uint8_t pkt[RN_PEER_ASK_MAX];
};

static int64_t time_ms(void)
{
	return rn_clock(CLOCK_REALTIME) / RN_MSEC(1);
}

static bool has_gid(const struct rn_netdev *dev, const struct rn_gid *gid, uint32_t *idx)
{
	for (*idx = 0; *idx < dev->gid_count; ++*idx)
		if (memcmp(&dev->gid[*idx], gid, sizeof(*gid)) == 0)
			return true;
	return false;
}

/* Finds an address of the device that has the same IP version as @gid and, like @gid, is
 * link-local or not. Sets *@idx to its index.
 */
static bool has_family(const struct rn_netdev *dev, const struct rn_gid *gid,
		       uint32_t *idx)
{
	for (*idx = 0; *idx < dev->gid_count; ++*idx)
		if (rn_gid_is_ipv4(&dev->gid[*idx]) == rn_gid_is_ipv4(gid) &&
		    rn_gid_is_link_local(&dev->gid[*idx]) == rn_gid_is_link_local(gid))
			return true;
	return false;
}

/* Finds out which source address the kernel chooses for packets to @to. */
static bool find_source(const struct addrinfo *to, struct rn_flow *flow)
{
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	union rn_sockaddr sa = { 0 };
	socklen_t len = sizeof(sa);
	bool ok = fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
		  getsockname(fd, &sa.sa, &len) == 0;

	if (fd >= 0)
		close(fd);
	if (ok)
		rn_flow_set_source(flow, &sa.sa);
	return ok;
}

/* Chooses the device that sends the question, and its source address: the one whose
 * packets reach the peer. If the peer is this host, any device will do, because the own
 * addresses can be reached from all of them. Returns NULL if there is no device.
 */
static const struct rn_netdev *choose_device(const struct doctor *d,
					     const struct addrinfo *to, struct asker *a)
{
	struct rn_flow peer;
	bool is_own;

	if (!d->prepared || !find_source(to, &a->flow))
		return NULL;
	rn_flow_set_source(&peer, to->ai_addr);
	a->flow.dst = peer.src;
	for (unsigned i = 0; i < d->launch.dev_count; i++)
		if (has_gid(&d->launch.devs[i], &a->flow.src, &a->gid_idx))
			return &d->launch.devs[i];
	is_own = rn_is_own_address(&a->flow.dst, 0);
	for (unsigned i = 0; is_own && i < d->launch.dev_count; i++)
		if (has_family(&d->launch.devs[i], &a->flow.dst, &a->gid_idx))
			return &d->launch.devs[i];
	return NULL;
}

/* Takes a slot of the device, as a program does. Returns 0, or -errno with an error text
 * in @err.
 */
static int open_asker(struct asker *a, const struct rn_netdev *dev, char *err,
		      size_t err_len)
{
	struct rn_udp_cfg cfg = { .gid = dev->gid,
				  .ifindex = dev->ifindex,
				  .stats = a->stats };
	struct rn_attach got;
	int rc;

	a->rocind = rn_rocind_connect(NULL, err, err_len);
	if (!a->rocind)
		return -errno;
	rc = rn_rocind_attach(a->rocind, dev, -1, &got, err, err_len);
	if (rc)
		return rc;
	cfg.sock_count = got.sock_count;
	cfg.sock = got.sock;
	cfg.own_port = got.own_port;
	a->udp = rn_udp_new(&cfg);
	if (!a->udp)
		return rn_fail(err, err_len, -ENOMEM, "out of memory");
	a->qpn = got.qpn_counter << 8 | got.slot;
	a->flow.src = dev->gid[a->gid_idx];
	a->flow.ifindex = dev->ifindex;
	a->flow.hop_limit = 64;
	return 0;
}

static void close_asker(struct asker *a)
{
	rn_udp_free(a->udp);
	rn_rocind_close(a->rocind);
}

static void send_ask(struct asker *a, uint64_t tid, uint32_t len)
{
	struct rn_net *net = rn_udp_net(a->udp);
	struct rn_flow flow = a->flow;
	struct rn_super one = {
		.flow = &flow,
		.sgid_index = a->gid_idx,
		.data = a->pkt,
		.len = len,
		.seg_len = len,
		.count = 1,
		.tx_socket = rn_net_tx_socket(net, &a->flow, a->gid_idx, 0),
	};

	flow.sport = one.tx_socket.id ? one.tx_socket.sport : RN_ROCE_PORT;
	memset(a->pkt, 0, sizeof(a->pkt));
	rn_peer_ask_emit(a->pkt + RN_GSI_MAD_AT, tid);
	rn_gsi_seal_long(&a->gsi, &flow, a->qpn, RN_QPN_GSI, a->pkt, len);
	/* If the packet cannot be sent, it is lost, and the question is repeated. */
	(void)net->ops->transmit(net->ctx, &one);
}

static void hear(const struct asker *a, struct rn_question *q)
{
	struct rn_net *net = rn_udp_net(a->udp);
	struct rn_rx rx[RN_RX_BATCH];
	int n = net->ops->receive(net->ctx, rx);

	for (int i = 0; i < n; i++) {
		bool is_damaged;
		uint32_t src_qpn;
		const uint8_t *mad = rn_gsi_find_mad(rx[i].flow, rx[i].data, rx[i].len,
						     a->qpn, &is_damaged, &src_qpn);

		q->is_damaged |= is_damaged;
		if (mad &&
		    memcmp(&rx[i].flow->src, &a->flow.dst, sizeof(a->flow.dst)) == 0)
			rn_question_hear(q, mad, rx[i].len, rn_clock(CLOCK_MONOTONIC),
					 time_ms());
	}
}

static void ask(struct asker *a, struct rn_question *q)
{
	while (q->due != RN_NEVER) {
		struct pollfd p = { .fd = rn_udp_fd(a->udp, a->gid_idx),
				    .events = POLLIN };
		rn_ns left = q->due - rn_clock(CLOCK_MONOTONIC);

		if (left <= 0) {
			uint32_t len =
				rn_question_ask(q, rn_clock(CLOCK_MONOTONIC), time_ms());

			if (len)
				send_ask(a, q->tid, len);
		} else if (poll(&p, 1, (int)(left / RN_MSEC(1)) + 1) > 0) {
			hear(a, q);
		}
	}
}

/* ------------------------------------------------------------- reports of the answers */
static void report_silence(struct doctor *d, const struct rn_question *q)
{
	if (q->is_damaged)
		rn_doctor_find(d, FAULT,
			       "answers of %s come with a wrong ICRC: something on the "
			       "way changes packets, such as NAT; RDMA needs a path "
			       "without it",
			       d->peer);
	else
		rn_doctor_find(
			d, FAULT,
			"%s refuses nothing and does not answer: a firewall drops "
			"packets in silence, or NAT changes them; let UDP port 4791 "
			"through in both directions, on both hosts",
			d->peer);
}

static void report_mtu(struct doctor *d, const struct rn_question *q,
		       const struct rn_netdev *dev)
{
	char there[64] = "";

	if (q->info.path_mtu && q->info.path_mtu < q->mtu_here)
		snprintf(there, sizeof(there), " (the interface there carries %u)",
			 q->info.path_mtu);
	if (q->mtu_through == q->mtu_here)
		rn_doctor_find(d, GOOD,
			       "packets of path MTU %u get through in both directions",
			       q->mtu_here);
	else if (q->mtu_through)
		rn_doctor_find(
			d, FAULT,
			"packets of path MTU %u, which %s has, get lost on the way%s, "
			"and "
			"those of %u get through: ip link set %s mtu %u, or raise the "
			"MTU "
			"of what lies between, or ask programs for a path MTU of %u",
			q->mtu_here, dev->ibdev, there, q->mtu_through, dev->ifname,
			q->mtu_through + 96, q->mtu_through);
	else
		rn_doctor_find(d, FAULT,
			       "packets of no path MTU get through to %s, only shorter "
			       "ones%s; raise the MTU of the interfaces on the way",
			       d->peer, there);
}

/* Reports that the peer has answered the first question and no later one, not even the
 * control question.
 */
static void report_end(struct doctor *d)
{
	rn_doctor_find(d, FAULT,
		       "%s has answered once, and then no more: the last program with a "
		       "device there has ended, or the network was cut in between; start "
		       "one there that stays, and try again",
		       d->peer);
}

static void report_version(struct doctor *d, const struct rn_question *q)
{
	if (strcmp(q->info.version, ROCIN_VERSION) == 0)
		rn_doctor_find(d, GOOD,
			       "%s answers within %" PRId64
			       " us, so UDP port 4791 is open in both directions; rocin "
			       "%s is there, too",
			       d->peer, q->round_trip / 1000, q->info.version);
	else
		rn_doctor_find(d, NOTE,
			       "%s answers within %" PRId64
			       " us, so UDP port 4791 is open in both directions; rocin "
			       "%s is there, and %s here: install the same on both where "
			       "they behave differently",
			       d->peer, q->round_trip / 1000, q->info.version,
			       ROCIN_VERSION);
}

static void report_icrc(struct doctor *d, const struct rn_question *q)
{
	static struct rnp_settings s;
	bool is_exact = q->info.icrc == RN_PEER_ICRC_EXACT;

	if (q->info.icrc == RN_PEER_ICRC_UNKNOWN || rnp_settings_read(&s, NULL, 0))
		return;
	if (is_exact == s.icrc_exact)
		rn_doctor_find(d, GOOD, "ICRCs fit, and are checked alike at both ends");
	else
		rn_doctor_find(
			d, NOTE,
			"ICRCs fit, but ROCIN_ICRC is exact %s and not %s: only one "
			"end drops packets whose IPv4 identification was changed on "
			"the way; set it to the same at both ends",
			is_exact ? "there" : "here", is_exact ? "here" : "there");
}

static void report_clock(struct doctor *d, const struct rn_question *q)
{
	int64_t ms = q->clock_ms < 0 ? -q->clock_ms : q->clock_ms;

	if (ms <= q->clock_error_ms + CLOCKS_APART_MS)
		rn_doctor_find(d, GOOD,
			       "the clocks of both hosts agree to within %" PRId64 " ms",
			       ms + q->clock_error_ms);
	else
		rn_doctor_find(d, NOTE,
			       "the clock there is %" PRId64
			       " ms %s: times in captures and logs of the two hosts do "
			       "not fit each other; let NTP set both",
			       ms, q->clock_ms < 0 ? "behind" : "ahead");
}

static void report(struct doctor *d, const struct rn_question *q,
		   const struct rn_netdev *dev)
{
	switch (q->answer) {
	case RN_PEER_NO_ANSWER:
		report_silence(d, q);
		return;
	case RN_PEER_REFUSES:
		rn_doctor_find(d, GOOD,
			       "%s answers, so UDP port 4791 is open in both directions, "
			       "and tells nothing of itself: an older rocin, one with "
			       "ROCIN_PEER_INFO=off, or another RoCE device",
			       d->peer);
		return;
	case RN_PEER_ANSWERS:
		report_version(d, q);
		if (q->fell_silent)
			report_end(d);
		else
			report_mtu(d, q, dev);
		report_icrc(d, q);
		report_clock(d, q);
		return;
	}
}

static void question_peer(struct doctor *d, const struct addrinfo *to)
{
	static struct asker a;
	const struct rn_netdev *dev = choose_device(d, to, &a);
	struct rn_question q;
	char err[512];

	if (!dev) {
		rn_doctor_find(d, NOTE,
			       "%s refuses nothing, and is not asked more, as no device "
			       "here has the address that packets to it leave from; name "
			       "its interface with --netdev",
			       d->peer);
		return;
	}
	if (open_asker(&a, dev, err, sizeof(err))) {
		rn_doctor_find(d, FAULT, "%s cannot be asked: %s", d->peer, err);
	} else {
		rn_question_init(
			&q, rn_secret(), rn_netdev_path_mtu(dev->mtu),
			(unsigned)(rn_rocind_timeout_ms() / RN_ROCIND_TIMEOUT_MS),
			rn_clock(CLOCK_MONOTONIC));
		ask(&a, &q);
		report(d, &q, dev);
	}
	close_asker(&a);
}

void rn_doctor_check_peer(struct doctor *d)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_DGRAM };
	struct addrinfo *to;
	int err, rc;

	if (!d->peer)
		return;
	rc = getaddrinfo(d->peer, "4791", &hints, &to);
	if (rc) {
		rn_doctor_find(d, FAULT, "\"%s\" is not an IPv4 or IPv6 address: %s",
			       d->peer, gai_strerror(rc));
		return;
	}
	err = find_refusal(to);
	if (err)
		explain(d, err);
	else
		question_peer(d, to);
	freeaddrinfo(to);
}
