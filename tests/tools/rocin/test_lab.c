/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_lab.c - what `rocin lab` tells the kernel and the devices about its cables, the
 * names of hosts, and what they say.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/lab/lab.h"
#include "transport/io/fault/net_fault.h"

/* ------------------------------------------------------------- queueing disciplines */
static const struct rn_lab_link busy = { .mtu = 1500,
					 .loss = 10000,
					 .reorder = 20000,
					 .delay = RN_USEC(50),
					 .rate = 1000000000,
					 .seed = 7 };

/* What tc(8) of iproute2 6.1 sends for "limit 20000 loss 1% delay 50us reorder 2% rate
 * 1gbit", but that it has the delay in ticks, and we in nanoseconds, as an attribute.
 */
static void netem_is_asked_for_as_tc_does(void **state)
{
	static const uint8_t want[] = {
		0x0a, 0, 1,  0, 'n',  'e',  't',  'e', 'm',  0,	   0,	 0, /* kind */
		0x48, 0, 2,  0,						    /* options */
		0,    0, 0,  0, 0x20, 0x4e, 0,	  0,   0x29, 0x5c, 0x8f, 2,
		1,    0, 0,  0, 0,    0,    0,	  0,   0,    0,	   0,	 0,
		0x0c, 0, 10, 0, 0x50, 0xc3, 0,	  0,   0,    0,	   0,	 0, /* delay */
		0x0c, 0, 3,  0, 0x52, 0xb8, 0x1e, 5,   0,    0,	   0,	 0, /* reorder */
		0x14, 0, 6,  0, 0x40, 0x59, 0x73, 7,   0,    0,	   0,	 0, /* rate */
		0,    0, 0,  0, 0,    0,    0,	  0,
	};
	struct nl_msg *m = rn_lab_netem_msg(3, &busy);
	struct nlmsghdr *hdr = nlmsg_hdr(m);
	struct tcmsg tc;

	(void)state;
	memcpy(&tc, nlmsg_data(hdr), sizeof(tc));
	assert_int_equal(hdr->nlmsg_type, RTM_NEWQDISC);
	assert_int_equal(tc.tcm_ifindex, 3);
	assert_int_equal(tc.tcm_parent, TC_H_ROOT);
	assert_int_equal(hdr->nlmsg_len, NLMSG_LENGTH(sizeof(tc)) + sizeof(want));
	assert_memory_equal((char *)nlmsg_data(hdr) + sizeof(tc), want, sizeof(want));
	nlmsg_free(m);
}

static const struct rtattr *find(const struct rtattr *in, uint16_t type)
{
	unsigned len = (unsigned)RTA_PAYLOAD(in);
	const struct rtattr *a = RTA_DATA(in);

	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == type)
			return a;
	return NULL;
}

static const struct rtattr *options_of(struct nl_msg *m)
{
	const char *fixed = nlmsg_data(nlmsg_hdr(m));
	const struct rtattr *kind = (const void *)(fixed + sizeof(struct tcmsg));

	return (const void *)((const char *)kind + RTA_ALIGN(kind->rta_len));
}

static void a_delay_makes_room_for_packets_that_overtake(void **state)
{
	const struct rn_lab_link link = { .mtu = 1500, .reorder = 10000 };
	struct nl_msg *m = rn_lab_netem_msg(1, &link);
	const struct rtattr *options;
	int64_t delay = 0;

	(void)state;
	/* A structure stands before the attributes. */
	options = options_of(m);
	for (size_t at = 4 + sizeof(struct tc_netem_qopt); at + 4 < options->rta_len;) {
		const struct rtattr *a = (const void *)((const char *)options + at);

		if (a->rta_type == TCA_NETEM_LATENCY64)
			memcpy(&delay, RTA_DATA(a), sizeof(delay));
		at += RTA_ALIGN(a->rta_len);
	}
	assert_int_equal(delay, RN_USEC(100));
	nlmsg_free(m);
}

static void tbf_has_a_burst_that_a_packet_fits_into(void **state)
{
	struct rn_lab_link slow = { .mtu = 60000, .rate = 8000 }, fast = busy;
	struct tc_tbf_qopt opt;
	struct nl_msg *m;
	uint32_t burst;
	uint64_t rate64;

	(void)state;
	m = rn_lab_tbf_msg(1, &slow);
	memcpy(&opt, RTA_DATA(find(options_of(m), TCA_TBF_PARMS)), sizeof(opt));
	memcpy(&burst, RTA_DATA(find(options_of(m), TCA_TBF_BURST)), sizeof(burst));
	assert_int_equal(opt.rate.rate, 1000);
	assert_true(burst >= 60014 && opt.limit > burst);
	assert_null(find(options_of(m), TCA_TBF_RATE64));
	nlmsg_free(m);

	fast.rate = 100000000000;
	m = rn_lab_tbf_msg(1, &fast);
	memcpy(&rate64, RTA_DATA(find(options_of(m), TCA_TBF_RATE64)), sizeof(rate64));
	assert_int_equal(rate64, 12500000000);
	nlmsg_free(m);
}

/* ----------------------------------------------------------------------- as words */
static void rules_say_the_same_and_are_understood(void **state)
{
	const struct rn_lab_link none = { .mtu = 1500, .rate = 1000000 };
	struct rn_fault_rules rules;
	char text[512], err[256] = "";

	(void)state;
	assert_true(rn_lab_link_rules(&busy, 2, text, sizeof(text)) > 0);
	assert_string_equal(text, "drop tx chance=1.0000%\ndelay=50us tx\n"
				  "reorder tx chance=2.0000%\nseed=1752\n");
	if (rn_fault_read(text, &rules, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(rn_lab_link_rules(&none, 2, text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

static void links_are_told_in_units(void **state)
{
	char text[256];

	(void)state;
	rn_lab_link_text(&busy, text, sizeof(text));
	assert_string_equal(text, "loss 1 %, delay 50 us, reorder 2 %, rate 1 Gbit/s");
	rn_lab_link_text(&(struct rn_lab_link){ .rate = 2500000 }, text, sizeof(text));
	assert_string_equal(text, "rate 2.5 Mbit/s");
}

static void hosts_have_names_and_addresses(void **state)
{
	static const struct {
		const char *name;
		int host;
	} cases[] = {
		{ "h1", 0 },	  { "h20", 19 },      { "h21", -1 },
		{ "h0", -1 },	  { "h01", -1 },      { "h", -1 },
		{ "1", -1 },	  { "h1x", -1 },      { "h3-v6", 2 },
		{ "h3-v7", -1 },  { "10.86.0.7", 6 }, { "10.86.0.", -1 },
		{ "fd86::a", 9 }, { "fd86::10", 15 }, { "10.86.0.7-v6", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++)
		assert_int_equal(rn_lab_host_number(cases[i].name, 20), cases[i].host);
}

/* -------------------------------------------------------------------------- output */
struct rig {
	struct rn_lab_stream s;
	int in, out; /* ends of ours */
};

static void open_rig(struct rig *r)
{
	int a[2], b[2];

	assert_int_equal(pipe2(a, O_NONBLOCK), 0);
	assert_int_equal(pipe2(b, O_NONBLOCK), 0);
	r->in = a[1];
	r->out = b[0];
	rn_lab_stream_open(&r->s, a[0], b[1], "h1 | ");
}

static void close_rig(struct rig *r)
{
	rn_lab_stream_end(&r->s);
	close(r->s.to);
	close(r->in);
	close(r->out);
}

static void say(struct rig *r, const char *text)
{
	assert_int_equal(write(r->in, text, strlen(text)), strlen(text));
	assert_int_equal(rn_lab_stream_read(&r->s), 0);
}

static void expect_out(struct rig *r, const char *want)
{
	static char got[3 * RN_LAB_LINE_MAX];
	ssize_t n = read(r->out, got, sizeof(got) - 1);

	got[n < 0 ? 0 : n] = '\0';
	assert_string_equal(got, want);
}

static void lines_come_whole(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	say(&r, "one\ntw");
	expect_out(&r, "h1 | one\n");
	say(&r, "o");
	expect_out(&r, "");
	say(&r, "\n\nthree");
	expect_out(&r, "h1 | two\nh1 | \n");
	assert_int_equal(rn_lab_stream_end(&r.s), 0);
	expect_out(&r, "h1 | three\n");
	close_rig(&r);
}

static void a_line_that_fills_the_memory_is_cut(void **state)
{
	static char line[RN_LAB_LINE_MAX + 11];
	struct rig r;
	char got[64];

	(void)state;
	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	open_rig(&r);
	say(&r, line);
	for (size_t left = RN_LAB_LINE_MAX + 6; left;)
		left -= (size_t)read(r.out, got, left < sizeof(got) ? left : sizeof(got));
	assert_int_equal(got[5], '\n');
	expect_out(&r, "h1 | xxxxxxxxx\n");
	close_rig(&r);
}

static void a_reader_that_has_gone_is_told(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	close(r.out);
	r.out = open("/dev/null", O_RDONLY);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write(r.in, "a\n", 2), 2);
	assert_int_equal(rn_lab_stream_read(&r.s), -EPIPE);
	close_rig(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netem_is_asked_for_as_tc_does),
		cmocka_unit_test(a_delay_makes_room_for_packets_that_overtake),
		cmocka_unit_test(tbf_has_a_burst_that_a_packet_fits_into),
		cmocka_unit_test(rules_say_the_same_and_are_understood),
		cmocka_unit_test(links_are_told_in_units),
		cmocka_unit_test(hosts_have_names_and_addresses),
		cmocka_unit_test(lines_come_whole),
		cmocka_unit_test(a_line_that_fills_the_memory_is_cut),
		cmocka_unit_test(a_reader_that_has_gone_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
