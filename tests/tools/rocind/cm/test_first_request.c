/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_first_request.c - whether rocind sees in the records of a program that one of its
 * QPs, which awaits an RTU, has received a request.
 */
#include <string.h>
#include <sys/mman.h>

#include "tests/tools/rocind/kit/server_kit.h"

#include "rocin/cm.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "tools/rocind/cm/cm.h"
#include "tools/rocind/cm/cm_channel.h"

enum {
	DEST_QPN = 0x4711,
	PSN = 0x345,
};

/* A program with a device, and the record of its one QP, which has received a request. */
struct program {
	struct guest guest;
	int page;
	uint32_t slot, qpn;
	struct rn_stats_qp rec;
};

static void show(const struct program *p, uint32_t index)
{
	const struct rn_stats_page page = { .magic = RN_STATS_PAGE_MAGIC,
					    .version = RN_STATS_PAGE_VERSION,
					    .qp_capacity = index + 1 };

	assert_int_equal(pwrite(p->page, &page, sizeof(page), 0), sizeof(page));
	assert_int_equal(
		pwrite(p->page, &p->rec, sizeof(p->rec),
		       RN_STATS_QP_OFFSET + (off_t)index * (off_t)sizeof(p->rec)),
		sizeof(p->rec));
}

static struct program begin(unsigned first, unsigned addresses)
{
	const struct rn_ctl_attach rq = attach_request(first, addresses);
	struct program p = { .guest = come_and_greet(),
			     .page = memfd_create("page", MFD_CLOEXEC) };

	attach(&p.guest, &rq, p.page);
	p.slot = p.guest.client->attachment.slot;
	p.qpn = 0xabc00 | p.slot;
	p.rec = (struct rn_stats_qp){ .qpn = p.qpn,
				      .dest_qpn = DEST_QPN,
				      .type = RN_QPT_RC,
				      .state = RN_QPS_RTS,
				      .rx_packets = 1,
				      .rq_psn = PSN + 1 };
	show(&p, 0);
	return p;
}

static void end(struct program *p)
{
	go(&p->guest);
	close(p->page);
}

/* Is a request seen at this QP of the address server_gid(@gid)? */
static bool is_seen(unsigned gid, uint32_t qpn)
{
	const struct rn_cm_info info = {
		.state = RN_CM_REP_SENT,
		.flow = { .src = server_gid(gid), .dst = server_gid(9), .ifindex = 1 },
		.qp = { .dest_qpn = DEST_QPN, .rq_psn = PSN },
	};

	server.cm->records_left = RND_CM_RECORDS_MAX;
	return rnd_cm_has_request(server.cm, &info, qpn);
}

static void a_request_moves_the_psn_or_lacks_a_receive_or_is_answered(void **state)
{
	struct program p = begin(0, 1);

	(void)state;
	assert_true(is_seen(0, p.qpn));
	p.rec.rq_psn = PSN;
	show(&p, 0);
	assert_false(is_seen(0, p.qpn));
	p.rec.rq_psn = PSN | RN_STATS_NO_RECV;
	show(&p, 0);
	assert_true(is_seen(0, p.qpn));
	p.rec.rq_psn = PSN | RN_STATS_ANSWERED;
	show(&p, 0);
	assert_true(is_seen(0, p.qpn));
	p.rec.rx_packets = 0;
	show(&p, 0);
	assert_false(is_seen(0, p.qpn));
	end(&p);
}

static void a_queue_pair_that_is_not_connected_has_none(void **state)
{
	struct program p = begin(0, 1);

	(void)state;
	for (uint8_t s = RN_QPS_RESET; s < RN_QPS_COUNT; s++) {
		p.rec.state = s;
		show(&p, 0);
		assert_int_equal(is_seen(0, p.qpn),
				 s == RN_QPS_RTR || s == RN_QPS_RTS || s == RN_QPS_SQD);
	}
	p.rec.state = RN_QPS_RTS;
	p.rec.dest_qpn++; /* to somebody else */
	show(&p, 0);
	assert_false(is_seen(0, p.qpn));
	end(&p);
}

static void the_owner_is_who_has_the_slot_at_the_address(void **state)
{
	struct program p = begin(0, 2), other = begin(2, 1);

	(void)state;
	assert_int_equal(p.slot, other.slot);
	other.rec.rq_psn = PSN;
	show(&other, 0);
	assert_true(is_seen(0, p.qpn));
	assert_true(is_seen(1, p.qpn)); /* of the same device */
	assert_false(is_seen(2, p.qpn));
	assert_false(is_seen(3, p.qpn));	 /* nobody's address */
	assert_false(is_seen(0, p.qpn + 1));	 /* nobody's slot */
	assert_false(is_seen(0, p.qpn + 0x100)); /* no such QP */
	assert_false(is_seen(0, 0xabc00));	 /* rocind's own slot */
	end(&p);
	assert_false(is_seen(0, 0xabc01));
	end(&other);
}

/* Programs that share an address have QPNs of their own, and only one has the QP. */
static void programs_with_one_address_are_told_apart(void **state)
{
	struct program p = begin(0, 1), other = begin(0, 1);

	(void)state;
	assert_int_not_equal(p.slot, other.slot);
	assert_true(is_seen(0, p.qpn));
	assert_true(is_seen(0, other.qpn));
	p.rec.rq_psn = PSN;
	show(&p, 0);
	assert_false(is_seen(0, p.qpn));
	assert_true(is_seen(0, other.qpn));
	end(&p);
	end(&other);
}

static void a_program_without_a_page_has_none(void **state)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);
	struct guest guest = come_and_greet();

	(void)state;
	attach(&guest, &rq, -1);
	assert_false(is_seen(0, 0xabc00 | guest.client->attachment.slot));
	go(&guest);
}

/* 40 000 records before it: more than one step may read. */
static void a_step_reads_so_much_and_the_next_goes_on(void **state)
{
	struct program p = begin(0, 1);
	unsigned steps = 1;

	(void)state;
	p.rec.qpn = p.qpn = 0xdef00 | p.slot;
	show(&p, 40000);
	for (; !is_seen(0, p.qpn); steps++)
		assert_true(steps < 16);
	assert_in_range(steps, 2, 4);
	/* Another one beside it is found at once. */
	p.rec.qpn = p.qpn = 0x12300 | p.slot;
	show(&p, 40001);
	assert_true(is_seen(0, p.qpn));
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_request_moves_the_psn_or_lacks_a_receive_or_is_answered,
			server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(
			a_queue_pair_that_is_not_connected_has_none, server_setup,
			server_teardown),
		cmocka_unit_test_setup_teardown(
			the_owner_is_who_has_the_slot_at_the_address, server_setup,
			server_teardown),
		cmocka_unit_test_setup_teardown(programs_with_one_address_are_told_apart,
						server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(a_program_without_a_page_has_none,
						server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(a_step_reads_so_much_and_the_next_goes_on,
						server_setup, server_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
