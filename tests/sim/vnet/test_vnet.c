/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_vnet.c - hosts, links and switches in virtual time: who gets what, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/dev_cfg.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "sim/vnet/topology.h"

enum {
	HOSTS = 3,
	PACKETS = 4,
	DELAY = 100,
	SEEN = 256,
	BURST = 200, /* packets: many more than may wait with PFC */
};

/* What happened: hosts at which something arrived, or whose time had come; own events. */
struct seen {
	rn_ns at;
	char what; /* a(rrives), l(ost), h(appens) */
	uint32_t who;
};

struct net {
	struct rn_vnet *v;
	struct rn_dev *dev[HOSTS];
	uint64_t stats[HOSTS][RN_STAT_COUNT];
	uint32_t node;	       /* of the switch */
	rn_ns deadline[HOSTS]; /* of a network of clocks, see clocks_new() */
	unsigned again;	       /* times that host 0 is due again at once */
	struct seen seen[SEEN];
	unsigned count;
};

static void see(struct net *n, char what, uint32_t who)
{
	assert_true(n->count < SEEN);
	n->seen[n->count++] = (struct seen){ n->v->now, what, who };
}

static void arrive(void *ctx, uint32_t host, struct rn_vnet_packet *p)
{
	(void)p;
	see(ctx, 'a', host);
}

static void expire(void *ctx, uint32_t host)
{
	(void)ctx, (void)host;
}

static void happen(void *ctx, uint32_t what, uint32_t arg)
{
	(void)what;
	see(ctx, 'h', arg);
}

static void lost(void *ctx, const struct rn_vnet_packet *p,
		 const struct rn_vnet_port *port, enum rn_vnet_loss why)
{
	(void)p, (void)port;
	see(ctx, 'l', why);
}

static const struct rn_vnet_ops ops = {
	.arrive = arrive, .expire = expire, .happen = happen, .lost = lost
};

static enum rn_mem_result no_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				   struct rn_mem_attr attr)
{
	(void)ctx, (void)dst, (void)src, (void)len, (void)attr;
	return RN_MEM_FAULT;
}

static enum rn_mem_result no_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				  struct rn_mem_attr attr, uint64_t tag)
{
	(void)ctx, (void)dst, (void)src, (void)len, (void)attr, (void)tag;
	return RN_MEM_FAULT;
}

static enum rn_mem_result no_atomic(void *ctx, const struct rn_mem_atomic_req *req,
				    uint64_t *orig, struct rn_mem_attr attr, uint64_t tag)
{
	(void)ctx, (void)req, (void)orig, (void)attr, (void)tag;
	return RN_MEM_FAULT;
}

static const struct rn_mem_ops no_memory = {
	.always_done = true, .write = no_write, .read = no_read, .atomic = no_atomic
};

static const struct rn_link_cfg link = { .rate = UINT64_C(8000000000), .delay = DELAY };

/* Three hosts at a switch. */
static void build(struct net *n, const struct rn_link_cfg *cfg)
{
	rn_vnet_clear(n->v, 1000);
	n->count = 0;
	n->node = rn_vnet_add_switch(n->v);
	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct rn_gid gid = rn_vnet_gid(i, false);

		assert_int_equal(rn_vnet_add_host(n->v, n->dev[i], &gid), i);
		rn_vnet_join(n->v, &(struct rn_vnet_side){ i, 0, cfg, i },
			     &(struct rn_vnet_side){ n->node, i, cfg, 10 + i });
		rn_vnet_route(n->v, n->node, i, i, 1);
	}
}

static int set_up(void **state)
{
	static struct net n;
	const struct rn_vnet_cfg cfg = { .hosts = HOSTS,
					 .switches = 1,
					 .switch_ports = HOSTS,
					 .packets = PACKETS,
					 .events = 4,
					 .ops = &ops,
					 .ctx = &n };

	n.v = rn_vnet_new(&cfg);
	assert_non_null(n.v);
	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct rn_dev_cfg dev = { .gid = { rn_vnet_gid(i, false) },
						.gid_count = 1,
						.mtu_max = 4096,
						.window_start = 65536,
						.window_min = 65536,
						.window_max = 65536,
						.read_window = 65536,
						.read_chunk = 65536,
						.mem = &no_memory,
						.stats = n.stats[i] };

		n.dev[i] = aligned_alloc(64, (rn_dev_size() + 63) & ~(size_t)63);
		assert_non_null(n.dev[i]);
		assert_int_equal(rn_dev_init(n.dev[i], &dev), 0);
	}
	build(&n, &link);
	*state = &n;
	return 0;
}

static int tear_down(void **state)
{
	struct net *n = *state;

	for (uint32_t i = 0; i < HOSTS; i++) {
		rn_dev_fini(n->dev[i]);
		free(n->dev[i]);
	}
	rn_vnet_free(n->v);
	return 0;
}

/* So long that a packet takes 100 ns on a link, framing included. */
static struct rn_vnet_packet packet(const struct net *n, uint32_t from, uint32_t to)
{
	return (struct rn_vnet_packet){ .flow = { .src = n->v->host[from].gid,
						  .dst = n->v->host[to].gid },
					.from = from,
					.to = to,
					.len = 100 - RN_LINK_FRAMING };
}

static void run(struct net *n)
{
	while (rn_vnet_next(n->v) != RN_NEVER)
		rn_vnet_step(n->v);
}

static void expect(const struct net *n, unsigned i, rn_ns at, char what, uint32_t who)
{
	assert_true(i < n->count);
	assert_int_equal(n->seen[i].what, what);
	assert_int_equal(n->seen[i].who, who);
	assert_int_equal(n->seen[i].at, at);
}

static void an_address_is_found_and_others_are_not(void **state)
{
	struct net *n = *state;
	struct rn_gid gid = rn_vnet_gid(2, false);

	assert_int_equal(rn_vnet_host_of(n->v, &gid), 2);
	gid.raw[12] = 11;
	assert_int_equal(rn_vnet_host_of(n->v, &gid), RN_VNET_NOBODY);
	gid = rn_vnet_gid(HOSTS, false);
	assert_int_equal(rn_vnet_host_of(n->v, &gid), RN_VNET_NOBODY);
	gid = rn_vnet_gid(70000, true);
	assert_int_equal(rn_get_be32(gid.raw + 12), 70001);
}

static void a_packet_takes_each_link_as_long_as_its_bytes_and_the_delay(void **state)
{
	struct net *n = *state;
	const struct rn_vnet_packet p = packet(n, 0, 2);

	assert_non_null(rn_vnet_send(n->v, &p, 0));
	run(n);
	assert_int_equal(n->count, 1);
	expect(n, 0, 1000 + 2 * (100 + DELAY), 'a', 2);
	assert_int_equal(n->v->sent, 1);
	assert_int_equal(n->v->arrived, 1);
	assert_int_equal(rn_vnet_under_way(n->v), 0);
}

/* Two senders: the second packet waits for the first at the port of the switch. */
static void a_port_sends_one_packet_after_the_other(void **state)
{
	struct net *n = *state;
	const struct rn_vnet_packet a = packet(n, 0, 2), b = packet(n, 1, 2);

	rn_vnet_send(n->v, &a, 0);
	rn_vnet_send(n->v, &b, 0);
	run(n);
	expect(n, 0, 1400, 'a', 2);
	expect(n, 1, 1500, 'a', 2);
}

static void the_pool_is_the_limit_of_what_is_under_way(void **state)
{
	struct net *n = *state;
	const struct rn_vnet_packet p = packet(n, 0, 1);

	for (unsigned i = 0; i < PACKETS; i++)
		assert_non_null(rn_vnet_send(n->v, &p, 0));
	assert_null(rn_vnet_send(n->v, &p, 0));
	expect(n, 0, 1000, 'l', RN_VNET_NO_ROOM);
	run(n);
	assert_int_equal(n->v->arrived, PACKETS);
	assert_int_equal(n->v->lost, 1);
	assert_int_equal(n->v->most_packets, PACKETS);
	assert_int_equal(rn_vnet_under_way(n->v), 0);
}

static void what_is_late_is_overtaken(void **state)
{
	struct net *n = *state;
	const struct rn_vnet_packet a = packet(n, 0, 1), b = packet(n, 0, 2);

	rn_vnet_send(n->v, &a, 1000);
	rn_vnet_send(n->v, &b, 0);
	run(n);
	expect(n, 0, 1500, 'a', 2);
	expect(n, 1, 2400, 'a', 1);
}

static void a_stalled_host_gets_its_packets_when_it_runs_again(void **state)
{
	struct net *n = *state;
	const struct rn_vnet_packet p = packet(n, 0, 1);

	n->v->host[1].stalled_until = 5000;
	rn_vnet_send(n->v, &p, 0);
	run(n);
	expect(n, 0, 5000, 'a', 1);
}

/* It goes down while the packet is on it; and a packet that comes then finds no way. */
static void a_link_that_goes_down_loses_what_is_on_it(void **state)
{
	struct net *n = *state;
	const struct rn_vnet_packet p = packet(n, 0, 1);

	rn_vnet_send(n->v, &p, 0);
	rn_vnet_step(n->v); /* at the switch */
	rn_vnet_set_down(n->v, 1, true);
	rn_vnet_send(n->v, &p, 0);
	run(n);
	expect(n, 0, 1400, 'l', RN_VNET_ON_LINK);
	expect(n, 1, 1400, 'l', RN_VNET_NO_WAY);
	rn_vnet_set_down(n->v, 1, false);
	rn_vnet_send(n->v, &p, 0);
	run(n);
	expect(n, 2, 1800, 'a', 1);
	assert_int_equal(n->v->sent, n->v->arrived + n->v->lost);
}

static void a_link_may_double(void **state)
{
	struct net *n = *state;
	struct rn_link_cfg twice = link;
	struct rn_vnet_packet p;

	twice.twice_ppm = 1000000;
	twice.late = 1;
	build(n, &twice);
	p = packet(n, 0, 1);
	rn_vnet_send(n->v, &p, 0);
	run(n);
	assert_int_equal(n->v->sent, 1);
	assert_int_equal(n->v->doubled, 3);
	assert_int_equal(n->v->arrived, 4);
	assert_int_equal(rn_vnet_under_way(n->v), 0);
}

static void own_events_come_in_their_order(void **state)
{
	struct net *n = *state;

	rn_vnet_put(n->v, 3000, RN_VNET_OWN, 1);
	rn_vnet_put(n->v, 2000, RN_VNET_OWN, 2);
	rn_vnet_put(n->v, 3000, RN_VNET_OWN, 3);
	run(n);
	expect(n, 0, 2000, 'h', 2);
	expect(n, 1, 3000, 'h', 1);
	expect(n, 2, 3000, 'h', 3);
	for (unsigned i = 0; i < PACKETS + 4; i++)
		rn_vnet_put(n->v, 4000, RN_VNET_OWN, 0);
	assert_false(n->v->overflowed);
	rn_vnet_put(n->v, 4000, RN_VNET_OWN, 0);
	assert_true(n->v->overflowed);
}

/* Two switches with two links between them: host 0 is at the one, host 1 at the other. */
static void two_ways(struct rn_vnet *v, struct net *n, uint32_t sw[2])
{
	static const struct rn_link_cfg plain = { .delay = DELAY };

	rn_vnet_clear(v, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct rn_gid gid = rn_vnet_gid(i, false);

		sw[i] = rn_vnet_add_switch(v);
		rn_vnet_add_host(v, n->dev[i], &gid);
		rn_vnet_join(v, &(struct rn_vnet_side){ i, 0, &plain, 1 },
			     &(struct rn_vnet_side){ sw[i], 0, &plain, 1 });
		rn_vnet_route(v, sw[i], i, 0, 1);
		rn_vnet_route(v, sw[i], !i, 1, 2);
	}
	for (uint32_t k = 1; k <= 2; k++)
		rn_vnet_join(v, &(struct rn_vnet_side){ sw[0], k, &plain, 1 },
			     &(struct rn_vnet_side){ sw[1], k, &plain, 1 });
}

static void flows_spread_over_ports_and_keep_to_theirs(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;
	struct rn_vnet_cfg cfg = star->cfg;
	uint32_t sw[2], port;
	uint64_t one;

	cfg.switches = 2;
	n->v = rn_vnet_new(&cfg);
	assert_non_null(n->v);
	two_ways(n->v, n, sw);
	port = rn_vnet_port_of(n->v, sw[0], 1);
	for (uint32_t i = 0; i < 200; i++) {
		struct rn_vnet_packet p = packet(n, 0, 1);

		p.flow.sport = (uint16_t)(0xc000 + i / 2);
		one = n->v->port[port].link.packets;
		rn_vnet_send(n->v, &p, 0);
		run(n);
		n->count = 0;
		/* Both packets of a flow, or none. */
		if (i % 2)
			assert_int_equal(n->v->port[port].link.packets % 2, 0);
		else
			assert_true(n->v->port[port].link.packets - one <= 1);
	}
	assert_in_range(n->v->port[port].link.packets, 60, 140);
	rn_vnet_set_down(n->v, port, true);
	one = n->v->port[port + 1].link.packets;
	for (uint32_t i = 0; i < 20; i++) {
		struct rn_vnet_packet p = packet(n, 0, 1);

		p.flow.sport = (uint16_t)(0xc000 + i);
		rn_vnet_send(n->v, &p, 0);
		run(n);
		n->count = 0;
	}
	assert_int_equal(n->v->port[port + 1].link.packets - one, 20);
	assert_int_equal(n->v->lost, 0);
	rn_vnet_free(n->v);
	n->v = star;
}

/* Of two hosts that send to the third more than its link carries, both are told to pause;
 * all arrives, in order and without a gap on that link.
 */
static void who_sends_too_much_is_told_to_pause(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;
	struct rn_vnet_cfg cfg = star->cfg;
	struct rn_link_cfg fast = link, slow = link;
	uint32_t most = 0;

	cfg.packets = BURST;
	cfg.pause_above = 300;
	n->v = rn_vnet_new(&cfg);
	assert_non_null(n->v);
	fast.rate *= 10;
	slow.queue = 200; /* with flow control nothing is lost all the same */
	build(n, &fast);
	rn_link_init(&n->v->port[rn_vnet_port_of(n->v, n->node, 2)].link, &slow, 1);
	for (unsigned i = 0; i < BURST; i++) {
		const struct rn_vnet_packet p = packet(n, i % 2, 2);

		assert_non_null(rn_vnet_send(n->v, &p, 0));
	}
	while (rn_vnet_next(n->v) != RN_NEVER) {
		rn_vnet_step(n->v);
		for (uint32_t i = 0; i < 2; i++)
			if (n->v->port[i].held > most)
				most = n->v->port[i].held;
	}
	assert_int_equal(n->count, BURST);
	for (unsigned i = 0; i < BURST; i++)
		expect(n, i, n->seen[0].at + 100 * (rn_ns)i, 'a', 2);
	assert_int_equal(n->v->lost, 0);
	assert_true(n->v->pauses >= 2);
	/* What is on its way until the other end has heard of it comes on top: 2 x
	 * 100 ns. */
	assert_in_range(most, 400, 300 + 100 + 2000 + 100);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(n->v->port[i].held, 0);
	rn_vnet_free(n->v);
	n->v = star;
}

/* Host 0 has filled what it may of the queue to host 2; host 1 gets its packet all
 * the same. */
static void a_pause_is_for_one_link_alone(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;
	struct rn_vnet_cfg cfg = star->cfg;

	cfg.packets = 40;
	cfg.pause_above = 1;
	n->v = rn_vnet_new(&cfg);
	assert_non_null(n->v);
	build(n, &link);
	for (unsigned i = 0; i < 10; i++) {
		const struct rn_vnet_packet p = packet(n, 0, 2);

		rn_vnet_send(n->v, &p, 0);
	}
	while (!n->v->port[0].paused)
		rn_vnet_step(n->v);
	assert_true(n->v->port[0].waiting > 0);
	const struct rn_vnet_packet p = packet(n, 1, 0);
	rn_ns began = n->v->now;

	n->count = 0;
	rn_vnet_send(n->v, &p, 0);
	while (n->seen[0].who != 0 || !n->count) {
		n->count = 0;
		rn_vnet_step(n->v);
	}
	expect(n, 0, began + 2 * (100 + DELAY), 'a', 0);
	n->count = 0;
	run(n);
	assert_int_equal(n->v->arrived, 11);
	rn_vnet_free(n->v);
	n->v = star;
}

/* A tree of 4-port switches has 4 pods of 2 and 2, and 4 core switches. */
enum {
	K = 4,
	TREE_HOSTS = 16,
	CORE = K * K, /* number of the first core switch */
};

static struct rn_vnet *tree_new(struct net *n, uint32_t hosts)
{
	static const struct rn_link_cfg plain = { .delay = DELAY };
	struct rn_vnet_cfg cfg = n->v->cfg;
	struct rn_vnet *v;

	cfg.hosts = TREE_HOSTS;
	cfg.switches = rn_fat_tree_switches(K);
	cfg.switch_ports = K;
	v = rn_vnet_new(&cfg);
	assert_non_null(v);
	rn_vnet_clear(v, 0);
	for (uint32_t i = 0; i < hosts; i++) {
		const struct rn_gid gid = rn_vnet_gid(i, false);

		/* No timer runs in any: one device will do. */
		rn_vnet_add_host(v, n->dev[0], &gid);
	}
	rn_vnet_fat_tree(v, K, &plain, 1);
	return v;
}

/* Links that a packet between two hosts of a full tree takes. */
static uint32_t links_between(uint32_t a, uint32_t b)
{
	return a / 2 == b / 2 ? 2 : a / 4 == b / 4 ? 4 : 6;
}

static void every_host_of_a_tree_reaches_every_other_by_the_shortest_way(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;

	assert_int_equal(rn_fat_tree_hosts(K), TREE_HOSTS);
	n->v = tree_new(n, TREE_HOSTS);
	for (uint32_t a = 0; a < TREE_HOSTS; a++)
		for (uint32_t b = 0; b < TREE_HOSTS; b++) {
			struct rn_vnet_packet p = packet(n, a, b);
			rn_ns began = n->v->now;

			if (a == b)
				continue;
			p.flow.sport = (uint16_t)(a * TREE_HOSTS + b);
			rn_vnet_send(n->v, &p, 0);
			run(n);
			expect(n, 0, began + links_between(a, b) * DELAY, 'a', b);
			assert_int_equal(n->count, 1);
			n->count = 0;
		}
	/* 192 packets between pods, over 4 core switches. */
	for (uint32_t i = 0; i < K; i++) {
		uint64_t packets = 0;

		for (uint32_t pod = 0; pod < K; pod++)
			packets +=
				n->v
					->port[rn_vnet_port_of(
						n->v, RN_VNET_SWITCH | (CORE + i), pod)]
					.link.packets;
		assert_in_range(packets, 24, 72);
	}
	rn_vnet_free(n->v);
	n->v = star;
}

static void few_hosts_are_spread_over_the_pods(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;

	n->v = tree_new(n, K);
	for (uint32_t to = 1; to < K; to++) {
		const struct rn_vnet_packet p = packet(n, 0, to);
		rn_ns began = n->v->now;

		rn_vnet_send(n->v, &p, 0);
		run(n);
		expect(n, 0, began + 6 * DELAY, 'a', to);
		n->count = 0;
	}
	rn_vnet_free(n->v);
	n->v = star;
}

static rn_ns deadline_of(void *ctx, uint32_t host)
{
	return ((struct net *)ctx)->deadline[host];
}

static void ring(void *ctx, uint32_t host)
{
	struct net *n = ctx;

	see(n, 't', host);
	if (host == 0 && n->again)
		n->again--;
	else
		n->deadline[host] = RN_NEVER;
}

/* Hosts with nothing but a deadline: 5000, 3000, 5000. */
static struct rn_vnet *clocks_new(struct net *n)
{
	static const struct rn_vnet_ops clocks = { .expire = ring,
						   .deadline = deadline_of,
						   .happen = happen };
	struct rn_vnet_cfg cfg = n->v->cfg;
	struct rn_vnet *v;

	cfg.ops = &clocks;
	v = rn_vnet_new(&cfg);
	assert_non_null(v);
	rn_vnet_clear(v, 1000);
	n->again = 0;
	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct rn_gid gid = rn_vnet_gid(i, false);

		n->deadline[i] = i == 1 ? 3000 : 5000;
		rn_vnet_add_host(v, NULL, &gid);
		rn_vnet_rearm(v, i);
	}
	return v;
}

static void timers_come_by_time_and_then_by_host_and_after_events(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;

	n->v = clocks_new(n);
	rn_vnet_put(n->v, 5000, RN_VNET_OWN, 7);
	run(n);
	expect(n, 0, 3000, 't', 1);
	expect(n, 1, 5000, 'h', 7);
	expect(n, 2, 5000, 't', 0);
	expect(n, 3, 5000, 't', 2);
	assert_int_equal(n->count, 4);
	rn_vnet_free(n->v);
	n->v = star;
}

/* Those of other hosts first, and what was put meanwhile. */
static void who_is_due_again_at_once_waits_for_the_next_step(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;

	n->v = clocks_new(n);
	n->again = 2;
	rn_vnet_step(n->v);
	rn_vnet_step(n->v);
	expect(n, 1, 5000, 't', 0);
	expect(n, 2, 5000, 't', 2);
	assert_int_equal(n->count, 3);
	rn_vnet_put(n->v, 5000, RN_VNET_OWN, 7);
	run(n);
	expect(n, 3, 5000, 'h', 7);
	expect(n, 4, 5000, 't', 0);
	expect(n, 5, 5000, 't', 0);
	assert_int_equal(n->count, 6);
	rn_vnet_free(n->v);
	n->v = star;
}

static void timers_wait_for_a_stalled_host_and_go_by_its_clock(void **state)
{
	struct net *n = *state;
	struct rn_vnet *star = n->v;

	n->v = clocks_new(n);
	n->v->host[0].skew = 500;
	n->v->host[1].stalled_until = 8000;
	n->deadline[2] = 10; /* overdue */
	for (uint32_t i = 0; i < HOSTS; i++)
		rn_vnet_rearm(n->v, i);
	assert_int_equal(rn_vnet_local(n->v, 0), 1500);
	run(n);
	expect(n, 0, 1000, 't', 2);
	expect(n, 1, 4500, 't', 0);
	expect(n, 2, 8000, 't', 1);
	rn_vnet_free(n->v);
	n->v = star;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_address_is_found_and_others_are_not),
		TEST(a_packet_takes_each_link_as_long_as_its_bytes_and_the_delay),
		TEST(a_port_sends_one_packet_after_the_other),
		TEST(the_pool_is_the_limit_of_what_is_under_way),
		TEST(what_is_late_is_overtaken),
		TEST(a_stalled_host_gets_its_packets_when_it_runs_again),
		TEST(a_link_that_goes_down_loses_what_is_on_it),
		TEST(a_link_may_double),
		TEST(own_events_come_in_their_order),
		TEST(flows_spread_over_ports_and_keep_to_theirs),
		TEST(timers_come_by_time_and_then_by_host_and_after_events),
		TEST(who_is_due_again_at_once_waits_for_the_next_step),
		TEST(timers_wait_for_a_stalled_host_and_go_by_its_clock),
		TEST(who_sends_too_much_is_told_to_pause),
		TEST(a_pause_is_for_one_link_alone),
		TEST(every_host_of_a_tree_reaches_every_other_by_the_shortest_way),
		TEST(few_hosts_are_spread_over_the_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
