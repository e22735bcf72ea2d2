/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_odp.c - on-demand paging with explicit and implicit regions, and ibv_advise_mr().
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kit/apart.h"
#include "tests/provider/kit/verbs_kit.h"

enum {
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	ODP = RIGHTS | IBV_ACCESS_ON_DEMAND,
	LEN = 64, /* length of a message */
	PAGES = 4,
};

static size_t page;

/* ------------------------------------------------------------------------- helpers */
static uint8_t *map_pages(uint8_t *where)
{
	const int prot = PROT_READ | PROT_WRITE;

	if (!where)
		where = map_apart(PAGES * page, prot);
	else
		assert_ptr_equal(mmap(where, PAGES * page, prot,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				 where);
	assert_non_null(where);
	return where;
}

static void unmap_pages(uint8_t *mem)
{
	assert_int_equal(munmap(mem, PAGES * page), 0);
}

static struct ibv_mr *reg(struct kit *k, void *addr, size_t len, unsigned access)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, addr, len, access);

	if (!mr)
		fail_msg("ibv_reg_mr: errno %d", errno);
	return mr;
}

/* One request of LEN bytes (atomics: 8) between local and remote memory. */
struct move {
	enum ibv_wr_opcode op;
	void *local;
	uint32_t lkey;
	void *remote;
	uint32_t rkey;
};

static enum ibv_wc_status move(struct kit *k, struct ibv_qp *qp, struct move m)
{
	bool atomic = m.op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = { (uintptr_t)m.local, atomic ? 8 : LEN, m.lkey };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = m.op,
				  .send_flags = IBV_SEND_SIGNALED };

	if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)m.remote;
		wr.wr.atomic.rkey = m.rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)m.remote;
		wr.wr.rdma.rkey = m.rkey;
	}
	kit_post_send(qp, &wr);
	return kit_wait(k->cq).status;
}

static enum ibv_wc_status write_to(struct kit *k, struct ibv_qp *qp, void *to,
				   const struct ibv_mr *mr)
{
	return move(
		k, qp,
		(struct move){ IBV_WR_RDMA_WRITE, k->buf, k->mr->lkey, to, mr->rkey });
}

static enum ibv_wc_status read_from(struct kit *k, struct ibv_qp *qp, void *from,
				    const struct ibv_mr *mr)
{
	return move(k, qp,
		    (struct move){ IBV_WR_RDMA_READ, k->buf + KIT_HALF, k->mr->lkey, from,
				   mr->rkey });
}

/* WRITEs a pattern to @mem and READs it back. */
static void round_trip(struct kit *k, struct ibv_qp *qp, void *mem,
		       const struct ibv_mr *mr, uint8_t byte)
{
	memset(k->buf, byte, LEN);
	memset(k->buf + KIT_HALF, 0, LEN);
	assert_int_equal(write_to(k, qp, mem, mr), IBV_WC_SUCCESS);
	assert_int_equal(read_from(k, qp, mem, mr), IBV_WC_SUCCESS);
	assert_memory_equal(k->buf + KIT_HALF, k->buf, LEN);
}

/* ------------------------------------------------------------------------ explicit */
static void the_device_says_what_can_be_paged(void **state)
{
	const uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
			    IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
			    IBV_ODP_SUPPORT_ATOMIC;
	struct kit *k = *state;
	struct ibv_device_attr_ex attr = { 0 };
	const struct ibv_odp_caps *odp = &attr.odp_caps;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &attr), 0);
	assert_int_equal(odp->general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	assert_int_equal(odp->per_transport_caps.rc_odp_caps & rc, rc);
	/* IBV_ODP_SUPPORT_FLUSH and IBV_ODP_SUPPORT_ATOMIC_WRITE, which this header lacks
	 */
	assert_int_equal(odp->per_transport_caps.rc_odp_caps >> 6, 3);
	assert_int_equal(odp->per_transport_caps.uc_odp_caps & IBV_ODP_SUPPORT_WRITE,
			 IBV_ODP_SUPPORT_WRITE);
	assert_int_equal(odp->per_transport_caps.ud_odp_caps & IBV_ODP_SUPPORT_RECV,
			 IBV_ODP_SUPPORT_RECV);
}

static void memory_may_come_after_its_registration(void **state)
{
	struct kit *k = *state;
	uint8_t *mem = map_pages(NULL);
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;

	kit_pair(k, IBV_QPT_RC, qp);
	unmap_pages(mem);
	assert_null(ibv_reg_mr(k->pd, mem, PAGES * page, RIGHTS));
	assert_int_equal(errno, EFAULT);
	mr = reg(k, mem, PAGES * page, ODP);
	map_pages(mem);
	round_trip(k, qp[0], mem + page - 10, mr, 0x31);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	unmap_pages(mem);
	kit_destroy_pair(qp);
}

/* A region is a range of addresses: other memory may be mapped there later. In rocin this
 * holds for regions without on-demand paging, too.
 */
static void memory_may_go_and_come_again(void **state)
{
	const unsigned access[] = { ODP, RIGHTS };
	struct kit *k = *state;

	for (unsigned i = 0; i < 2; i++) {
		uint8_t *mem = map_pages(NULL);
		struct ibv_mr *mr = reg(k, mem, PAGES * page, access[i]);
		struct ibv_qp *qp[2], *again[2];

		kit_pair(k, IBV_QPT_RC, qp);
		round_trip(k, qp[0], mem, mr, 0x41);
		unmap_pages(mem);
		assert_int_equal(read_from(k, qp[0], mem, mr), IBV_WC_REM_ACCESS_ERR);
		kit_destroy_pair(qp);
		map_pages(mem);
		kit_pair(k, IBV_QPT_RC, again);
		memset(k->buf + KIT_HALF, 1, LEN);
		assert_int_equal(read_from(k, again[0], mem, mr), IBV_WC_SUCCESS);
		for (unsigned at = 0; at < LEN; at++)
			assert_int_equal(k->buf[KIT_HALF + at], 0);
		round_trip(k, again[0], mem, mr, 0x42);
		kit_destroy_pair(again);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		unmap_pages(mem);
	}
}

static void a_request_from_memory_that_is_not_there_fails(void **state)
{
	struct kit *k = *state;
	uint8_t *mem = map_pages(NULL);
	struct ibv_mr *mr = reg(k, mem, PAGES * page, ODP);
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	unmap_pages(mem);
	assert_int_equal(move(k, qp[0],
			      (struct move){ IBV_WR_RDMA_WRITE, mem, mr->lkey, k->buf,
					     k->mr->rkey }),
			 IBV_WC_LOC_PROT_ERR);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void huge_pages_can_be_registered(void **state)
{
	const size_t len = 2 << 20;
	struct kit *k = *state;
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	const unsigned access[] = { RIGHTS, ODP | IBV_ACCESS_HUGETLB };
	struct ibv_qp *qp[2];

	if (mem == MAP_FAILED)
		skip(); /* no huge pages are reserved */
	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_mr *mr = reg(k, mem, len, access[i]);

		round_trip(k, qp[0], mem + len - LEN, mr, (uint8_t)(0x50 + i));
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	kit_destroy_pair(qp);
	assert_int_equal(munmap(mem, len), 0);
}

/* ------------------------------------------------------------------------ implicit */
static void an_implicit_region_opens_the_whole_address_space(void **state)
{
	static uint64_t of_the_program[LEN / 8];
	struct kit *k = *state;
	struct ibv_mr *mr = reg(k, NULL, SIZE_MAX, ODP);
	uint64_t *heap = calloc(1, LEN);
	uint8_t *late = map_pages(NULL);
	uint64_t sum;
	struct ibv_qp *qp[2];

	assert_non_null(heap);
	kit_pair(k, IBV_QPT_RC, qp);
	round_trip(k, qp[0], of_the_program, mr, 0x61);
	round_trip(k, qp[0], heap, mr, 0x62);
	round_trip(k, qp[0], late, mr, 0x63);
	/* An implicit region's key is also an L_Key. */
	assert_int_equal(
		move(k, qp[0],
		     (struct move){ IBV_WR_RDMA_READ, heap, mr->lkey, late, mr->rkey }),
		IBV_WC_SUCCESS);
	assert_int_equal(((uint8_t *)heap)[LEN - 1], 0x63);
	memcpy(&sum, heap, 8);
	assert_int_equal(move(k, qp[0],
			      (struct move){ IBV_WR_ATOMIC_FETCH_AND_ADD, of_the_program,
					     mr->lkey, heap, mr->rkey }),
			 IBV_WC_SUCCESS);
	assert_true(of_the_program[0] == sum);
	assert_true(heap[0] == sum + 5);
	/* Accesses to unmapped memory fail. */
	unmap_pages(late);
	assert_int_equal(read_from(k, qp[0], late, mr), IBV_WC_REM_ACCESS_ERR);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free(heap);
}

static void an_implicit_region_grants_what_it_says(void **state)
{
	struct kit *k = *state;
	struct ibv_mr *mr =
		reg(k, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ);
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(read_from(k, qp[0], k->buf, mr), IBV_WC_SUCCESS);
	assert_int_equal(write_to(k, qp[0], k->buf + 100, mr), IBV_WC_REM_ACCESS_ERR);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void what_is_half_implicit_is_refused(void **state)
{
	struct kit *k = *state;
	struct {
		void *addr;
		uint64_t iova;
		unsigned access;
	} wrong[] = {
		{ k->buf, (uintptr_t)k->buf, ODP },
		{ NULL, 4096, ODP },
		{ NULL, 0, ODP | IBV_ACCESS_HUGETLB },
		{ NULL, 0, RIGHTS },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		assert_null(ibv_reg_mr_iova(k->pd, wrong[i].addr, SIZE_MAX, wrong[i].iova,
					    wrong[i].access));
		assert_int_equal(errno, EINVAL);
	}
}

/* -------------------------------------------------------------------------- advice */
static int advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge sge)
{
	return ibv_advise_mr(pd, advice, flags, &sge, 1);
}

static unsigned resident(uint8_t *mem)
{
	unsigned char there[PAGES];
	unsigned count = 0;

	assert_int_equal(mincore(mem, PAGES * page, there), 0);
	for (unsigned i = 0; i < PAGES; i++)
		count += there[i] & 1;
	return count;
}

static void prefetched_pages_are_present(void **state)
{
	const enum ibv_advise_mr_advice both[] = { IBV_ADVISE_MR_ADVICE_PREFETCH,
						   IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE };
	struct kit *k = *state;
	struct ibv_mr *all = reg(k, NULL, SIZE_MAX, ODP);

	for (unsigned i = 0; i < 2; i++) {
		uint8_t *mem = map_pages(NULL);
		struct ibv_mr *mr = reg(k, mem, PAGES * page, ODP);
		struct ibv_sge sge = { (uintptr_t)mem, (uint32_t)page + 1, mr->lkey };

		assert_int_equal(resident(mem), 0);
		assert_int_equal(advise(k->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
					IBV_ADVISE_MR_FLAG_FLUSH, sge),
				 0);
		assert_int_equal(resident(mem), 0);
		assert_int_equal(advise(k->pd, both[i], IBV_ADVISE_MR_FLAG_FLUSH, sge),
				 0);
		assert_in_range(resident(mem), 2, PAGES);
		sge = (struct ibv_sge){ (uintptr_t)mem, PAGES * (uint32_t)page,
					all->lkey };
		assert_int_equal(advise(k->pd, both[i], 0, sge), 0);
		assert_int_equal(advise(k->pd, both[i], IBV_ADVISE_MR_FLAG_FLUSH, sge),
				 0);
		assert_int_equal(resident(mem), PAGES);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		unmap_pages(mem);
	}
	assert_int_equal(ibv_dereg_mr(all), 0);
}

static void advice_about_missing_pages_fails_for_who_waits(void **state)
{
	const enum ibv_advise_mr_advice advice[] = {
		IBV_ADVISE_MR_ADVICE_PREFETCH,
		IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	};
	struct kit *k = *state;
	uint8_t *mem = map_pages(NULL);
	struct ibv_mr *mr = reg(k, mem, PAGES * page, ODP);
	struct ibv_sge sge = { (uintptr_t)mem, (uint32_t)page, mr->lkey };

	unmap_pages(mem);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(advise(k->pd, advice[i], IBV_ADVISE_MR_FLAG_FLUSH, sge),
				 EFAULT);
		assert_int_equal(advise(k->pd, advice[i], 0, sge), 0);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void wrong_advice_is_refused(void **state)
{
	const enum ibv_advise_mr_advice fetch = IBV_ADVISE_MR_ADVICE_PREFETCH;
	struct kit *k = *state;
	struct ibv_mr *mr = reg(k, k->buf, 1000, ODP);
	struct ibv_mr *read_only =
		reg(k, k->buf, 1000, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *other = ibv_alloc_pd(k->ctx);
	struct ibv_sge good = { (uintptr_t)k->buf, 1000, mr->lkey };
	struct ibv_sge sge = good;

	assert_non_null(other);
	assert_int_equal(advise(k->pd, fetch, 0, good), 0);
	assert_int_equal(advise(k->pd, (enum ibv_advise_mr_advice)77, 0, good),
			 EOPNOTSUPP);
	assert_int_equal(advise(k->pd, fetch, 2, good), EINVAL);
	assert_int_equal(ibv_advise_mr(k->pd, fetch, 0, &good, 0), EINVAL);
	assert_int_equal(advise(other, fetch, 0, good), EPERM);
	sge.length = 1001;
	assert_int_equal(advise(k->pd, fetch, 0, sge), EFAULT);
	sge = (struct ibv_sge){ good.addr - 1, 10, mr->lkey };
	assert_int_equal(advise(k->pd, fetch, 0, sge), EFAULT);
	sge = good;
	sge.lkey = k->mr->lkey; /* this region does not page on demand */
	assert_int_equal(advise(k->pd, fetch, 0, sge), ENOENT);
	sge.lkey = mr->lkey + 1;
	assert_int_equal(advise(k->pd, fetch, 0, sge), ENOENT);
	sge.lkey = read_only->lkey;
	assert_int_equal(advise(k->pd, fetch, 0, sge), 0);
	assert_int_equal(advise(k->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, sge),
			 EPERM);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dereg_mr(read_only), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_device_says_what_can_be_paged),
		cmocka_unit_test(memory_may_come_after_its_registration),
		cmocka_unit_test(memory_may_go_and_come_again),
		cmocka_unit_test(a_request_from_memory_that_is_not_there_fails),
		cmocka_unit_test(huge_pages_can_be_registered),
		cmocka_unit_test(an_implicit_region_opens_the_whole_address_space),
		cmocka_unit_test(an_implicit_region_grants_what_it_says),
		cmocka_unit_test(what_is_half_implicit_is_refused),
		cmocka_unit_test(prefetched_pages_are_present),
		cmocka_unit_test(advice_about_missing_pages_fails_for_who_waits),
		cmocka_unit_test(wrong_advice_is_refused),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
