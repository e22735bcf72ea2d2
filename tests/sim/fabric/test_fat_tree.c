/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fat_tree.c - hosts at fat trees: what holds for them, and what is said of a lie.
 *
 * The file itself is part of this program: what its checks say of what no transport does
 * is asked of them directly.
 */
#include "sim/fabric/fat_tree.c"

#include <inttypes.h>
#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

static struct rn_fat_tree_result a, b;

static struct rn_fat_tree_cfg tree_of(uint32_t k, uint32_t hosts, uint64_t seed)
{
	return (struct rn_fat_tree_cfg){
		.seed = seed, .k = k, .hosts = hosts, .cc = RN_CC_ON
	};
}

static void run_well(const struct rn_fat_tree_cfg *cfg, struct rn_fat_tree_result *r)
{
	assert_int_equal(rn_fat_tree_run(cfg, r), 0);
	if (r->failed)
		fail_msg("%u ports, %u hosts, seed %" PRIu64 ": %s", cfg->k, cfg->hosts,
			 cfg->seed, r->why);
	assert_int_equal(r->completed, r->wanted);
}

static void all_have_all_whatever_the_seed(void **state)
{
	static const uint32_t trees[][2] = { { 2, 2 }, { 4, 3 }, { 4, 16 }, { 6, 40 } };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(trees); i++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct rn_fat_tree_cfg cfg =
				tree_of(trees[i][0], trees[i][1], seed);

			run_well(&cfg, &a);
			assert_int_equal(a.lost, 0);
			assert_int_equal(a.retransmitted, 0);
			assert_int_equal(a.timeouts, 0);
			cfg.loss_ppm = 2000;
			cfg.flaps = (uint32_t)seed % 4;
			run_well(&cfg, &b);
			assert_true(b.bytes == a.bytes);
		}
}

static void what_links_lose_is_sent_again(void **state)
{
	struct rn_fat_tree_cfg cfg = tree_of(4, 16, 5);

	(void)state;
	cfg.loss_ppm = 5000;
	run_well(&cfg, &a);
	assert_true(a.lost > 0 && a.retransmitted > 0);
	cfg.loss_ppm = 0;
	cfg.flaps = 30;
	run_well(&cfg, &a);
	assert_true(a.lost > 0 && a.retransmitted > 0);
}

static void congestion_is_marked_and_answered(void **state)
{
	struct rn_fat_tree_cfg cfg = tree_of(4, 9, 3);

	(void)state;
	cfg.traffic = RN_FAT_TREE_INCAST;
	cfg.length = 65536;
	run_well(&cfg, &a);
	assert_int_equal(a.flows, 8);
	assert_true(a.marked > 0 && a.cnps > 0);
	cfg.cc = RN_CC_OFF;
	run_well(&cfg, &b);
	assert_int_equal(b.marked, 0);
	assert_int_equal(b.cnps, 0);
}

/* What full queues lose without it. */
static void flow_control_loses_nothing(void **state)
{
	struct rn_fat_tree_cfg cfg = tree_of(4, 9, 4);

	(void)state;
	cfg.traffic = RN_FAT_TREE_INCAST;
	cfg.cc = RN_CC_OFF;
	cfg.length = 131072;
	run_well(&cfg, &a);
	assert_true(a.dropped > 0 && a.retransmitted > 0);
	assert_int_equal(a.pauses, 0);
	cfg.pfc = true;
	run_well(&cfg, &b);
	assert_true(b.pauses > 0);
	assert_int_equal(b.lost, 0);
	assert_int_equal(b.retransmitted, 0);
	for (cfg.seed = 1; cfg.seed <= 10; cfg.seed++) {
		cfg.cc = RN_CC_ON;
		cfg.loss_ppm = cfg.seed % 2 * 1000;
		cfg.flaps = (uint32_t)cfg.seed % 3 * 2;
		run_well(&cfg, &b);
		assert_true(b.marked > 0 && b.cnps > 0);
	}
}

static void equal_settings_give_equal_runs(void **state)
{
	struct rn_fat_tree_cfg cfg = tree_of(8, 100, 7);

	(void)state;
	cfg.loss_ppm = 500;
	cfg.flaps = 3;
	run_well(&cfg, &a);
	run_well(&cfg, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	cfg.seed = 8;
	run_well(&cfg, &b);
	assert_true(a.hash != b.hash);
}

/* A step takes a packet from one end of a link to the other, and there are six at most.
 */
static void what_happens_grows_with_the_packets_and_not_with_the_hosts(void **state)
{
	static const uint32_t hosts[] = { 10, 100, 1000 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(hosts); i++) {
		struct rn_fat_tree_cfg cfg = tree_of(16, hosts[i], 1);

		cfg.traffic = RN_FAT_TREE_PERMUTATION;
		cfg.messages = 2;
		cfg.length = 4096;
		run_well(&cfg, &a);
		print_message("%u hosts: %" PRIu64 " events, %" PRIu64
			      " packets, %" PRIu64 " bytes a host\n",
			      hosts[i], a.events, a.packets, a.memory / hosts[i]);
		assert_in_range(a.events, a.packets * 5, a.packets * 7);
		assert_true(a.memory / hosts[i] < (hosts[i] < 1000 ? 2000000 : 100000));
	}
}

/* ------------------------------------------------------------------ what is a lie */
/* Two hosts and a flow of two messages of 64 bytes, the first of which is under way. */
static struct lie {
	struct tree tree;
	struct rn_vnet net;
	struct rn_fat_tree_cfg cfg;
	struct rn_fat_tree_result result;
	struct host host[2];
	struct flow flow;
} lie;

static int set_up_lie(void **state)
{
	memset(&lie, 0, sizeof(lie));
	lie.tree = (struct tree){ .cfg = &lie.cfg,
				  .r = &lie.result,
				  .net = &lie.net,
				  .host = lie.host,
				  .flows = 1,
				  .flow = &lie.flow };
	lie.cfg = tree_of(2, 2, 1);
	lie.flow = (struct flow){ .source = 0,
				  .sink = 1,
				  .op = RN_WR_SEND,
				  .length = 64,
				  .messages = 2,
				  .pattern = 7,
				  .posted = 1,
				  .receives = 1 };
	lie.host[0].tree = lie.host[1].tree = &lie.tree;
	*state = &lie;
	return 0;
}

/* What was found wrong since the last time has @text in it; "": nothing was. */
static void says(const char *text)
{
	if (lie.result.failed != (text[0] != '\0') ||
	    (lie.result.failed && !strstr(lie.result.why, text)))
		fail_msg("'%s', not '%s'", lie.result.failed ? lie.result.why : "", text);
	lie.result.failed = false;
}

/* The device of host @host writes bytes of the flow, one of which is wrong if @wrong. */
static void write_at(uint32_t host, uint64_t offset, uint32_t len, bool wrong)
{
	const struct rn_mem_attr attr = { .qpn = 1 << 8 | SLOT };
	uint64_t words[32];

	for (uint32_t i = 0; i < len / 8; i++)
		words[i] = word_of(&lie.flow, offset + 8 * (uint64_t)i);
	words[len / 8 - 1] ^= wrong;
	memory.write(&lie.host[host], address_of(&lie.tree, &lie.flow, 0) + offset, words,
		     len, attr);
}

static void bytes_are_written_once_in_order_where_they_are_asked_for(void **state)
{
	(void)state;
	write_at(1, 0, 32, false);
	says("");
	write_at(1, 0, 32, false);
	says("byte 0 is written when 32 is next");
	lie.flow.written = 32;
	write_at(1, 40, 8, false);
	says("byte 40 is written when 32 is next");
	lie.flow.written = 32;
	write_at(0, 32, 8, false);
	says("written by another one");
	lie.flow.written = 32;
	write_at(1, 32, 8, true);
	says("wrong bytes at 32");
	write_at(1, 40, 40, false);
	says("byte 79 is written before it is asked for");
}

static void a_send_needs_a_receive(void **state)
{
	(void)state;
	lie.flow.posted = 2;
	lie.flow.written = 64;
	write_at(1, 64, 8, false);
	says("before it is asked for");
	lie.flow.op = RN_WR_RDMA_WRITE;
	lie.flow.written = 64;
	write_at(1, 64, 8, false);
	says("");
}

static void only_the_source_is_read_and_only_what_is_asked_for(void **state)
{
	const struct rn_mem_attr attr = { .qpn = 1 << 8 | SLOT };
	const rn_iova at = address_of(&lie.tree, &lie.flow, 0);
	uint64_t words[9];

	(void)state;
	memory.read(&lie.host[0], words, at, 64, attr, 0);
	says("");
	assert_true(holds(&lie.flow, 0, (const uint8_t *)words, 64));
	memory.read(&lie.host[1], words, at, 64, attr, 0);
	says("read by another one");
	memory.read(&lie.host[0], words, at, 72, attr, 0);
	says("byte 71 is read before it is asked for");
}

static void completions_come_in_order_with_success_behind_their_effect(void **state)
{
	struct rn_cqe cqe = { .wr_id = 0, .ctl = RN_WC_SUCCESS };

	(void)state;
	check_completion(&lie.tree, &lie.flow, &cqe, 0);
	says("message 0 completes before it is there");
	lie.flow.written = 64;
	check_completion(&lie.tree, &lie.flow, &cqe, 0);
	says("");
	check_completion(&lie.tree, &lie.flow, &cqe, 1);
	says("message 0 completes when 1 is next");
	cqe.ctl = RN_WC_RETRY_EXC_ERR;
	check_completion(&lie.tree, &lie.flow, &cqe, 0);
	says("status 12");
}

static void what_is_missing_or_sent_again_in_the_end_is_noticed(void **state)
{
	struct flow *f = &lie.flow;

	(void)state;
	f->completed = f->received = 2;
	f->written = 64;
	check_flow(&lie.tree, f);
	says("2 of 2 messages complete");
	f->written = 128;
	check_flow(&lie.tree, f);
	says("");
	f->received = 1;
	check_flow(&lie.tree, f);
	says("messages complete");
	f->received = 2;
	f->stats.retransmitted = 3;
	check_flow(&lie.tree, f);
	says("3 packets are sent again, and none was lost");
	f->losses = 1;
	check_flow(&lie.tree, f);
	says("");
}

static void packets_without_an_owner_are_noticed(void **state)
{
	(void)state;
	lie.net.sent = lie.host[0].stats[RN_STAT_TX_PACKETS] = 5;
	lie.net.arrived = lie.host[1].stats[RN_STAT_RX_PACKETS] = 3;
	lie.net.lost = 2;
	check_packets(&lie.tree);
	says("");
	lie.net.lost = 1;
	check_packets(&lie.tree);
	says("neither at its host nor lost");
	lie.net.lost = 2;
	lie.host[1].stats[RN_STAT_RX_PACKETS] = 2;
	check_packets(&lie.tree);
	says("5 packets sent and 2 received");
	lie.host[1].stats[RN_STAT_RX_PACKETS] = 3;
	lie.net.cfg.packets = 1;
	check_packets(&lie.tree);
	says("neither at its host nor lost");
}

#define LIE(f) cmocka_unit_test_setup(f, set_up_lie)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_have_all_whatever_the_seed),
		cmocka_unit_test(what_links_lose_is_sent_again),
		cmocka_unit_test(congestion_is_marked_and_answered),
		cmocka_unit_test(flow_control_loses_nothing),
		cmocka_unit_test(equal_settings_give_equal_runs),
		cmocka_unit_test(
			what_happens_grows_with_the_packets_and_not_with_the_hosts),
		LIE(bytes_are_written_once_in_order_where_they_are_asked_for),
		LIE(a_send_needs_a_receive),
		LIE(only_the_source_is_read_and_only_what_is_asked_for),
		LIE(completions_come_in_order_with_success_behind_their_effect),
		LIE(what_is_missing_or_sent_again_in_the_end_is_noticed),
		LIE(packets_without_an_owner_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
