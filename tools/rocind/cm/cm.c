/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.c - runs the connection manager (see cm.h): sends and receives the packets of QP1,
 * runs a timer, and implements the callbacks of ucma.h.
 *
 * Packets between the connection manager and its sockets (one for each device address)
 * pass through fault injection (`rocin fault`) as long as there are fault rules, and
 * through captures as long as there are any. Captures lie between fault injection and the
 * sockets, so they see what the sockets send and receive.
 */
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cm_channel.h"
#include "rocin/gsi.h"
#include "rocin/netdev.h"
#include "rocin/peer_info.h"
#include "tools/rocind/net/route.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/log.h"
#include "transport/io/host/secret.h"

enum {
	CONN_MAX = 65536,
	PORT_PRIVILEGED_END = 1024,
	/* Maximum number of packets that are sent by one call. Thousands of connections
	 * may have to repeat a message at the same moment; rocind serves its other
	 * clients between two such calls.
	 */
	SEND_MAX = 64,
};

/* ---- Sending and receiving by the sockets of the groups ---- */

static int send_by_group(void *ctx, const struct rn_super *super)
{
	const struct rnd_cm *cm = ctx;
	const struct rn_flow *flow = super->flow;
	uint32_t scope = rn_gid_is_link_local(&flow->src) ? flow->ifindex : 0;
	struct rnd_group *group = rnd_group_find(&cm->server->groups, &flow->src, scope);

	/* Without a group (the sockets of an address), the interface has lost the
	 * address. The packet then counts as lost on the network.
	 */
	if (group && !rnd_group_send(group, flow, super->data, super->len))
		rn_log(RN_LOG_DEBUG, "a management datagram is not sent: %m");
	return 0;
}

static int give_arrived(void *ctx, struct rn_rx *rx)
{
	struct rnd_cm *cm = ctx;

	if (!cm->arrived.data)
		return 0;
	rx[0] = cm->arrived;
	cm->arrived = (struct rn_rx){ 0 };
	return 1;
}

static const struct rn_net_ops socket_ops = {
	.transmit = send_by_group,
	.receive = give_arrived,
};

/* ---- Callbacks of fault injection and captures; QP1 is the only QP here ---- */

static rn_ns time_now(void *ctx)
{
	(void)ctx;
	return rnd_now();
}

static uint32_t no_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn)
{
	(void)ctx;
	(void)flow;
	(void)dest_qpn;
	return 0;
}

static uint32_t no_qp(void *ctx, uint32_t qpn)
{
	(void)ctx;
	(void)qpn;
	return 0;
}

static uint32_t no_sgid(void *ctx, const struct rn_gid *gid)
{
	(void)ctx;
	(void)gid;
	return RN_GID_MAX;
}

static void disobey(void *ctx, enum rn_fault_order order, uint32_t qpn)
{
	(void)ctx;
	(void)order;
	(void)qpn;
}

static void show_counts(void *ctx, const struct rn_fault_rules *rules)
{
	(void)ctx;
	(void)rules;
}

static void tell_capture(void *ctx, const struct rn_fault_news *news)
{
	const struct rnd_cm *cm = ctx;

	rn_capture_fault(cm->capture, news);
}

static const struct rn_fault_host fault_host = {
	.now = time_now,
	.sender = no_sender,
	.peer = no_qp,
	.place = no_qp,
	.sgid = no_sgid,
	.obey = disobey,
	.show = show_counts,
	.tell = tell_capture,
};

static const struct rn_capture_host capture_host = {
	.sender = no_sender,
	.peer = no_qp,
};

/* ---- Requests that come before their listener ---- */

/* A connection request for a service that has no listener is an early request: it waits
 * for a listener for up to RND_CM_EARLY_FOR, and is then refused. Such requests are
 * normal. For instance, both ends of perftest -R close a first connection and open a
 * second one, and the client does not wait until the server listens again. With rdma_cm
 * of the kernel the server listens in time, because its command is a system call; here
 * each command is a message to this process.
 */

/* Stores a copy of the early request @rx. It must be a copy, because the packet of @rx
 * belongs to the caller.
 */
static void hold_early(struct rnd_cm *cm, const struct rn_cm_rx *rx)
{
	struct rnd_cm_early *e = &cm->early[cm->early_count++];

	e->until = rnd_now() + RND_CM_EARLY_FOR;
	e->flow = *rx->flow;
	e->src_qpn = rx->src_qpn;
	memcpy(e->mad, rx->mad, sizeof(e->mad));
}

/* Processes those early requests (see above) that have a listener by now, and refuses
 * those that have waited for RND_CM_EARLY_FOR.
 */
static void take_early(struct rnd_cm *cm)
{
	rn_ns now = cm->early_count ? rnd_now() : 0;
	unsigned kept = 0;

	for (unsigned i = 0; i < cm->early_count; i++) {
		struct rnd_cm_early *e = &cm->early[i];
		const struct rn_cm_rx rx = { .flow = &e->flow,
					     .src_qpn = e->src_qpn,
					     .mad = e->mad,
					     .may_wait = now < e->until };

		if (rnd_ucma_packet(cm->ucma, now, &rx))
			continue;
		if (kept < i)
			cm->early[kept] = *e;
		kept++;
	}
	cm->early_count = kept;
}

/* ---- Packets of QP1, and the timer ---- */

/* Completes a packet that contains a MAD, and sends it. @pkt: the packet, with room for
 * @len bytes from BTH to ICRC. If the packet cannot be sent, it counts as lost.
 */
static void send_packet(struct rnd_cm *cm, struct rn_flow *flow, uint32_t dest_qpn,
			uint8_t *pkt, uint32_t len)
{
	const struct rn_super one = {
		.flow = flow,
		.data = pkt,
		.len = len,
		.seg_len = len,
		.count = 1,
	};

	flow->sport = RN_ROCE_PORT;
	rn_gsi_seal_long(&cm->gsi, flow, RN_QPN_GSI, dest_qpn, pkt, len);
	cm->net->ops->transmit(cm->net->ctx, &one);
}

/* Answers the question in packet @p, unless too many were answered lately. @mad: the
 * question, and the reply that refuses it, which is sent if rocind is to be silent.
 */
static void answer_peer(struct rnd_cm *cm, const struct rn_rx *p, struct rn_gsi_mad *mad)
{
	struct rn_flow back = rn_gsi_answer_flow(p->flow);
	uint8_t pkt[RN_PEER_ASK_MAX] = { 0 };
	struct rn_peer_info info;

	if (!rnd_peer_may_answer(&cm->peer_budget, rnd_now()))
		return;
	if (cm->server->groups.admission.is_silent) {
		send_packet(cm, &back, mad->src_qpn, mad->reply, RN_GSI_PACKET_LEN);
		return;
	}
	rnd_peer_describe(cm->server, p->flow, &info);
	rn_peer_answer_emit(pkt + RN_GSI_MAD_AT, mad->mad, &info);
	send_packet(cm, &back, mad->src_qpn, pkt, p->len);
}

/* Processes a packet to QP1. Returns false if the packet is dropped. */
static bool take_packet(struct rnd_cm *cm, const struct rn_rx *p)
{
	const struct rn_flow *flow = p->flow;
	struct rn_flow back;
	struct rn_gsi_mad mad;
	struct rn_cm_rx rx = { .flow = flow };

	switch (rn_gsi_receive(&cm->gsi, flow, p->data, p->len, &mad)) {
	case RN_GSI_CM:
		rx.src_qpn = mad.src_qpn;
		rx.mad = mad.mad;
		rx.may_wait = cm->early_count < RND_CM_EARLY_MAX;
		if (!rnd_ucma_packet(cm->ucma, rnd_now(), &rx))
			hold_early(cm, &rx);
		return true;
	case RN_GSI_REPLY:
		back = rn_gsi_answer_flow(flow);
		send_packet(cm, &back, mad.src_qpn, mad.reply, RN_GSI_PACKET_LEN);
		return true;
	case RN_GSI_PEER_INFO:
		answer_peer(cm, p, &mad);
		return true;
	case RN_GSI_DROP_PACKET:
	case RN_GSI_DROP_ICRC:
	case RN_GSI_DROP_MAD:
		break;
	}
	return false;
}

/* Processes the packet that has arrived, and the packets that fault injection has delayed
 * until now. Returns false if one of them is dropped.
 */
static bool take_packets(struct rnd_cm *cm)
{
	const struct rn_net *in = cm->net;
	struct rn_rx rx[RN_RX_BATCH];
	bool good = true;
	int n;

	while ((n = in->ops->receive(in->ctx, rx)) > 0)
		for (int i = 0; i < n; i++)
			good = take_packet(cm, &rx[i]) && good;
	return good;
}

/* Sets the timer to the next deadline, or to the past if there is more to send. If the
 * timer is already set to an earlier time, leaves it: it will then expire too early, and
 * is set again at that time. This saves a system call for each answer of a peer that
 * moves the deadline to a later time.
 */
static void set_timer(struct rnd_cm *cm, bool has_more)
{
	rn_ns at = has_more ? 0 : rn_cm_deadline(cm->protocol);
	rn_ns due = cm->fault ? rn_fault_due(cm->fault, rnd_now()) : RN_NEVER;
	struct itimerspec when = { 0 };

	at = due < at ? due : at;
	if (cm->early_count && cm->early[0].until < at)
		at = cm->early[0].until;
	if (at >= cm->timer_at)
		return;
	cm->timer_at = at;
	/* If both members were 0, the timer would stop. So the time is at least 1 ns. */
	when.it_value.tv_sec = at / RN_MSEC(1000);
	when.it_value.tv_nsec = at % RN_MSEC(1000) + (at == 0);
	timerfd_settime(cm->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void rnd_cm_flush(struct rnd_cm *cm)
{
	struct rn_cm_tx tx;
	unsigned n;

	take_early(cm);
	rnd_server_commit(cm->server);
	rnd_cm_announce_all(cm);
	for (n = 0; n < SEND_MAX && rn_cm_transmit(cm->protocol, &tx); n++)
		send_packet(cm, &tx.flow, tx.dest_qpn, tx.pkt, RN_GSI_PACKET_LEN);
	if (cm->timer.fd >= 0)
		set_timer(cm, n == SEND_MAX);
}

/* Called when the timer has expired. Processes everything that is due, apart from new
 * packets.
 */
static void on_timer_due(struct rnd_cm *cm)
{
	cm->records_left = RND_CM_RECORDS_MAX;
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

/* ---- Captures of the packets of QP1 ---- */

/* Links the layers through which packets pass: fault injection, if there are rules;
 * captures, if there are any; the sockets.
 */
static void join_layers(struct rnd_cm *cm)
{
	cm->net = cm->capture ? rn_capture_net(cm->capture) : &cm->sockets;
	if (!cm->fault)
		return;
	rn_fault_set_inner(cm->fault, cm->net);
	cm->net = rn_fault_net(cm->fault);
}

static void drop_idle_capture(struct rnd_cm *cm)
{
	struct rn_capture *idle = cm->capture;

	if (!idle || !rn_capture_is_idle(idle))
		return;
	cm->capture = NULL;
	join_layers(cm);
	rn_capture_free(idle);
}

int rnd_cm_capture(struct rnd_cm *cm, uint64_t id, int ring, uint32_t size,
		   const struct rn_capture_filter *filter)
{
	int rc;

	if (!cm->capture) {
		cm->capture = rn_capture_new(&cm->sockets, &capture_host, cm);
		if (!cm->capture)
			return -ENOMEM;
		join_layers(cm);
	}
	rc = rn_capture_add(cm->capture, id, ring, size, filter);
	drop_idle_capture(cm);
	return rc;
}

void rnd_cm_end_capture(struct rnd_cm *cm, uint64_t id)
{
	if (!cm || !cm->capture)
		return;
	rn_capture_remove(cm->capture, id);
	drop_idle_capture(cm);
}

/* ---- Fault rules for the packets of QP1 ---- */

static void set_rules(struct rnd_cm *cm, const char *text)
{
	/* static because it is large; rocind has only one thread */
	static struct rn_fault_rules rules;
	char why[200];

	rules.count = 0;
	if (text && rn_fault_rules_parse(text, "rules", &rules, why, sizeof(why)))
		rn_log(RN_LOG_WARN, "the connection manager keeps no rules: %s", why);
	/* The connection manager serves all devices, so rules for one device do not apply
	 * to it.
	 */
	rn_fault_rules_select(&rules, "", getpid(), "rocind");
	rn_fault_set_rules(cm->fault, &rules);
}

static void drop_idle_fault(struct rnd_cm *cm)
{
	struct rn_fault *idle = cm->fault;

	if (!rn_fault_is_idle(idle))
		return;
	cm->fault = NULL;
	join_layers(cm);
	rn_fault_free(idle);
}

void rnd_cm_set_faults(struct rnd_cm *cm, const char *text)
{
	if (!cm->fault && text) {
		cm->fault = rn_fault_new(cm->net, false, cm->stats, &fault_host, cm);
		if (!cm->fault)
			rn_log(RN_LOG_WARN, "the connection manager keeps no rules: %s",
			       strerror(errno));
		join_layers(cm);
	}
	if (!cm->fault)
		return;
	set_rules(cm, text);
	/* Sends the packets that the previous rules have delayed until now. */
	if (cm->ucma)
		on_timer_due(cm);
	drop_idle_fault(cm);
}

void rnd_cm_count_faults(const struct rnd_cm *cm, uint64_t *seen, uint64_t *hits)
{
	const struct rn_fault_rules *rules;

	if (!cm->fault)
		return;
	rules = rn_fault_rules(cm->fault);
	for (unsigned i = 0; i < rules->count; i++) {
		seen[rules->rule[i].number] += rules->rule[i].seen;
		hits[rules->rule[i].number] += rules->rule[i].hits;
	}
}

/* ---- Callbacks of ucma ---- */

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

static void show(void *ctx, void *user, uint32_t number, struct rn_cm_answers *answers)
{
	const struct rnd_cm_channel *ch = user;
	struct rnd_cm *cm = ctx;

	if (answers)
		answers->channel = ch->number;
	rn_cm_board_show(&cm->board, number, answers);
}

static void show_life(void *ctx, void *user, enum rn_cm_kind kind, uint32_t number,
		      struct rn_cm_life *life)
{
	const struct rnd_cm_channel *ch = user;
	struct rnd_cm *cm = ctx;

	if (life)
		life->channel = ch->number;
	rn_cm_board_show_life(&cm->board, kind, number, life);
}

/* Numbers of the two records of kind RND_RECORD_CM that the keeper has. */
enum {
	CM_RECORD_OWN,
	CM_RECORD_UCMA,
};

static const enum rnd_record_kind record_of[] = {
	[RND_UCMA_NUMBERS] = RND_RECORD_CM,  [RND_UCMA_ID] = RND_RECORD_ID,
	[RND_UCMA_CONN] = RND_RECORD_CONN,   [RND_UCMA_MCAST] = RND_RECORD_MCAST,
	[RND_UCMA_EVENT] = RND_RECORD_EVENT,
};

static void keep(void *ctx, enum rnd_ucma_kind kind, uint64_t number, const void *data,
		 size_t len)
{
	struct rnd_cm *cm = ctx;

	rnd_keeper_put(&cm->server->keeper, record_of[kind],
		       kind == RND_UCMA_NUMBERS ? CM_RECORD_UCMA : number, data, len);
}

static void forget(void *ctx, enum rnd_ucma_kind kind, uint64_t number)
{
	struct rnd_cm *cm = ctx;

	rnd_keeper_drop(&cm->server->keeper, record_of[kind], number);
}

static const struct rnd_ucma_ops ops = {
	.hold = hold,
	.route = route,
	.is_local = is_local,
	.ready = rnd_cm_announce,
	.show = show,
	.show_life = show_life,
	.keep = keep,
	.forget = forget,
};

/* ---- Start and end of the connection manager ---- */

/* Reads one or two numbers from a file in /proc/sys. If a number cannot be read, *@a or
 * *@b stays as it is.
 */
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

/* Allocates the table of connections of the CM protocol. It is large, but its pages take
 * no memory until connections use them. Returns NULL if there is no memory.
 */
static struct rn_cm *new_protocol(struct rnd_cm *cm)
{
	void *block;

	if (posix_memalign(&block, 16, rn_cm_size(CONN_MAX)))
		return NULL;
	return rn_cm_init(block, &(struct rn_cm_cfg){ .conn_max = CONN_MAX,
						      .draw = rn_secret,
						      .timeout_scale = rn_timeout_scale(),
						      .has_request = rnd_cm_has_request,
						      .ctx = cm });
}

static struct rnd_ucma *new_ucma(struct rnd_cm *cm)
{
	unsigned first = 32768, last = 60999, v6only = 0;
	unsigned free = PORT_PRIVILEGED_END;

	read_setting("/proc/sys/net/ipv4/ip_local_port_range", &first, &last);
	read_setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", &free, NULL);
	read_setting("/proc/sys/net/ipv6/bindv6only", &v6only, NULL);
	return rnd_ucma_new(&(struct rnd_ucma_cfg){
		.ops = &ops,
		.ctx = cm,
		.cm = cm->protocol,
		.draw = rn_secret,
		.port_first = (uint16_t)first,
		.port_last = (uint16_t)last,
		.port_free = geteuid() ? (uint16_t)free : 0,
		.v6only = v6only != 0,
	});
}

static void free_ucma(struct rnd_cm *cm)
{
	rnd_ucma_free(cm->ucma);
	free(cm->protocol);
	cm->ucma = NULL;
	cm->protocol = NULL;
}

/* Creates the timer and the table of connections unless they exist. Called when the first
 * channel is opened or the first packet comes, and not before, because the table is
 * large. Returns 0 or -errno.
 */
static int start(struct rnd_cm *cm)
{
	int rc;

	if (cm->ucma)
		return 0;
	cm->protocol = new_protocol(cm);
	cm->ucma = cm->protocol ? new_ucma(cm) : NULL;
	if (!cm->ucma) {
		free_ucma(cm);
		return -ENOMEM;
	}
	cm->timer = (struct rnd_source){
		.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.ctx = cm,
		.on_ready = on_timer,
	};
	rc = cm->timer.fd < 0 ? -errno : rnd_server_watch(cm->server, &cm->timer);
	if (rc) {
		rnd_source_close(&cm->timer);
		free_ucma(cm);
		return rc;
	}
	rnd_cm_make_board(cm);
	cm->is_changed = true;
	return 0;
}

int rnd_cm_make_board(struct rnd_cm *cm)
{
	int rc = cm->board.mem ? 0 : rn_cm_board_open(&cm->board, cm->number, rnd_now());

	if (rc)
		rn_log(RN_LOG_INFO, "ids are shown nowhere: %s", strerror(-rc));
	return cm->board.fd;
}

bool rnd_cm_packet(struct rnd_cm *cm, const struct rn_flow *flow, const uint8_t *pkt,
		   size_t len)
{
	bool good;

	/* Even if no program has opened rdma_cm yet, the connection manager must be
	 * started, because it must reject a connection request.
	 */
	if (start(cm))
		return false;
	cm->arrived = (struct rn_rx){ .flow = flow, .data = pkt, .len = (uint32_t)len };
	good = take_packets(cm);
	rnd_cm_flush(cm);
	return good;
}

struct rnd_cm *rnd_cm_new(struct rnd_server *server)
{
	struct rnd_cm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return NULL;
	cm->server = server;
	cm->sockets = (struct rn_net){ .ops = &socket_ops, .ctx = cm };
	cm->net = &cm->sockets;
	cm->timer.fd = -1;
	cm->timer_at = RN_NEVER;
	cm->router.sock = -1;
	cm->board.fd = -1;
	cm->number = (uint32_t)getpid();
	cm->gsi.resp_timeout = RN_CM_RESP_TIMEOUT;
	return cm;
}

void rnd_cm_free(struct rnd_cm *cm)
{
	if (!cm)
		return;
	/* The ids stay on the board (memory in which programs read about their rdma_cm
	 * ids, cm_board.h) when rocind ends: programs keep their mappings of the board,
	 * and still have the ids.
	 */
	rn_cm_board_close(&cm->board);
	while (cm->channels)
		rnd_cm_channel_close(cm->channels);
	rnd_source_close(&cm->timer);
	rnd_router_close(&cm->router);
	free_ucma(cm);
	rn_fault_free(cm->fault);
	rn_capture_free(cm->capture);
	free(cm);
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

void rnd_cm_hide_answers(struct rnd_cm *cm)
{
	rn_cm_board_hide_answers(&cm->board);
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
	if (!cm->ucma)
		return;
	rnd_ucma_addresses_changed(cm->ucma, ifindex);
	rnd_cm_flush(cm);
}

void rnd_cm_count(const struct rnd_cm *cm, struct rnd_ucma_counts *out)
{
	*out = (struct rnd_ucma_counts){ 0 };
	if (cm && cm->ucma)
		rnd_ucma_count(cm->ucma, out);
}

/* Argument of write_id(): the file that rnd_cm_list_ids() writes, and the process id of
 * the program whose rdma_cm ids are being written.
 */
struct id_file {
	FILE *to;
	int32_t pid;
};

static void write_id(void *ctx, const struct rn_ctl_cm_id *id)
{
	const struct id_file *f = ctx;
	struct rn_ctl_cm_id copy = *id;

	copy.pid = f->pid;
	(void)fwrite(&copy, sizeof(copy), 1, f->to);
}

/* Returns the process id of the program that uses a channel, as the sockets tell by which
 * the program sends its commands; 0: it is not known.
 */
static int32_t pid_of(const struct rnd_cm_channel *ch)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (!ch->paths ||
	    getsockopt(ch->paths->sock.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return 0;
	return cred.pid;
}

int rnd_cm_list_ids(const struct rnd_cm *cm)
{
	int fd = memfd_create("rocin-cm-ids", MFD_CLOEXEC), copy;
	struct id_file f = { .to = NULL };

	if (fd < 0)
		return -errno;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	f.to = copy < 0 ? NULL : fdopen(copy, "w");
	if (!f.to) {
		close(fd);
		if (copy >= 0)
			close(copy);
		return -ENOMEM;
	}
	for (const struct rnd_cm_channel *ch = cm ? cm->channels : NULL; ch;
	     ch = ch->next) {
		f.pid = pid_of(ch);
		rnd_ucma_describe(ch->ucma, write_id, &f);
	}
	if (fclose(f.to) == 0)
		return fd;
	close(fd);
	return -ENOMEM;
}

bool rnd_cm_is_open(const struct rnd_cm *cm)
{
	return cm->channels != NULL;
}

/* ---- Handing over to a successor ---- */

void rnd_cm_keep(struct rnd_cm *cm)
{
	struct rnd_keeper *keeper = &cm->server->keeper;

	if (!cm->ucma)
		return;
	rnd_ucma_keep_changes(cm->ucma);
	rnd_cm_channels_keep_marks(cm);
	if (cm->is_changed || !keeper->empty) {
		const struct rnd_cm_saved s = {
			.number = cm->number,
			.board_reserved = cm->board.reserved,
			.board_lives = { cm->board.lives[0], cm->board.lives[1] },
			.last_path = cm->last_path,
		};

		rnd_keeper_put(keeper, RND_RECORD_CM, CM_RECORD_OWN, &s, sizeof(s));
		cm->is_changed = false;
	}
}

void rnd_cm_keep_all(struct rnd_cm *cm)
{
	if (!cm->ucma)
		return;
	cm->is_changed = true;
	rnd_cm_channels_keep_all(cm);
	rnd_ucma_mark_all_changed(cm->ucma);
}

static void restore_own(struct rnd_cm *cm, struct rnd_cm *old, const struct rnd_record *r)
{
	struct rnd_cm_saved s;

	if (r->len != sizeof(s) || cm->ucma)
		return;
	memcpy(&s, r->data, sizeof(s));
	cm->number = s.number;
	cm->last_path = s.last_path;
	if (old) {
		cm->board = old->board;
		old->board = (struct rn_cm_board){ .fd = -1 };
		cm->board.reserved = s.board_reserved;
		memcpy(cm->board.lives, s.board_lives, sizeof(cm->board.lives));
	}
	if (start(cm))
		rn_log(RN_LOG_ERROR, "the connection manager is not restored: %m");
	else if (cm->board.mem)
		rn_cm_board_mend(&cm->board);
}

static void restore_ucma(struct rnd_cm *cm, enum rnd_ucma_kind kind,
			 const struct rnd_record *r)
{
	int rc = rnd_ucma_restore(cm->ucma, kind, r->number, r->data, r->len);

	if (rc)
		rn_log(RN_LOG_ERROR, "object %d %llu of rdma_cm is lost: %s", (int)kind,
		       (unsigned long long)r->number, strerror(-rc));
}

void rnd_cm_restore(struct rnd_cm *cm, struct rnd_cm *old, struct rnd_record *r)
{
	if (r->kind == RND_RECORD_CM && r->number == CM_RECORD_OWN)
		restore_own(cm, old, r);
	if (!cm->ucma || (r->kind == RND_RECORD_CM && r->number == CM_RECORD_OWN))
		return;
	if (r->kind == RND_RECORD_CHANNEL)
		rnd_cm_channel_restore(cm, r);
	else if (r->kind == RND_RECORD_MARKS)
		rnd_cm_marks_restore(cm, r);
	else if (r->kind == RND_RECORD_PATH)
		rnd_cm_path_restore(cm, r);
	else
		for (unsigned kind = 0; kind < RND_UCMA_KINDS; kind++)
			if (record_of[kind] == r->kind)
				restore_ucma(cm, (enum rnd_ucma_kind)kind, r);
}

void rnd_cm_restored(struct rnd_cm *cm)
{
	if (!cm->ucma)
		return;
	rnd_ucma_restored(cm->ucma);
	on_timer_due(cm);
}
