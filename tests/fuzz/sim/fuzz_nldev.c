/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_nldev.c - RDMA netlink: any datagram of requests, about objects of programs that
 * may have written anything into their pages. Answers are messages that can be read.
 */
#include <errno.h>
#include <rdma/rdma_netlink.h>

#include "sim/kernel/netlink/message.h"
#include "sim/kernel/netlink/nldev.h"
#include "tests/fuzz/script.h"
#include "transport/io/rocind/stats_pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PORT_ID = 77,
	RECORDS_MAX = 64,
	DEPTH_MAX = 3, /* answer, list, entry */
};

static struct rn_stats_qp qps[RECORDS_MAX];
static struct rn_stats_object objects[RECORDS_MAX];
static struct rnk_nl_cm_id ids[RECORDS_MAX];

/* Attributes fill what they are in, to its end; so do those in them. */
static void check_attributes(const uint8_t *data, size_t len, unsigned depth)
{
	struct nlattr a;

	while (len) {
		require(len >= sizeof(a));
		memcpy(&a, data, sizeof(a));
		require(a.nla_len >= sizeof(a) && rnk_nl_padded(a.nla_len) <= len);
		if (a.nla_type & NLA_F_NESTED) {
			require(depth < DEPTH_MAX);
			check_attributes(data + sizeof(a), a.nla_len - sizeof(a),
					 depth + 1);
		}
		data += rnk_nl_padded(a.nla_len);
		len -= rnk_nl_padded(a.nla_len);
	}
}

static int check_answer(void *ctx, const void *data, size_t len)
{
	unsigned *left = ctx;
	struct nlmsghdr h;

	require(len >= sizeof(h) && len <= RNK_NL_DATAGRAM);
	memcpy(&h, data, sizeof(h));
	require(h.nlmsg_len == len && h.nlmsg_pid == PORT_ID);
	if (h.nlmsg_type == NLMSG_DONE)
		require(len == sizeof(h) + sizeof(int32_t));
	else if (h.nlmsg_type == NLMSG_ERROR)
		require(len >= sizeof(h) + sizeof(struct nlmsgerr));
	else
		check_attributes((const uint8_t *)data + sizeof(h), len - sizeof(h), 1);
	return --*left ? 0 : -EPIPE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rnk_nl_device devices[] = {
		{ .index = 0,
		  .name = "rocin0",
		  .ifname = "lo",
		  .ifindex = 1,
		  .up = true },
		{ .index = 1, .name = "rocin1" },
	};
	struct script s = { data, data + size };
	uint8_t how = take8(&s);
	struct rn_stats_client client = {
		.id = { .pid = 5, .ibdev = "rocin0" },
		.copy = { .qp = qps, .object = objects, .counter_count = RN_STAT_COUNT },
	};
	const struct rn_stats_list programs = { &client, 1 };
	const struct rnk_nl_asker asker = { .port_id = PORT_ID,
					    .wants_capped = how & 1,
					    .wants_reasons = how & 2 };
	struct rnk_nl_view view = { devices, RN_ARRAY_SIZE(devices), &programs, ids, 0 };
	unsigned left = 1u + take16(&s);
	uint8_t *request;
	size_t len;

	client.copy.qp_count = take8(&s) % (RECORDS_MAX + 1);
	client.copy.object_count = take8(&s) % (RECORDS_MAX + 1);
	view.cm_id_count = take8(&s) % (RECORDS_MAX + 1);
	/* Records repeat what is sent, so that short inputs have many. */
	for (unsigned i = 0; i < RECORDS_MAX; i++) {
		struct script records = s;

		take_bytes(&records, &qps[i], sizeof(qps[i]));
		take_bytes(&records, &objects[i], sizeof(objects[i]));
		objects[i].kind = i % (RN_STATS_KIND_COUNT + 1);
		take_bytes(&records, &ids[i], sizeof(ids[i]));
		memcpy(ids[i].ibdev, "rocin0", sizeof("rocin0"));
	}
	/* A copy of its own, so that a sanitizer sees what is read behind it. */
	len = script_left(&s);
	request = malloc(len ? len : 1);
	require(request != NULL);
	take_bytes(&s, request, len);
	(void)rnk_nldev_needs(request, len);
	(void)rnk_nldev_answer(&view, &asker, request, len, check_answer, &left);
	free(request);
	return 0;
}
