/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_window.c - streams through a queue of limited length, as a socket's is. */
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

enum {
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ,
	MESSAGE = 256 << 10,
	QPS_MAX = 8,
	BYTES_PER_US = 4000, /* of the wire and whoever takes packets from the queue */
};

/* A queue that is emptied at a fixed rate and refuses what does not fit. */
struct queue {
	struct pair *p;
	uint32_t room;	  /* bytes */
	rn_ns free_at[2]; /* when everything sent by device i so far has been taken */
	uint64_t bytes[2], lost;
};

static struct pair_fate through_queue(void *ctx, const struct pair_packet *k)
{
	struct queue *q = ctx;
	rn_ns now = k->at, *free_at = &q->free_at[k->from];

	if (*free_at < now)
		*free_at = now;
	if ((*free_at - now) * BYTES_PER_US / 1000 + k->len > q->room) {
		q->lost++;
		return (struct pair_fate){ .copies = 0 };
	}
	*free_at += (rn_ns)k->len * 1000 / BYTES_PER_US;
	q->bytes[k->from] += k->len;
	return (struct pair_fate){ .copies = 1, .extra_ns = *free_at - now };
}

struct result {
	double efficiency; /* of the time, the wire carried new payload */
	double resent;	   /* of the packets */
};

/* @total bytes in messages of MESSAGE over @qps QPs towards one process. */
static struct result stream(uint32_t room, unsigned qps, enum rn_wr_opcode op,
			    uint64_t total)
{
	struct queue queue = { .room = room };
	struct pair *p = pair_new(&(struct pair_cfg){ .window_max = 4 << 20,
						      .read_window = 128 << 10,
						      .read_chunk = 32 << 10 });
	struct pair_mr *ma = pair_mr_new(p, 0, MESSAGE, ALL);
	struct pair_mr *mb = pair_mr_new(p, 1, MESSAGE, ALL);
	struct rn_sge sge = pair_sge(ma, 0, MESSAGE);
	struct rn_send_wr wr = { .opcode = op,
				 .flags = RN_SEND_SIGNALED,
				 .remote_addr = mb->mr.va,
				 .rkey = mb->mr.lkey,
				 .sg = &sge,
				 .num_sge = 1 };
	struct pair_qp *a[QPS_MAX];
	uint64_t posted = 0, done = 0;
	struct result r;
	struct rn_cqe e;
	rn_ns start;

	p->record_off = true;
	pair_set_hook(p, through_queue, &queue);
	for (unsigned i = 0; i < qps; i++) {
		/* QPNs of one process: equal low bytes. */
		struct rn_qp_init far = { .type = RN_QPT_RC, .qpn = 0x1000 + i * 0x100 };
		struct pair_qp *b = pair_qp_new_with(p, 1, &far);

		a[i] = pair_qp_new(p, 0, RN_QPT_RC);
		pair_connect(a[i], b);
	}
	start = p->net->now;
	while (done < total) {
		for (unsigned i = 0; i < qps; i++)
			while (posted < total && rn_wq_count(&a[i]->qp->req.sq) < 2) {
				assert_int_equal(pair_post_send(a[i], &wr), 0);
				posted += MESSAGE;
			}
		pair_run_for(p, RN_USEC(20));
		for (unsigned i = 0; i < qps; i++)
			while (pair_poll(a[i]->scq, &e)) {
				assert_int_equal(pair_cqe_status(&e), RN_WC_SUCCESS);
				done += MESSAGE;
			}
	}
	r.efficiency =
		(double)total / ((double)(p->net->now - start) / 1e3 * BYTES_PER_US);
	r.resent = (double)pair_stat(p, 0, RN_STAT_RETRANSMITTED) /
		   (double)pair_stat(p, 0, RN_STAT_TX_PACKETS);
	print_message("room %u KiB, %u QPs, %s: %.0f %% of the wire, %.1f %% sent again, "
		      "%llu lost, %llu timeouts\n",
		      room >> 10, qps, op == RN_WR_RDMA_READ ? "READ" : "WRITE",
		      r.efficiency * 100, r.resent * 100, (unsigned long long)queue.lost,
		      (unsigned long long)pair_stat(p, 0, RN_STAT_LOCAL_ACK_TIMEOUT));
	pair_free(p);
	return r;
}

static void writes_fill_the_wire_without_drowning_the_queue(void **state)
{
	static const uint32_t rooms[] = { 100 << 10, 208 << 10, 1 << 20, 8 << 20 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rooms); i++)
		for (unsigned qps = 1; qps <= QPS_MAX; qps *= 8) {
			struct result r =
				stream(rooms[i], qps, RN_WR_RDMA_WRITE, 32 << 20);

			assert_true(r.efficiency > 0.6);
			assert_true(r.resent < 0.1);
		}
}

static void reads_ask_for_no_more_than_the_read_window(void **state)
{
	(void)state;
	for (unsigned qps = 1; qps <= QPS_MAX; qps *= 8) {
		struct result r = stream(208 << 10, qps, RN_WR_RDMA_READ, 32 << 20);

		assert_true(r.efficiency > 0.6);
		assert_true(r.resent < 0.01);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_fill_the_wire_without_drowning_the_queue),
		cmocka_unit_test(reads_ask_for_no_more_than_the_read_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
