/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_limits.c - exactly as many objects can be made as the device advertises, and
 * destroying them makes room again.
 */
#include "tests/provider/kit/verbs_kit.h"

/* Functions of the sanitizers; NULL without them. A million regions would take minutes
 * under a sanitizer.
 */
void __lsan_disable(void) __attribute__((weak));
void __tsan_acquire(void *addr) __attribute__((weak));

struct makers {
	void *(*make)(struct kit *k);
	int (*destroy)(void *object);
};

static void *make_pd(struct kit *k)
{
	return ibv_alloc_pd(k->ctx);
}

static int destroy_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static void *make_cq(struct kit *k)
{
	return ibv_create_cq(k->ctx, 1, NULL, NULL, 0);
}

static int destroy_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static void *make_ah(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);

	return ibv_create_ah(k->pd, &attr);
}

static int destroy_ah(void *object)
{
	return ibv_destroy_ah(object);
}

static void *make_qp(struct kit *k)
{
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };

	return ibv_create_qp(k->pd, &attr);
}

static int destroy_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static void *make_srq(struct kit *k)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(k->pd, &attr);
}

static int destroy_srq(void *object)
{
	return ibv_destroy_srq(object);
}

static void *make_mr(struct kit *k)
{
	return ibv_reg_mr(k->pd, k->buf, 8, 0);
}

static int destroy_mr(void *object)
{
	return ibv_dereg_mr(object);
}

/* @there: number of objects of this kind that the fixture has. */
static void expect_limit(struct kit *k, const struct makers *m, int limit, int there)
{
	unsigned room = (unsigned)(limit - there);
	void **object = calloc(room, sizeof(*object));

	assert_non_null(object);
	for (unsigned i = 0; i < room; i++) {
		object[i] = m->make(k);
		if (!object[i])
			fail_msg("number %u of %d: errno %d", i + 1, limit, errno);
	}
	assert_null(m->make(k));
	assert_int_equal(errno, ENOMEM);
	/* Destroying one object makes room for one. */
	assert_int_equal(m->destroy(object[room / 2]), 0);
	object[room / 2] = m->make(k);
	assert_non_null(object[room / 2]);
	assert_null(m->make(k));
	assert_int_equal(errno, ENOMEM);
	for (unsigned i = 0; i < room; i++)
		assert_int_equal(m->destroy(object[i]), 0);
	free(object);
	object = m->make(k);
	assert_non_null(object);
	assert_int_equal(m->destroy(object), 0);
}

static struct ibv_device_attr limits_of(struct kit *k)
{
	struct ibv_device_attr dev;

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	return dev;
}

static void protection_domains(void **state)
{
	static const struct makers m = { make_pd, destroy_pd };

	expect_limit(*state, &m, limits_of(*state).max_pd, 1);
}

static void completion_queues(void **state)
{
	static const struct makers m = { make_cq, destroy_cq };

	expect_limit(*state, &m, limits_of(*state).max_cq, 1);
}

static void address_handles(void **state)
{
	static const struct makers m = { make_ah, destroy_ah };

	expect_limit(*state, &m, limits_of(*state).max_ah, 0);
}

static void queue_pairs(void **state)
{
	static const struct makers m = { make_qp, destroy_qp };

	expect_limit(*state, &m, limits_of(*state).max_qp, 0);
}

static void shared_receive_queues(void **state)
{
	static const struct makers m = { make_srq, destroy_srq };

	expect_limit(*state, &m, limits_of(*state).max_srq, 0);
}

static void memory_regions(void **state)
{
	static const struct makers m = { make_mr, destroy_mr };

	if (__lsan_disable || __tsan_acquire)
		skip();
	expect_limit(*state, &m, limits_of(*state).max_mr, 1);
}

/* The limit applies to the sum of all contexts of a process. Closing a context makes room
 * for the objects that it had.
 */
static void a_limit_is_the_device_s(void **state)
{
	enum {
		LEFT_BEHIND = 1000
	};
	static const struct makers m = { make_pd, destroy_pd };
	struct kit *k = *state;
	struct ibv_context *other = kit_open_device();
	struct ibv_pd *pd[LEFT_BEHIND];

	for (unsigned i = 0; i < LEFT_BEHIND; i++) {
		pd[i] = ibv_alloc_pd(other);
		assert_non_null(pd[i]);
	}
	expect_limit(k, &m, limits_of(k).max_pd, 1 + LEFT_BEHIND);
	for (unsigned i = 0; i < LEFT_BEHIND; i++)
		assert_int_equal(ibv_dealloc_pd(pd[i]), 0);
	assert_int_equal(ibv_close_device(other), 0);
	expect_limit(k, &m, limits_of(k).max_pd, 1);
}

static void the_longest_queue_is_as_long_as_it_says(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr dev = limits_of(k);
	struct ibv_cq *cq = ibv_create_cq(k->ctx, dev.max_cqe, NULL, NULL, 0);

	assert_non_null(cq);
	assert_int_equal(cq->cqe, dev.max_cqe);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void a_full_receive_queue_takes_no_more(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr dev = limits_of(k);
	struct ibv_sge sge[64];
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = dev.max_sge }, *bad;
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp;

	assert_in_range(dev.max_sge, 1, 64);
	for (int i = 0; i < dev.max_sge; i++)
		sge[i] = kit_sge(k, 0, 0, 1);
	attr.cap.max_recv_wr = (uint32_t)dev.max_qp_wr;
	attr.cap.max_recv_sge = (uint32_t)dev.max_sge;
	qp = ibv_create_qp(k->pd, &attr);
	assert_non_null(qp);
	kit_to_init(qp);
	for (int i = 0; i < dev.max_qp_wr; i++)
		assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), ENOMEM);
	wr.num_sge++;
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(protection_domains),
		cmocka_unit_test(completion_queues),
		cmocka_unit_test(address_handles),
		cmocka_unit_test(queue_pairs),
		cmocka_unit_test(shared_receive_queues),
		cmocka_unit_test(memory_regions),
		cmocka_unit_test(a_limit_is_the_device_s),
		cmocka_unit_test(the_longest_queue_is_as_long_as_it_says),
		cmocka_unit_test(a_full_receive_queue_takes_no_more),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
