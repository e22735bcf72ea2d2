/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ucma_kit.c - see ucma_kit.h. */
#include "ucma_kit.h"

#include <stdlib.h>

/* ---- The world around ---- */

static int hold(void *ctx, const struct rn_gid *gid, uint32_t scope)
{
	struct host *h = ctx;

	(void)scope;
	if (h->elsewhere && memcmp(gid, h->elsewhere, sizeof(*gid)) == 0)
		return -EADDRINUSE;
	h->held++;
	return 0;
}

static int route(void *ctx, const struct rn_gid *dst, uint32_t scope,
		 const struct rn_gid *src, struct rnd_ucma_route *out)
{
	struct host *h = ctx;

	(void)scope;
	(void)src;
	if (dst->raw[12] == 9) /* 9.0.0.0/8 */
		return -ENETUNREACH;
	*out = (struct rnd_ucma_route){ .src = h->route_src ? *h->route_src
							    : h->nd.gid[0],
					.ifindex = h->nd.ifindex };
	return 0;
}

static bool is_local(void *ctx, const struct rn_gid *gid)
{
	(void)ctx;
	return gid->raw[12] == 127;
}

static void ready(void *ctx, void *user)
{
	(void)user;
	((struct host *)ctx)->ready++;
}

static void show(void *ctx, void *user, uint32_t number, struct rn_cm_answers *answers)
{
	struct host *h = ctx;

	if (number >= SHOWN_MAX || h->is_dying)
		return;
	h->shown[number].is_there = answers != NULL;
	h->shown[number].user = user;
	if (answers)
		h->shown[number].answers = *answers;
}

static void show_life(void *ctx, void *user, enum rn_cm_kind kind, uint32_t number,
		      struct rn_cm_life *life)
{
	struct host *h = ctx;

	if (number >= SHOWN_MAX || h->is_dying)
		return;
	h->lives[kind][number].is_there = life != NULL;
	h->lives[kind][number].user = user;
	if (life)
		h->lives[kind][number].life = *life;
}

struct kept {
	struct kept *next; /* sorted by kind and number */
	enum rnd_ucma_kind kind;
	uint64_t number;
	size_t len;
	uint8_t data[];
};

static void forget(void *ctx, enum rnd_ucma_kind kind, uint64_t number)
{
	struct host *h = ctx;
	struct kept **at = &h->kept, *k;

	while (*at && ((*at)->kind != kind || (*at)->number != number))
		at = &(*at)->next;
	k = *at;
	if (!k || h->is_dying)
		return;
	*at = k->next;
	free(k);
}

static void keep(void *ctx, enum rnd_ucma_kind kind, uint64_t number, const void *data,
		 size_t len)
{
	struct host *h = ctx;
	struct kept **at = &h->kept, *k = malloc(sizeof(*k) + len);

	assert_non_null(k);
	forget(ctx, kind, number);
	while (*at &&
	       ((*at)->kind < kind || ((*at)->kind == kind && (*at)->number < number)))
		at = &(*at)->next;
	*k = (struct kept){ .next = *at, .kind = kind, .number = number, .len = len };
	memcpy(k->data, data, len);
	*at = k;
}

static const struct rnd_ucma_ops ops = {
	.hold = hold,
	.route = route,
	.is_local = is_local,
	.ready = ready,
	.show = show,
	.show_life = show_life,
	.keep = keep,
	.forget = forget,
};

static struct rn_gid gid4(uint8_t last)
{
	return (struct rn_gid){ .raw = { [10] = 0xff, 0xff, 10, 0, 0, last } };
}

static struct rn_cm *new_cm(uint64_t seed)
{
	void *block = NULL;

	assert_int_equal(posix_memalign(&block, 16, rn_cm_size(64)), 0);
	return rn_cm_init(block, &(struct rn_cm_cfg){ .conn_max = 64, .seed = seed });
}

static void begin(struct host *h)
{
	h->cm = new_cm(h->seed);
	h->ucma = rnd_ucma_new(&(struct rnd_ucma_cfg){ .ops = &ops,
						       .ctx = h,
						       .seed = h->seed,
						       .cm = h->cm,
						       .port_first = 32768,
						       .port_last = 60999,
						       .port_free = 1024 });
	assert_non_null(h->ucma);
}

/* ---- Succession ---- */

/* The head of a list has moved to @to from @from, whose bytes it has. */
static void move_head(struct rn_list *to, const struct rn_list *from)
{
	if (to->next == from) {
		rn_list_init(to);
		return;
	}
	to->next->prev = to;
	to->prev->next = to;
}

static void settle(struct rnd_ucma_channel *ch, const struct rnd_ucma_channel *from)
{
	struct rn_list *l;

	move_head(&ch->link, &from->link);
	move_head(&ch->ids, &from->ids);
	move_head(&ch->events, &from->events);
	rn_list_for_each (l, &ch->ids)
		RN_CONTAINER_OF(l, struct rnd_id, link)->ch = ch;
}

/* Exchanges two channels, so that tests keep their pointers. */
static void exchange_channels(struct rnd_ucma_channel *a, struct rnd_ucma_channel *b)
{
	const struct rnd_ucma_channel old = *a;

	*a = *b;
	*b = old;
	settle(a, b);
	settle(b, a);
}

static void succeed(struct host *h, rn_ns now)
{
	struct rnd_ucma_channel *old[64], *new[64];
	struct rnd_ucma *dead = h->ucma;
	struct rn_cm *dead_cm = h->cm;
	unsigned count = 0;
	struct rn_list *l;

	rnd_ucma_keep_changes(dead);
	begin(h);
	rn_list_for_each (l, &dead->channels) {
		struct rnd_ucma_channel *ch =
			RN_CONTAINER_OF(l, struct rnd_ucma_channel, link);
		struct rn_netdev devs[RN_NETDEV_MAX];

		assert_in_range(count, 0, 63);
		old[count] = ch;
		new[count] =
			rnd_ucma_open(h->ucma, devs, rnd_ucma_devs(ch, devs), ch->user);
		rnd_ucma_set_number(new[count++], ch->number);
	}
	for (const struct kept *k = h->kept; k; k = k->next)
		assert_int_equal(
			rnd_ucma_restore(h->ucma, k->kind, k->number, k->data, k->len),
			0);
	rnd_ucma_restored(h->ucma);
	h->is_dying = true;
	for (unsigned i = 0; i < count; i++)
		exchange_channels(old[i], new[i]);
	for (unsigned i = 0; i < count; i++)
		rnd_ucma_close(new[i], now);
	rnd_ucma_free(dead);
	free(dead_cm);
	h->is_dying = false;
}

static void succeed_both(struct net *net)
{
	static int wanted = -1;

	if (wanted < 0)
		wanted = getenv("ROCIN_TEST_SUCCESSION") != NULL;
	for (unsigned i = 0; i < 2 && wanted; i++)
		succeed(&net->host[i], net->now);
}

int ucma_kit_setup(void **state)
{
	struct net *net = calloc(1, sizeof(*net));

	for (uint8_t i = 0; i < 2; i++) {
		struct host *h = &net->host[i];

		h->nd = (struct rn_netdev){ .ibdev = "rocin0",
					    .ifname = "eth0",
					    .ifindex = 7,
					    .mtu = 1500,
					    .node_guid = 0x100 + i,
					    .gid_count = 1,
					    .gid = { gid4(i + 1) } };
		h->seed = i;
		begin(h);
	}
	*state = net;
	return 0;
}

int ucma_kit_teardown(void **state)
{
	struct net *net = *state;

	for (unsigned i = 0; i < 2; i++) {
		struct rnd_ucma_counts left;

		rnd_ucma_count(net->host[i].ucma, &left);
		assert_int_equal(left.channels, 0);
		assert_int_equal(left.ids, 0);
		assert_int_equal(left.ports, 0);
		rnd_ucma_free(net->host[i].ucma);
		free(net->host[i].cm);
		while (net->host[i].kept) {
			struct kept *k = net->host[i].kept;

			net->host[i].kept = k->next;
			free(k);
		}
	}
	free(net);
	return 0;
}

struct rnd_ucma_channel *open_channel(struct net *net, unsigned i)
{
	static char users[256]; /* so that each has one of its own */
	static unsigned char next;
	struct rnd_ucma_channel *ch =
		rnd_ucma_open(net->host[i].ucma, &net->host[i].nd, 1, &users[next++]);

	assert_non_null(ch);
	rnd_ucma_set_number(ch, ++net->host[i].channels);
	return ch;
}

void deliver(struct net *net)
{
	struct rn_cm_tx tx;
	bool any = true;

	while (any) {
		any = false;
		for (unsigned i = 0; i < 2; i++) {
			while (rn_cm_transmit(net->host[i].cm, &tx)) {
				unsigned to = tx.flow.dst.raw[15] - 1u;
				const struct rn_cm_rx rx = { .flow = &tx.flow,
							     .src_qpn = 1,
							     .mad = tx.pkt +
								    RN_GSI_MAD_AT };

				any = true;
				if (to < 2)
					rnd_ucma_packet(net->host[to].ucma, net->now,
							&rx);
			}
		}
	}
}

/* ---- What is shown ---- */

static int ask(struct rnd_id *id, uint32_t cmd, const void *in, size_t in_len,
	       struct rnd_call *call)
{
	const struct rn_cmdev_call head = { .cmd = cmd,
					    .in_len = (uint32_t)in_len,
					    .out_len = RN_CMDEV_OUT_MAX };

	*call = (struct rnd_call){ .ch = id->ch, .head = &head, .in = in };
	return rnd_ucma_command(call);
}

/* It is what the commands answer, and nothing else is there. */
static void check_id(struct host *h, struct rnd_id *id)
{
	/* Copies: asking shows it anew. */
	const struct rn_cm_answers shown = h->shown[id->number].answers;
	const struct rdma_ucm_query query = { .id = id->number };
	struct rnd_call call;

	assert_true(h->shown[id->number].is_there);
	assert_ptr_equal(h->shown[id->number].user, id->ch->user);
	assert_int_equal(shown.serial, id->serial);
	assert_int_equal(shown.has_conn, id->conn != NULL);
	assert_int_equal(
		ask(id, RDMA_USER_CM_CMD_QUERY_ROUTE, &query, sizeof(query), &call), 0);
	assert_int_equal(call.answer_len, sizeof(shown.route));
	assert_memory_equal(call.answer, shown.route, call.answer_len);
	for (uint32_t i = 0; i < RN_CMBOARD_QP_STATES; i++) {
		const struct rdma_ucm_init_qp_attr init = { .id = id->number,
							    .qp_state = 1 + i };
		int rc = ask(id, RDMA_USER_CM_CMD_INIT_QP_ATTR, &init, sizeof(init),
			     &call);

		assert_int_equal(rc == 0, shown.has_qp >> i & 1);
		if (rc)
			continue;
		assert_int_equal(call.answer_len, sizeof(shown.qp[i]));
		assert_memory_equal(call.answer, shown.qp[i], call.answer_len);
	}
}

/* What outlives rocind is what it knows, of each id and group that the program knows. */
static void check_lives(struct host *h, uint32_t number)
{
	const struct rnd_id *id = rnd_table_get(&h->ucma->ids, number);
	const struct rnd_mcast *mc = rnd_table_get(&h->ucma->mcasts, number);
	const struct rn_cm_life *life = &h->lives[RN_CM_KIND_ID][number].life;

	assert_int_equal(h->lives[RN_CM_KIND_ID][number].is_there, id && !id->asked_for);
	assert_int_equal(h->lives[RN_CM_KIND_GROUP][number].is_there, mc != NULL);
	if (id && !id->asked_for) {
		assert_ptr_equal(h->lives[RN_CM_KIND_ID][number].user, id->ch->user);
		assert_int_equal(life->uid, id->uid);
		assert_int_equal(life->events_reported, id->events_reported);
		assert_int_equal(life->has_device, id->dev != NULL);
	}
	life = &h->lives[RN_CM_KIND_GROUP][number].life;
	if (mc) {
		assert_ptr_equal(h->lives[RN_CM_KIND_GROUP][number].user,
				 mc->id->ch->user);
		assert_int_equal(life->events_reported, mc->events_reported);
	}
}

static void check_shown(struct net *net)
{
	for (unsigned i = 0; i < 2; i++) {
		struct host *h = &net->host[i];

		for (uint32_t number = 0; number < SHOWN_MAX; number++) {
			struct rnd_id *id = rnd_table_get(&h->ucma->ids, number);

			check_lives(h, number);
			if (!id || id->asked_for)
				assert_false(h->shown[number].is_there);
			else if (id->dev || h->shown[number].is_there)
				check_id(h, id);
		}
	}
}

/* ---- A program ---- */

int command(struct net *net, struct rnd_ucma_channel *ch, uint32_t cmd, const void *in,
	    size_t in_len, void *out, size_t out_len)
{
	const struct rn_cmdev_call head = { .cmd = cmd,
					    .in_len = (uint32_t)in_len,
					    .out_len = (uint32_t)out_len };
	struct rnd_call call = { .ch = ch, .now = net->now, .head = &head, .in = in };
	int rc = rnd_ucma_command(&call);

	if (out && call.answer_len)
		memcpy(out, call.answer,
		       call.answer_len < out_len ? call.answer_len : out_len);
	rnd_ucma_answered(ch->ucma);
	succeed_both(net);
	deliver(net);
	succeed_both(net);
	check_shown(net);
	return rc;
}

uint32_t create_id(struct net *net, struct rnd_ucma_channel *ch, uint64_t uid,
		   uint16_t ps)
{
	struct rdma_ucm_create_id cmd = { .uid = uid, .ps = ps };
	struct rdma_ucm_create_id_resp resp;

	assert_int_equal(COMMAND(net, ch, CREATE_ID, cmd, resp), 0);
	return resp.id;
}

uint32_t destroy_id(struct net *net, struct rnd_ucma_channel *ch, uint32_t id)
{
	struct rdma_ucm_destroy_id cmd = { .id = id };
	struct rdma_ucm_destroy_id_resp resp;

	assert_int_equal(COMMAND(net, ch, DESTROY_ID, cmd, resp), 0);
	return resp.events_reported;
}

struct sockaddr_in6 ip(uint8_t a, uint8_t d, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl((uint32_t)a << 24 | d) };
	struct sockaddr_in6 any = { 0 };

	memcpy(&any, &sin, sizeof(sin));
	return any;
}

int bind_ip(struct net *net, struct rnd_ucma_channel *ch, uint32_t id,
	    struct sockaddr_in6 addr)
{
	struct rdma_ucm_bind_ip cmd = { .id = id, .addr = addr };

	return ORDER(net, ch, BIND_IP, cmd);
}

int resolve_ip(struct net *net, struct rnd_ucma_channel *ch, uint32_t id,
	       struct sockaddr_in6 dst)
{
	struct rdma_ucm_resolve_ip cmd = { .id = id, .dst_addr = dst };

	return ORDER(net, ch, RESOLVE_IP, cmd);
}

int resolve_route(struct net *net, struct rnd_ucma_channel *ch, uint32_t id)
{
	struct rdma_ucm_resolve_route cmd = { .id = id };

	return ORDER(net, ch, RESOLVE_ROUTE, cmd);
}

int listen_on(struct net *net, struct rnd_ucma_channel *ch, uint32_t id, uint32_t backlog)
{
	struct rdma_ucm_listen cmd = { .id = id, .backlog = backlog };

	return ORDER(net, ch, LISTEN, cmd);
}

int set_option(struct net *net, struct rnd_ucma_channel *ch, uint32_t id, uint32_t level,
	       uint32_t name, const void *value, size_t len)
{
	const struct rdma_ucm_set_option cmd = {
		.id = id, .level = level, .optname = name, .optlen = (uint32_t)len
	};
	const struct rn_cmdev_call head = { .cmd = RDMA_USER_CM_CMD_SET_OPTION,
					    .in_len = sizeof(cmd),
					    .option_len = (uint32_t)len };
	struct rnd_call call = {
		.ch = ch, .now = net->now, .head = &head, .in = &cmd, .option = value
	};

	return rnd_ucma_command(&call);
}

struct rdma_ucm_event_resp event(struct net *net, struct rnd_ucma_channel *ch,
				 uint32_t type)
{
	struct rdma_ucm_get_event cmd = { 0 };
	struct rdma_ucm_event_resp ev = { 0 };

	assert_int_equal(COMMAND(net, ch, GET_EVENT, cmd, ev), 0);
	assert_int_equal(ev.event, type);
	return ev;
}

void no_event(struct net *net, struct rnd_ucma_channel *ch)
{
	struct rdma_ucm_get_event cmd = { 0 };
	struct rdma_ucm_event_resp ev;

	assert_int_equal(COMMAND(net, ch, GET_EVENT, cmd, ev), -EAGAIN);
	assert_int_equal(rnd_ucma_event_count(ch), 0);
}

struct ib_uverbs_qp_attr qp_attr(struct net *net, struct rnd_ucma_channel *ch,
				 uint32_t id, uint32_t state)
{
	struct rdma_ucm_init_qp_attr cmd = { .id = id, .qp_state = state };
	struct ib_uverbs_qp_attr attr = { 0 };

	assert_int_equal(COMMAND(net, ch, INIT_QP_ATTR, cmd, attr), 0);
	return attr;
}

/* ---- A server on host 1 and a client on host 0 ---- */

void start_server(struct net *net, struct pair *p, uint16_t ps)
{
	p->server = open_channel(net, 1);
	p->server_id = create_id(net, p->server, SERVER_UID, ps);
	assert_int_equal(bind_ip(net, p->server, p->server_id, ip(0, 0, TCP_PORT)), 0);
	assert_int_equal(listen_on(net, p->server, p->server_id, 0), 0);
}

void start_client(struct net *net, struct pair *p, uint16_t ps)
{
	struct sockaddr_in6 dst = ip(10, 2, TCP_PORT);

	p->client = open_channel(net, 0);
	p->client_id = create_id(net, p->client, CLIENT_UID, ps);
	assert_int_equal(resolve_ip(net, p->client, p->client_id, dst), 0);
	assert_int_equal(event(net, p->client, RND_EV_ADDR_RESOLVED).uid, CLIENT_UID);
	assert_int_equal(resolve_route(net, p->client, p->client_id), 0);
	event(net, p->client, RND_EV_ROUTE_RESOLVED);
}

int connect_to(struct net *net, const struct pair *p, const char *text)
{
	struct rdma_ucm_connect cmd = { .id = p->client_id,
					.conn_param = { .qp_num =
								p->qpn ? p->qpn : 0x1234,
							.responder_resources = 3,
							.initiator_depth = 5,
							.retry_count = 6,
							.rnr_retry_count = 4,
							.valid = 1 } };

	cmd.conn_param.private_data_len = (uint8_t)strlen(text);
	memcpy(cmd.conn_param.private_data, text, strlen(text));
	return ORDER(net, p->client, CONNECT, cmd);
}

int accept_it(struct net *net, const struct pair *p)
{
	struct rdma_ucm_accept cmd = { .id = p->child_id,
				       .uid = CHILD_UID,
				       .conn_param = { .qp_num = 0x5678,
						       .responder_resources = 5,
						       .initiator_depth = 3,
						       .rnr_retry_count = 2,
						       .private_data = "yes",
						       .private_data_len = 3,
						       .valid = 1 } };

	return ORDER(net, p->server, ACCEPT, cmd);
}

void establish(struct net *net, struct pair *p)
{
	struct rdma_ucm_accept ready_cmd = { .id = 0 };
	struct rdma_ucm_event_resp ev;

	start_server(net, p, RDMA_PS_TCP);
	start_client(net, p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, p, "hello"), 0);
	ev = event(net, p->server, RND_EV_CONNECT_REQUEST);
	assert_int_equal(ev.uid, SERVER_UID);
	p->child_id = ev.id;
	assert_int_equal(accept_it(net, p), 0);
	ev = event(net, p->client, RND_EV_CONNECT_RESPONSE);
	assert_int_equal(ev.uid, CLIENT_UID);
	ready_cmd.id = p->client_id;
	assert_int_equal(ORDER(net, p->client, ACCEPT, ready_cmd), 0);
	assert_int_equal(event(net, p->server, RND_EV_ESTABLISHED).uid, CHILD_UID);
}

void end(struct net *net, struct pair *p)
{
	if (p->client)
		rnd_ucma_close(p->client, net->now);
	if (p->server)
		rnd_ucma_close(p->server, net->now);
	deliver(net);
}
