/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_topology.c - routes, as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/pcie/model/topology.h"

enum {
	CPU = RN_AGENT_CPU,
	GPU0 = RN_AGENT_GPU,
	GPU1 = RN_AGENT_GPU + 1,
	NIC0 = RN_AGENT_NIC,
	NIC1 = RN_AGENT_NIC + 1,
	NVME0 = RN_AGENT_NVME,
};

static struct rn_pcie_knobs knobs_of(const char *text)
{
	struct rn_pcie_knobs k;
	char err[200];

	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	if (rn_pcie_parse(&k, text, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	return k;
}

static void print_route(const struct rn_route *route, char *text, size_t len)
{
	char name[32];

	text[0] = '\0';
	for (unsigned i = 0; i < route->hops; i++) {
		size_t used = strlen(text);

		snprintf(text + used, len - used, "%s%s", i ? " " : "",
			 rn_queue_name(route->queue[i], name, sizeof(name)));
	}
}

static const struct {
	const char *knobs;
	unsigned from, to;
	const char *way, *back; /* of a request, and of its completion */
} routes[] = {
	/* clang-format off */
	{ "typical", NIC0, CPU, "up:nic0 host<nic0", "dn:nic0" },
	{ "typical", NIC0, GPU0, "up:nic0 dn:gpu0", "up:gpu0 dn:nic0" },
	{ "typical", NIC0, NIC1, "up:nic0 dn:nic1", "up:nic1 dn:nic0" },
	{ "typical", NIC0, NIC0, "", "" },
	{ "typical", NVME0, CPU, "up:nvme0 host<nvme0", "dn:nvme0" },
	{ "typical", NVME0, GPU1, "up:nvme0 dn:gpu1", "up:gpu1 dn:nvme0" },
	{ "typical", NVME0, NIC1, "up:nvme0 dn:nic1", "up:nic1 dn:nvme0" },
	{ "typical", CPU, GPU0, "dn:gpu0", "up:gpu0 host<gpu0" },
	{ "typical", CPU, NIC0, "dn:nic0", "up:nic0 host<nic0" },
	{ "typical", CPU, NVME0, "dn:nvme0", "up:nvme0 host<nvme0" },
	{ "typical", CPU, CPU, "", "" },
	{ "typical", GPU0, CPU, "up:gpu0 host<gpu0", "dn:gpu0" },
	{ "typical", GPU0, GPU1, "up:gpu0 dn:gpu1", "up:gpu1 dn:gpu0" },
	{ "typical", GPU0, NIC0, "up:gpu0 dn:nic0", "up:nic0 dn:gpu0" },
	{ "typical", GPU0, GPU0, "", "" },

	{ "rc.p2p=split", NIC0, CPU, "up:nic0 host<nic0", "dn:nic0" },
	{ "rc.p2p=split", NIC0, GPU0, "up:nic0 dn:gpu0<nic0", "up:gpu0 dn:nic0<gpu0" },
	{ "rc.p2p=split", NIC0, NIC1, "up:nic0 dn:nic1<nic0", "up:nic1 dn:nic0<nic1" },
	{ "rc.p2p=split", NIC0, NIC0, "", "" },
	{ "rc.p2p=split", NVME0, GPU0, "up:nvme0 dn:gpu0<nvme0", "up:gpu0 dn:nvme0<gpu0" },
	{ "rc.p2p=split", CPU, GPU0, "dn:gpu0", "up:gpu0 host<gpu0" },
	{ "rc.p2p=split", CPU, NIC0, "dn:nic0", "up:nic0 host<nic0" },
	{ "rc.p2p=split", GPU0, CPU, "up:gpu0 host<gpu0", "dn:gpu0" },
	{ "rc.p2p=split", GPU0, GPU1, "up:gpu0 dn:gpu1<gpu0", "up:gpu1 dn:gpu0<gpu1" },

	{ "gpu.link=c2c", NIC0, GPU0, "up:nic0 dn:gpu0", "up:gpu0 dn:nic0" },
	{ "gpu.link=c2c", CPU, GPU0, "c2c:gpu0", "c2cup:gpu0" },
	{ "gpu.link=c2c", CPU, GPU1, "c2c:gpu1", "c2cup:gpu1" },
	{ "gpu.link=c2c", GPU0, CPU, "c2cup:gpu0", "c2c:gpu0" },
	{ "gpu.link=c2c", CPU, NIC0, "dn:nic0", "up:nic0 host<nic0" },
	{ "gpu.link=c2c", NIC0, CPU, "up:nic0 host<nic0", "dn:nic0" },
	{ "gpu.link=c2c", GPU0, GPU1, "up:gpu0 dn:gpu1", "up:gpu1 dn:gpu0" },
	{ "gpu.link=c2c,rc.p2p=split", NIC0, GPU0, "up:nic0 dn:gpu0<nic0",
	  "up:gpu0 dn:nic0<gpu0" },
	{ "gpu.link=c2c,rc.p2p=split", CPU, GPU0, "c2c:gpu0", "c2cup:gpu0" },

	{ "rc.p2p=deny", NIC0, GPU0, NULL, NULL },
	{ "rc.p2p=deny", NVME0, GPU0, NULL, NULL },
	{ "rc.p2p=deny", NIC0, NIC1, NULL, NULL },
	{ "rc.p2p=deny", GPU0, GPU1, NULL, NULL },
	{ "rc.p2p=deny", NIC0, NIC0, "", "" },
	{ "rc.p2p=deny", NIC0, CPU, "up:nic0 host<nic0", "dn:nic0" },
	{ "rc.p2p=deny", CPU, GPU0, "dn:gpu0", "up:gpu0 host<gpu0" },
	{ "rc.p2p=deny", GPU0, CPU, "up:gpu0 host<gpu0", "dn:gpu0" },
	/* clang-format on */
};

static void each_route_is_as_drawn(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(routes); i++) {
		const struct rn_pcie_knobs k = knobs_of(routes[i].knobs);
		struct rn_route route;
		char text[100];
		bool is_routed =
			rn_topology_route(&k, routes[i].from, routes[i].to, 9, &route);

		assert_int_equal(is_routed, routes[i].way != NULL);
		if (!is_routed)
			continue;
		print_route(&route, text, sizeof(text));
		assert_string_equal(text, routes[i].way);
		rn_topology_answer(&k, routes[i].to, routes[i].from, &route);
		print_route(&route, text, sizeof(text));
		assert_string_equal(text, routes[i].back);
	}
}

static unsigned first_queue(const struct rn_pcie_knobs *k, unsigned nic, uint32_t stream)
{
	struct rn_route route;

	assert_true(rn_topology_route(k, nic, CPU, stream, &route));
	return route.queue[0];
}

static void queues_per_qp_come_first_and_share_the_uplink(void **state)
{
	const struct rn_pcie_knobs k = knobs_of("nic.queues=perqp");
	struct rn_route route;
	char text[100];

	(void)state;
	assert_true(rn_topology_route(&k, NIC0, GPU0, 3, &route));
	print_route(&route, text, sizeof(text));
	assert_string_equal(text, "nq:3 up:nic0 dn:gpu0");
	assert_true(rn_topology_route(&k, NIC0, CPU, 3, &route));
	print_route(&route, text, sizeof(text));
	assert_string_equal(text, "nq:3 up:nic0 host<nic0");
}

static void queues_per_qp_are_for_requests_of_qps_to_others(void **state)
{
	const struct rn_pcie_knobs k = knobs_of("nic.queues=perqp");
	struct rn_route route;
	char text[100];

	(void)state;
	assert_int_equal(first_queue(&k, NIC0, 0), RN_QUEUE_UP + NIC0);
	assert_true(rn_topology_route(&k, NIC0, NIC0, 3, &route));
	assert_int_equal(route.hops, 0);
	assert_true(rn_topology_route(&k, NVME0, CPU, 3, &route));
	assert_int_equal(route.queue[0], RN_QUEUE_UP + NVME0);
	rn_topology_answer(&k, NIC0, CPU, &route);
	print_route(&route, text, sizeof(text));
	assert_string_equal(text, "up:nic0 host<nic0");
}

/* With place=any only, and only of NICs. */
static void entries_wait_before_their_way(void **state)
{
	const struct rn_pcie_knobs any = knobs_of("place=any,nic.queues=perqp");
	const struct rn_pcie_knobs typical = knobs_of("typical");
	const struct rn_pcie_knobs msg = knobs_of("place=msg");
	struct rn_route route;
	char text[100];

	(void)state;
	assert_true(rn_topology_route(&any, NIC0, CPU, 3, &route));
	rn_topology_entry(&any, NIC0, 3, &route);
	print_route(&route, text, sizeof(text));
	assert_string_equal(text, "cq:3 nq:3 up:nic0 host<nic0");
	assert_true(rn_topology_route(&typical, NIC0, CPU, 3, &route));
	rn_topology_entry(&typical, NIC0, 3, &route);
	rn_topology_entry(&msg, NIC0, 3, &route);
	print_route(&route, text, sizeof(text));
	assert_string_equal(text, "up:nic0 host<nic0");
	assert_true(rn_topology_route(&any, NVME0, CPU, 3, &route));
	rn_topology_entry(&any, NVME0, 3, &route);
	print_route(&route, text, sizeof(text));
	assert_string_equal(text, "up:nvme0 host<nvme0");
	assert_true(rn_topology_route(&any, NIC0, NIC0, 3, &route));
	rn_topology_entry(&any, NIC0, 3, &route);
	assert_int_equal(route.hops, 0);
}

/* Two QPs that share a queue would hide what perqp is to show. */
static void few_qps_do_not_share_a_queue(void **state)
{
	const struct rn_pcie_knobs k = knobs_of("nic.queues=perqp");

	(void)state;
	for (uint32_t a = 1; a < RN_STREAM_QUEUES; a++)
		for (uint32_t b = a + 1; b < RN_STREAM_QUEUES; b++) {
			assert_int_not_equal(first_queue(&k, NIC0, a),
					     first_queue(&k, NIC0, b));
			assert_int_not_equal(first_queue(&k, NIC0, a << 8 | 0x11),
					     first_queue(&k, NIC0, b << 8 | 0x11));
		}
	for (uint32_t a = 0; a < 8; a++)
		for (uint32_t b = 0; b < 8; b++)
			assert_int_not_equal(first_queue(&k, NIC0, a + 1),
					     first_queue(&k, NIC1, b + 1));
}

static void every_queue_has_a_name_of_its_own(void **state)
{
	static char name[RN_LIST_COUNT][20];

	(void)state;
	for (unsigned i = 0; i < RN_LIST_COUNT; i++) {
		rn_queue_name(i, name[i], sizeof(name[i]));
		assert_true(strlen(name[i]) > 3 && strlen(name[i]) + 1 < sizeof(name[i]));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(name[k], name[i]);
	}
	assert_string_equal(name[RN_QUEUE_COUNT + GPU1], "inside:gpu1");
}

static void agents_have_names(void **state)
{
	static const char *const names[RN_AGENT_COUNT] = {
		"cpu",	"gpu0", "gpu1", "gpu2", "gpu3", "nic0",	 "nic1",  "nic2",
		"nic3", "nic4", "nic5", "nic6", "nic7", "nvme0", "nvme1", "nvme2",
	};
	char buf[8];

	(void)state;
	for (unsigned i = 0; i < RN_AGENT_COUNT; i++)
		assert_string_equal(rn_agent_name(i, buf, sizeof(buf)), names[i]);
	assert_string_equal(rn_agent_name(NVME0, buf, 4), "nvm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_route_is_as_drawn),
		cmocka_unit_test(queues_per_qp_come_first_and_share_the_uplink),
		cmocka_unit_test(queues_per_qp_are_for_requests_of_qps_to_others),
		cmocka_unit_test(entries_wait_before_their_way),
		cmocka_unit_test(few_qps_do_not_share_a_queue),
		cmocka_unit_test(every_queue_has_a_name_of_its_own),
		cmocka_unit_test(agents_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
