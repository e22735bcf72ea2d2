/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.c - see cm.h. */
#include "cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cm_channel.h"
#include "cm_net.h"
#include "rocin/gsi.h"
#include "rocin/netdev.h"
#include "tools/rocind/net/clock.h"
#include "tools/rocind/net/route.h"
#include "transport/io/host/log.h"
#include "transport/io/host/sentence.h"
#include "transport/io/rocind/timeout_scale.h"

enum {
	CONN_MAX = 65536,
	PORT_PRIVILEGED_END = 1024,
};

/* ---- Packets ---- */

static void send_mad(struct rnd_cm *cm, struct rn_flow *flow, uint32_t dest_qpn,
		     const uint8_t *mad)
{
	uint8_t pkt[RN_GSI_PACKET_LEN];

	flow->sport = RN_ROCE_PORT;
	rn_gsi_emit(&cm->gsi, flow, dest_qpn, mad, pkt);
	rnd_cm_net_send(cm->net, flow, pkt, sizeof(pkt));
}

/* False: it is to be dropped. */
static bool take_packet(struct rnd_cm *cm, const struct rn_rx *p)
{
	const struct rn_flow *flow = p->flow;
	struct rn_gsi_mad mad;
	struct rn_flow back = {
		.src = flow->dst,
		.dst = flow->src,
		.ifindex = flow->ifindex,
		.tclass = flow->tclass & 0xfc,
		.hop_limit = 64,
	};
	struct rn_cm_rx rx = { .flow = flow };

	switch (rn_gsi_receive(&cm->gsi, flow, p->data, p->len, &mad)) {
	case RN_GSI_CM:
		rx.src_qpn = mad.src_qpn;
		rx.mad = mad.mad;
		if (!rnd_ucma_is_early(cm->ucma, &rx) ||
		    !rnd_cm_early_hold(&cm->early, rnd_now(), &rx))
			rnd_ucma_packet(cm->ucma, rnd_now(), &rx);
		return true;
	case RN_GSI_REPLY:
		send_mad(cm, &back, mad.src_qpn, mad.reply);
		return true;
	case RN_GSI_DROP_PACKET:
	case RN_GSI_DROP_ICRC:
	case RN_GSI_DROP_MAD:
	case RN_GSI_VERDICT_COUNT:
		break;
	}
	return false;
}

/* What has come, and what had waited. False: some of it is to be dropped. */
static bool take_packets(struct rnd_cm *cm)
{
	struct rn_rx rx[RN_RX_BATCH];
	bool good = true;
	int n;

	while ((n = rnd_cm_net_receive(cm->net, rx)) > 0)
		for (int i = 0; i < n; i++)
			good = take_packet(cm, &rx[i]) && good;
	return good;
}

/* Those whose listener has come, or that have waited for long enough. */
static void take_early(struct rnd_cm *cm)
{
	struct rnd_cm_early_req req;
	rn_ns now = cm->early.count ? rnd_now() : 0;

	for (unsigned i = 0; i < cm->early.count;) {
		struct rn_cm_rx rx = rnd_cm_early_rx(&cm->early.req[i]);

		if (now < cm->early.req[i].until && rnd_ucma_is_early(cm->ucma, &rx)) {
			i++;
			continue;
		}
		rnd_cm_early_take(&cm->early, i, &req);
		rx = rnd_cm_early_rx(&req);
		rnd_ucma_packet(cm->ucma, now, &rx);
	}
}

/* A deadline that moves away leaves the timer as it is: it is looked at again when that
 * expires. With each answer that comes in time one does.
 */
static void set_timer(struct rnd_cm *cm)
{
	rn_ns at = rnd_ucma_deadline(cm->ucma);
	rn_ns due = rnd_cm_net_due(cm->net, rnd_now());
	struct itimerspec when = { 0 };

	at = due < at ? due : at;
	due = rnd_cm_early_due(&cm->early);
	at = due < at ? due : at;
	if (at >= cm->timer_at)
		return;
	cm->timer_at = at;
	/* 0 would stop it. */
	when.it_value.tv_sec = at / RN_MSEC(1000);
	when.it_value.tv_nsec = at % RN_MSEC(1000) + (at == 0);
	timerfd_settime(cm->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void rnd_cm_flush(struct rnd_cm *cm)
{
	struct rn_cm_tx tx;

	take_early(cm);
	while (rnd_ucma_transmit(cm->ucma, &tx))
		send_mad(cm, &tx.flow, tx.dest_qpn, tx.mad);
	if (cm->timer.fd >= 0)
		set_timer(cm);
}

/* All that needs no new packet. */
static void on_timer_due(struct rnd_cm *cm)
{
	rnd_ucma_expire(cm->ucma, rnd_now());
	take_packets(cm);
	rnd_cm_flush(cm);
}

static void on_timer(void *ctx)
{
	struct rnd_cm *cm = ctx;
	uint64_t expirations;

	if (read(cm->timer.fd, &expirations, sizeof(expirations)) < 0)
		return;
	cm->timer_at = RN_NEVER;
	on_timer_due(cm);
}

/* ---- What ucma asks for ---- */

static int hold(void *ctx, const struct rn_gid *gid, uint32_t scope)
{
	struct rnd_cm *cm = ctx;
	char why[RN_CTL_TEXT_LEN];
	int rc = rnd_group_hold(&cm->server->groups, gid, scope, why, sizeof(why));

	if (rc)
		rn_log(RN_LOG_WARN, "%s", why);
	return rc;
}

static int route(void *ctx, const struct rn_gid *dst, uint32_t scope,
		 const struct rn_gid *src, struct rnd_ucma_route *out)
{
	struct rnd_cm *cm = ctx;

	return rnd_route(&cm->router, dst, scope, src, out);
}

static bool is_local(void *ctx, const struct rn_gid *gid)
{
	struct rnd_cm *cm = ctx;

	return rnd_route_is_local(&cm->router, gid);
}

static void ready(void *ctx, void *user)
{
	(void)ctx;
	rnd_cm_channel_ready(user);
}

static void show(void *ctx, void *user, uint32_t number, struct rn_cm_answers *answers)
{
	const struct rnd_cm_channel *ch = user;
	struct rnd_cm *cm = ctx;

	if (answers)
		answers->channel = ch->number;
	rn_cm_board_show(&cm->board, number, answers);
}

static const struct rnd_ucma_ops ops = {
	.hold = hold,
	.route = route,
	.is_local = is_local,
	.ready = ready,
	.show = show,
};

/* ---- Coming and going ---- */

/* A number or two from a file of the kernel; what is not there stays. */
static void read_setting(const char *path, unsigned *a, unsigned *b)
{
	FILE *f = fopen(path, "re");
	char line[64];
	char *end;

	if (!f)
		return;
	if (fgets(line, sizeof(line), f)) {
		*a = (unsigned)strtoul(line, &end, 10);
		if (b && *end)
			*b = (unsigned)strtoul(end, NULL, 10);
	}
	fclose(f);
}

static struct rnd_ucma *new_ucma(struct rnd_cm *cm)
{
	unsigned first = 32768, last = 60999, v6only = 0;
	unsigned free = PORT_PRIVILEGED_END;
	uint64_t seed = (uint64_t)rnd_now();

	read_setting("/proc/sys/net/ipv4/ip_local_port_range", &first, &last);
	read_setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", &free, NULL);
	read_setting("/proc/sys/net/ipv6/bindv6only", &v6only, NULL);
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		rn_log(RN_LOG_DEBUG, "getrandom: %m");
	return rnd_ucma_new(&(struct rnd_ucma_cfg){
		.ops = &ops,
		.ctx = cm,
		.seed = seed,
		.conn_max = CONN_MAX,
		.port_first = (uint16_t)first,
		.port_last = (uint16_t)last,
		.port_free = geteuid() ? (uint16_t)free : 0,
		.timeout_scale = rn_timeout_scale(),
		.v6only = v6only != 0,
	});
}

/* The large table is made when the first program opens the device. */
static int start(struct rnd_cm *cm)
{
	int rc;

	if (cm->ucma)
		return 0;
	cm->ucma = new_ucma(cm);
	if (!cm->ucma)
		return -ENOMEM;
	cm->timer = (struct rnd_source){
		.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.ctx = cm,
		.on_ready = on_timer,
	};
	rc = cm->timer.fd < 0 ? -errno : rnd_server_watch(cm->server, &cm->timer);
	if (rc) {
		rnd_source_close(&cm->timer);
		rnd_ucma_free(cm->ucma);
		cm->ucma = NULL;
		return rc;
	}
	rc = rn_cm_board_open(&cm->board, (uint32_t)getpid(), rnd_now());
	if (rc)
		rn_log(RN_LOG_INFO, "ids are shown nowhere: %s", strerror(-rc));
	return 0;
}

bool rnd_cm_packet(struct rnd_cm *cm, const struct rn_flow *flow, const uint8_t *pkt,
		   size_t len)
{
	bool good;

	/* Who asks is refused, even if no program has opened the device yet. */
	if (start(cm))
		return false;
	rnd_cm_net_arrive(cm->net, flow, pkt, (uint32_t)len);
	good = take_packets(cm);
	rnd_cm_flush(cm);
	return good;
}

struct rnd_cm *rnd_cm_new(struct rnd_server *server)
{
	struct rnd_cm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return NULL;
	cm->net = rnd_cm_net_new(server);
	if (!cm->net) {
		free(cm);
		return NULL;
	}
	cm->server = server;
	cm->timer.fd = -1;
	cm->timer_at = RN_NEVER;
	cm->router.sock = -1;
	cm->board.fd = -1;
	cm->gsi.resp_timeout = RN_CM_RESP_TIMEOUT;
	return cm;
}

void rnd_cm_free(struct rnd_cm *cm)
{
	if (!cm)
		return;
	while (cm->channels)
		rnd_cm_channel_close(cm->channels);
	rnd_source_close(&cm->timer);
	rnd_router_close(&cm->router);
	rnd_ucma_free(cm->ucma);
	rn_cm_board_close(&cm->board);
	rnd_cm_net_free(cm->net);
	free(cm);
}

int rnd_cm_capture(struct rnd_cm *cm, uint64_t id, int ring, uint32_t size,
		   const struct rn_capture_filter *filter)
{
	return rnd_cm_net_capture(cm->net, id, ring, size, filter);
}

void rnd_cm_end_capture(struct rnd_cm *cm, uint64_t id)
{
	if (cm)
		rnd_cm_net_end_capture(cm->net, id);
}

void rnd_cm_set_faults(struct rnd_cm *cm, const char *text)
{
	rnd_cm_net_set_rules(cm->net, text);
	if (cm->ucma)
		on_timer_due(cm);
}

void rnd_cm_count_faults(const struct rnd_cm *cm, uint64_t *seen, uint64_t *hits)
{
	rnd_cm_net_count(cm->net, seen, hits);
}

int rnd_cm_open(struct rnd_cm *cm, const char *netdevs, int *fd, char *err,
		size_t err_len)
{
	struct rn_netdev devs[RN_NETDEV_MAX];
	int count = rn_netdev_discover(netdevs, devs, RN_NETDEV_MAX, err, err_len);
	int rc;

	if (count < 0)
		return count;
	rc = start(cm);
	if (rc == 0)
		rc = rnd_cm_channel_open(cm, devs, (unsigned)count, fd);
	if (rc == -EADDRINUSE)
		return rn_fail(err, err_len, rc,
			       "no name for a descriptor of the connection manager can "
			       "be had: %m");
	if (rc)
		return rn_fail(err, err_len, rc,
			       "the connection manager cannot be opened: %m");
	return 0;
}

int rnd_cm_board_fd(const struct rnd_cm *cm)
{
	return cm->board.fd;
}

bool rnd_cm_wants(const struct rnd_cm *cm, const struct rn_gid *gid, uint32_t scope)
{
	return cm && cm->ucma && rnd_ucma_wants(cm->ucma, gid, scope);
}

void rnd_cm_addresses_changed(struct rnd_cm *cm, uint32_t ifindex)
{
	if (cm->ucma)
		rnd_ucma_addresses_changed(cm->ucma, ifindex);
}

void rnd_cm_count(const struct rnd_cm *cm, struct rnd_ucma_counts *out)
{
	*out = (struct rnd_ucma_counts){ 0 };
	if (cm && cm->ucma)
		rnd_ucma_count(cm->ucma, out);
}

unsigned rnd_cm_channel_count(const struct rnd_cm *cm)
{
	unsigned count = 0;

	for (const struct rnd_cm_channel *ch = cm->channels; ch; ch = ch->next)
		count++;
	return count;
}
