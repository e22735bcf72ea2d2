/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_rereg.c - what can be registered, and ibv_rereg_mr() while requests use the
 * region.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	LEN = 64,	/* length of a short message in bytes */
	PACKET = 1024,	/* in bytes: no MTU in these tests is smaller */
	LONG = 8 << 10, /* length of a message of several packets */
	ROUNDS = 400,
	TRANSLATION = IBV_REREG_MR_CHANGE_TRANSLATION,
	DOMAIN = IBV_REREG_MR_CHANGE_PD,
	ACCESS = IBV_REREG_MR_CHANGE_ACCESS,
};

static size_t page;

static struct ibv_mr *reg(struct kit *k, void *addr, size_t len, unsigned access)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, addr, len, access);

	if (!mr)
		fail_msg("ibv_reg_mr: errno %d", errno);
	return mr;
}

static enum ibv_wc_status rdma(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode op,
			       uint32_t len, uint64_t remote, uint32_t rkey)
{
	struct ibv_sge local = kit_sge(k, 0, 0, len);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = remote, .rkey = rkey } };

	kit_post_send(qp, &wr);
	return kit_wait(k->cq).status;
}

static enum ibv_wc_status write_to(struct kit *k, struct ibv_qp *qp,
				   const struct ibv_mr *mr, uint64_t remote)
{
	return rdma(k, qp, IBV_WR_RDMA_WRITE, LEN, remote, mr->rkey);
}

static bool is_all(const uint8_t *mem, size_t len, uint8_t byte)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i] != byte)
			return false;
	return true;
}

/* ----------------------------------------------------------------------- registering */
static void what_cannot_be_is_refused(void **state)
{
	struct kit *k = *state;
	const uint64_t at = (uintptr_t)k->buf;
	struct {
		uint64_t addr, len, iova;
		unsigned access;
	} wrong[] = {
		{ at, 0, at, 0 },
		{ at, SIZE_MAX, at, 0 },
		{ at, SIZE_MAX - at + 1, at, 0 },
		/* ends in the last page of the address space */
		{ at, SIZE_MAX - at - 1, at, 0 },
		/* iova and address have different offsets in the page */
		{ at, LEN, at + 1, 0 },
		{ at + 1, LEN, 0, 0 },
		/* the range of iova wraps around */
		{ at, LEN, UINT64_MAX - page + 1, 0 },
		{ at, LEN, at, IBV_ACCESS_REMOTE_WRITE },
		{ at, LEN, at, IBV_ACCESS_REMOTE_ATOMIC },
		{ at, LEN, at, 1u << 15 },
	};

	wrong[6].len = page + 1;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		if (ibv_reg_mr_iova(k->pd, (void *)(uintptr_t)wrong[i].addr, wrong[i].len,
				    wrong[i].iova, wrong[i].access))
			fail_msg("region %u was registered", i);
		if (errno != EINVAL)
			fail_msg("region %u: errno %d", i, errno);
	}
	/* Unknown flags in the optional range are ignored. */
	assert_int_equal(
		ibv_dereg_mr(reg(k, k->buf, LEN, IBV_ACCESS_RELAXED_ORDERING | 1u << 29)),
		0);
}

static void an_io_address_stays_through_changes(void **state)
{
	struct kit *k = *state;
	uint8_t *place = k->buf + KIT_HALF;
	const uint64_t iovas[] = { 0x7000000, 0 };
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_mr *mr = ibv_reg_mr_iova(k->pd, place, 2 * LEN, iovas[i],
						    RIGHTS | IBV_ACCESS_RELAXED_ORDERING);

		assert_non_null(mr);
		assert_ptr_equal(mr->addr, place);
		memset(k->buf, (int)(0x11 + i), LEN);
		assert_int_equal(write_to(k, qp[0], mr, iovas[i] + LEN), IBV_WC_SUCCESS);
		assert_true(is_all(place + LEN, LEN, (uint8_t)(0x11 + i)));
		/* Arguments that the flags do not select may be invalid. */
		assert_int_equal(
			ibv_rereg_mr(mr, ACCESS, (struct ibv_pd *)1, NULL, 0, RIGHTS), 0);
		memset(k->buf, (int)(0x21 + i), LEN);
		assert_int_equal(write_to(k, qp[0], mr, iovas[i] + LEN), IBV_WC_SUCCESS);
		assert_true(is_all(place + LEN, LEN, (uint8_t)(0x21 + i)));
		/* With a new translation, iova is the new address. */
		assert_int_equal(
			ibv_rereg_mr(mr, TRANSLATION, NULL, place + page, LEN, 0), 0);
		assert_int_equal(write_to(k, qp[0], mr, (uintptr_t)place + page),
				 IBV_WC_SUCCESS);
		assert_true(is_all(place + page, LEN, (uint8_t)(0x21 + i)));
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	kit_destroy_pair(qp);
}

/* ----------------------------------------------------------------- registering again */
static void all_changes_can_be_made_together(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *other = ibv_alloc_pd(k->ctx);
	uint8_t *place = k->buf + KIT_HALF;
	struct ibv_mr *mr;
	struct ibv_qp *qp[2];
	uint32_t key;

	assert_non_null(other);
	mr = ibv_reg_mr(other, k->buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	key = mr->rkey;
	assert_int_equal(ibv_rereg_mr(mr, TRANSLATION | DOMAIN | ACCESS, k->pd, place,
				      2 * LEN, RIGHTS),
			 0);
	assert_int_equal(mr->rkey, key);
	assert_ptr_equal(mr->addr, place);
	assert_ptr_equal(mr->pd, k->pd);
	assert_int_equal(mr->length, 2 * LEN);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(write_to(k, qp[0], mr, (uintptr_t)place + LEN), IBV_WC_SUCCESS);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_change_that_cannot_be_leaves_the_region(void **state)
{
	struct kit *k = *state;
	uint8_t *place = k->buf + KIT_HALF;
	struct ibv_mr *mr = reg(k, place, LEN, RIGHTS);
	uint8_t *gone = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct {
		int flags;
		void *addr;
		size_t len;
		int access;
		int result, error;
	} wrong[] = {
		{ 0, NULL, 0, 0, IBV_REREG_MR_ERR_CMD, EINVAL },
		{ 1 << 3, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL },
		{ DOMAIN, NULL, 0, 0, IBV_REREG_MR_ERR_CMD, EINVAL },
		{ TRANSLATION, place, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL },
		{ TRANSLATION, place, SIZE_MAX, 0, IBV_REREG_MR_ERR_CMD, EINVAL },
		{ TRANSLATION, gone, 1, 0, IBV_REREG_MR_ERR_CMD, EFAULT },
		{ ACCESS, NULL, 0, IBV_ACCESS_REMOTE_WRITE, IBV_REREG_MR_ERR_CMD,
		  EINVAL },
		{ ACCESS, NULL, 0, 1 << 15, IBV_REREG_MR_ERR_CMD, EINVAL },
	};
	struct ibv_qp *qp[2];

	assert_true(gone != MAP_FAILED);
	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		if (ibv_rereg_mr(mr, wrong[i].flags, NULL, wrong[i].addr, wrong[i].len,
				 wrong[i].access) != wrong[i].result)
			fail_msg("change %u has another result", i);
		if (errno != wrong[i].error)
			fail_msg("change %u: errno %d", i, errno);
		assert_int_equal(write_to(k, qp[0], mr, (uintptr_t)place),
				 IBV_WC_SUCCESS);
	}
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(munmap(gone, page), 0);
}

static void a_whole_address_space_can_lose_its_rights(void **state)
{
	struct kit *k = *state;
	struct ibv_mr *mr = reg(k, NULL, SIZE_MAX, RIGHTS | IBV_ACCESS_ON_DEMAND);
	uint64_t place = (uintptr_t)k->buf + KIT_HALF;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(write_to(k, qp[0], mr, place), IBV_WC_SUCCESS);
	assert_int_equal(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND),
			 0);
	assert_int_equal(write_to(k, qp[0], mr, place), IBV_WC_REM_ACCESS_ERR);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* ------------------------------------------------------------------------- in flight */
/* The main thread changes the region until the thread that posts requests has done its
 * rounds.
 */
struct race {
	struct kit *k;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint64_t remote; /* address in the region, as the R_Key names it */
	uint8_t *side[2];
	enum ibv_wc_status status;
	atomic_bool started, done;
};

static void start(struct race *r, pthread_t *thread, void *(*run)(void *))
{
	kit_pair(r->k, IBV_QPT_RC, r->qp);
	assert_int_equal(pthread_create(thread, NULL, run, r), 0);
	while (!atomic_load(&r->started))
		sched_yield();
}

static void end(struct race *r, pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
	kit_destroy_pair(r->qp);
}

/* Several atomics are posted at once. Each is performed after the response of the one
 * before it.
 */
static enum ibv_wc_status add_atomically(struct race *r)
{
	enum {
		ATOMICS = 4
	};
	struct ibv_sge local = kit_sge(r->k, 0, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 3,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.atomic = { .remote_addr = r->remote,
						 .rkey = r->mr->rkey,
						 .compare_add = 1 } };
	enum ibv_wc_status status = IBV_WC_SUCCESS;

	for (unsigned i = 0; i < ATOMICS; i++)
		kit_post_send(r->qp[0], &wr);
	for (unsigned i = 0; i < ATOMICS; i++) {
		struct ibv_wc wc = kit_wait(r->k->cq);

		status = status ? status : wc.status;
	}
	return status;
}

/* One round of READ, WRITE, atomics and SEND. The region is the remote memory, and in the
 * end the receive buffer.
 */
static enum ibv_wc_status one_round(struct race *r, unsigned i)
{
	struct ibv_sge to = { r->remote, LEN, r->mr->lkey };
	struct ibv_sge local = kit_sge(r->k, 0, 0, LEN);
	struct ibv_send_wr wr = { .wr_id = 2,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	enum ibv_wc_status a, b;

	if (i % 4 == 2)
		return add_atomically(r);
	if (i % 4 < 2)
		return rdma(r->k, r->qp[0], i % 4 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			    LONG, r->remote, r->mr->rkey);
	kit_post_recv(r->k, r->qp[1], 1, to);
	kit_post_send(r->qp[0], &wr);
	a = kit_wait(r->k->cq).status;
	b = kit_wait(r->k->cq).status;
	return a ? a : b;
}

static void *make_rounds(void *arg)
{
	struct race *r = arg;

	atomic_store(&r->started, true);
	for (unsigned i = 0; i < ROUNDS && !r->status; i++)
		r->status = one_round(r, i);
	atomic_store(&r->done, true);
	return NULL;
}

/* The region before and after each change contains the addresses that the requests
 * access, so that all requests succeed.
 */
static void requests_do_not_notice_a_change_around_them(void **state)
{
	struct kit *k = *state;
	struct ibv_parent_domain_init_attr attr = { .pd = k->pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(k->ctx, &attr);
	uint8_t *place = k->buf + KIT_HALF;
	struct race r = { .k = k, .remote = (uintptr_t)place + LEN };
	pthread_t thread;

	assert_non_null(parent);
	r.mr = reg(k, place, LONG + LEN, RIGHTS);
	start(&r, &thread, make_rounds);
	for (unsigned i = 0; !atomic_load(&r.done); i++) {
		/* each combination of the three flags in turn */
		int flags = 1 + (int)(i % 7);
		bool small = i % 2;
		int access = i % 5 ? RIGHTS : RIGHTS | IBV_ACCESS_RELAXED_ORDERING;

		assert_int_equal(ibv_rereg_mr(r.mr, flags, i % 3 ? parent : k->pd,
					      small ? place + LEN : place,
					      small ? LONG : LONG + 2 * LEN,
					      flags & ACCESS ? access : 0),
				 0);
	}
	end(&r, thread);
	assert_int_equal(r.status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(r.mr), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void *read_packets(void *arg)
{
	struct race *r = arg;
	const uint8_t *got = r->k->buf;

	atomic_store(&r->started, true);
	for (unsigned i = 0; i < ROUNDS && !r->status; i++) {
		r->status = rdma(r->k, r->qp[0], IBV_WR_RDMA_READ, LONG, 0, r->mr->rkey);
		for (unsigned at = 0; at < LONG && !r->status; at += PACKET)
			if (!is_all(got + at, PACKET, got[at]) ||
			    (got[at] != 0xaa && got[at] != 0xbb))
				r->status = IBV_WC_GENERAL_ERR;
	}
	atomic_store(&r->done, true);
	return NULL;
}

/* Address 0 of the region is translated to one or the other memory in turn. Each packet
 * must be in one of them as a whole.
 */
static void a_packet_is_of_one_region(void **state)
{
	struct kit *k = *state;
	struct race r = { .k = k };
	pthread_t thread;

	for (unsigned i = 0; i < 2; i++) {
		r.side[i] = k->buf + KIT_HALF + i * LONG;
		memset(r.side[i], i ? 0xbb : 0xaa, LONG);
	}
	r.mr = reg(k, r.side[0], LONG, RIGHTS | IBV_ACCESS_ZERO_BASED);
	start(&r, &thread, read_packets);
	for (unsigned i = 1; !atomic_load(&r.done); i++)
		assert_int_equal(
			ibv_rereg_mr(r.mr, TRANSLATION, NULL, r.side[i % 2], LONG, 0), 0);
	end(&r, thread);
	assert_int_equal(r.status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(r.mr), 0);
}

/* WRITEs a number that grows, until a WRITE fails. */
static void *count_up(void *arg)
{
	struct race *r = arg;
	uint64_t number = 0;

	while (!r->status) {
		number++;
		memcpy(r->k->buf, &number, sizeof(number));
		r->status = rdma(r->k, r->qp[0], IBV_WR_RDMA_WRITE, 8, r->remote,
				 r->mr->rkey);
		if (number == 10)
			atomic_store(&r->started, true);
	}
	return NULL;
}

/* The region is changed in one of three ways. After ibv_rereg_mr() has returned, the old
 * memory is no longer written.
 */
static void what_is_taken_away_is_not_written_any_more(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *other = ibv_alloc_pd(k->ctx);
	uint8_t *place = k->buf + KIT_HALF;
	volatile uint64_t *word = (volatile uint64_t *)(void *)place;
	const int ways[] = { ACCESS, TRANSLATION, DOMAIN };

	assert_non_null(other);
	for (unsigned i = 0; i < 3; i++) {
		struct race r = { .k = k, .remote = (uintptr_t)place };
		pthread_t thread;
		uint64_t last;

		*word = 0;
		r.mr = reg(k, place, LEN, RIGHTS);
		start(&r, &thread, count_up);
		assert_int_equal(ibv_rereg_mr(r.mr, ways[i], other, place + LEN, LEN,
					      i ? 0 : IBV_ACCESS_LOCAL_WRITE),
				 0);
		last = *word;
		end(&r, thread);
		assert_int_equal(r.status, IBV_WC_REM_ACCESS_ERR);
		assert_true(last >= 9 && *word == last);
		assert_int_equal(ibv_dereg_mr(r.mr), 0);
	}
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(an_io_address_stays_through_changes),
		cmocka_unit_test(all_changes_can_be_made_together),
		cmocka_unit_test(a_change_that_cannot_be_leaves_the_region),
		cmocka_unit_test(a_whole_address_space_can_lose_its_rights),
		cmocka_unit_test(requests_do_not_notice_a_change_around_them),
		cmocka_unit_test(a_packet_is_of_one_region),
		cmocka_unit_test(what_is_taken_away_is_not_written_any_more),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
