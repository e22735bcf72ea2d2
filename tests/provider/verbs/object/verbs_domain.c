/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_domain.c - parent domains, allocators of the program, and thread domains. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

/* Resource types, see rocin(7). */
enum {
	RES_QP = 1,
	RES_CQ = 2,
	RES_WQ = 4,
};

enum mode {
	GIVE,
	DEFAULT,
	REFUSE,
	MISALIGN,
	CALL_A_VERB,
	USED, /* gives the memory that was freed last, with its contents */
	/* maps the memory, and unmaps it when it is freed: later accesses fault */
	MAPPED,
};

/* What the allocator was asked for last, and how often. */
struct asked {
	struct ibv_pd *pd;
	enum mode mode;
	unsigned allocs, frees;
	uint64_t resource;
	size_t size, alignment;
	uint8_t *room, *used;
};

static void *on_alloc(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		      uint64_t resource_type)
{
	struct asked *a = pd_context;
	struct ibv_device_attr attr;

	a->pd = pd;
	a->allocs++;
	a->resource = resource_type;
	a->size = size;
	a->alignment = alignment;
	if (a->mode == DEFAULT)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (a->mode == REFUSE)
		return NULL;
	if (a->mode == USED && a->used) {
		a->room = a->used;
		a->used = NULL;
		return a->room;
	}
	if (a->mode == MAPPED) {
		a->room = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(a->room, MAP_FAILED);
		return a->room;
	}
	if (a->mode == CALL_A_VERB)
		assert_int_equal(ibv_query_device(pd->context, &attr), 0);
	a->room = aligned_alloc(4096, (size + 4096 + 4095) / 4096 * 4096);
	assert_non_null(a->room);
	memset(a->room, 0xee, size + 8); /* the provider must not rely on zeroed memory */
	return a->room + (a->mode == MISALIGN ? 4 : 0);
}

static void on_free(struct ibv_pd *pd, void *pd_context, void *ptr,
		    uint64_t resource_type)
{
	struct asked *a = pd_context;

	assert_ptr_equal(pd, a->pd);
	assert_int_equal(resource_type, a->resource);
	assert_ptr_equal(ptr, a->room + (a->mode == MISALIGN ? 4 : 0));
	a->frees++;
	if (a->mode == USED)
		a->used = a->room;
	else if (a->mode == MAPPED)
		assert_int_equal(munmap(a->room, a->size), 0);
	else
		free(a->room);
	a->room = NULL;
}

static struct ibv_pd *parent_of(struct ibv_pd *pd, struct ibv_td *td, struct asked *a)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.td = td,
		.comp_mask = a ? IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
					     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT
			       : 0,
		.alloc = on_alloc,
		.free = on_free,
		.pd_context = a,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(pd->context, &attr);

	assert_non_null(parent);
	return parent;
}

/* Creates a QP on @pd. The domain's @asked has room for one at a time. */
static struct ibv_qp *qp_on(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { 16, 16, 2, 2, 64 },
					 .qp_type = IBV_QPT_RC };

	return ibv_create_qp(pd, &attr);
}

static struct ibv_cq_ex *cq_on(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 100,
					    .wc_flags = IBV_WC_STANDARD_FLAGS,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					    .parent_domain = pd };

	return ibv_create_cq_ex(k->ctx, &attr);
}

/* WRITEs from qp[0] to the memory of @mr at the other end. */
static void write_through(struct kit *k, struct ibv_qp *qp, const struct ibv_mr *mr,
			  uint8_t byte)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 64);
	struct ibv_send_wr wr = {
		.wr_id = byte,
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)mr->addr, .rkey = mr->rkey },
	};

	memset(k->buf, byte, 64);
	kit_post_send(qp, &wr);
	kit_expect(k->cq, byte, IBV_WC_RDMA_WRITE);
}

/* READs what write_through() wrote. The READ follows the WRITE on the same path, so that
 * the written bytes have arrived.
 */
static void expect_written(struct kit *k, struct ibv_qp *qp, const struct ibv_mr *mr,
			   uint8_t byte)
{
	struct ibv_sge local = kit_sge(k, 0, 1024, 64);
	struct ibv_send_wr wr = {
		.wr_id = 1000,
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)mr->addr, .rkey = mr->rkey },
	};

	kit_post_send(qp, &wr);
	kit_expect(k->cq, 1000, IBV_WC_RDMA_READ);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(k->buf[1024 + i], byte);
}

/* ------------------------------------------------------------------------ as a PD */
static void a_parent_domain_is_as_good_as_its_pd(void **state)
{
	const unsigned rights =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct kit *k = *state;
	struct ibv_pd *parent = parent_of(k->pd, NULL, NULL);
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(parent, &attr);
	struct ibv_mr *mr = ibv_reg_mr(parent, k->buf + KIT_HALF, 64, rights);
	struct ibv_qp *qp[2] = { qp_on(k, k->pd), qp_on(k, parent) };

	assert_non_null(ah);
	assert_non_null(mr);
	assert_ptr_equal(mr->pd, parent);
	assert_int_equal(parent->handle, k->pd->handle);
	for (unsigned i = 0; i < 2; i++) {
		assert_non_null(qp[i]);
		kit_to_init(qp[i]);
	}
	assert_ptr_equal(qp[1]->pd, parent);
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, qp[i], qp[1 - i]->qp_num);
	/* Both a QP of the parent domain and one of its PD can access a region of the
	 * parent domain.
	 */
	write_through(k, qp[0], mr, 11);
	expect_written(k, qp[0], mr, 11);
	write_through(k, qp[1], k->mr, 12);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, k->pd, NULL, 0, 0), 0);
	write_through(k, qp[0], mr, 13);
	expect_written(k, qp[0], mr, 13);

	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void a_region_of_another_pd_is_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *other = ibv_alloc_pd(k->ctx);
	struct ibv_pd *parent = parent_of(other, NULL, NULL);
	struct ibv_mr *mr = ibv_reg_mr(parent, k->buf + KIT_HALF, 64,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp *qp[2];

	assert_non_null(mr);
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr;
	wr.wr.rdma.rkey = mr->rkey;
	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_send(qp[0], &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_REM_ACCESS_ERR);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void what_is_in_use_stays(void **state)
{
	struct kit *k = *state;
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_td *td = ibv_alloc_td(k->ctx, &td_attr);
	struct ibv_pd *parent, *second;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	assert_non_null(pd);
	assert_non_null(td);
	assert_ptr_equal(td->context, k->ctx);
	parent = parent_of(pd, td, NULL);
	second = parent_of(parent, NULL, NULL);
	qp = qp_on(k, second);
	cq = cq_on(k, parent);
	assert_non_null(qp);
	assert_non_null(cq);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(second), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_dealloc_pd(second), 0);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

/* --------------------------------------------------------------------- allocators */
static void the_allocator_gives_the_memory_of_queues(void **state)
{
	struct kit *k = *state;
	struct asked a = { .mode = CALL_A_VERB };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_qp *qp[2] = { qp_on(k, parent), qp_on(k, k->pd) };
	struct ibv_mr *mr;

	assert_non_null(qp[0]);
	assert_non_null(qp[1]);
	assert_int_equal(a.allocs, 1);
	assert_int_equal(a.resource, RES_QP);
	assert_in_range(a.size, 16 * 64, 1 << 20);
	assert_int_equal(a.size % a.alignment, 0);
	for (unsigned i = 0; i < 2; i++)
		kit_to_init(qp[i]);
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, qp[i], qp[1 - i]->qp_num);
	write_through(k, qp[0], k->mr, 21);
	write_through(k, qp[1], k->mr, 22);
	/* The allocator is not called for regions. */
	mr = ibv_reg_mr(parent, k->buf, 64, 0);
	assert_non_null(mr);
	assert_int_equal(a.allocs, 1);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(a.frees, 0);
	kit_destroy_pair(qp);
	assert_int_equal(a.frees, 1);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void the_allocator_gives_the_memory_of_completions(void **state)
{
	struct kit *k = *state;
	struct asked a = { .mode = GIVE };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_cq_ex *cq = cq_on(k, parent);
	struct ibv_cq *plain = k->cq;
	struct ibv_qp *qp;

	assert_non_null(cq);
	assert_int_equal(a.allocs, 1);
	assert_int_equal(a.resource, RES_CQ);
	k->cq = ibv_cq_ex_to_cq(cq);
	qp = kit_create_qp(k, IBV_QPT_RC);
	kit_to_init(qp);
	for (unsigned i = 0; i < 10; i++)
		kit_post_recv(k, qp, i, kit_sge(k, 1, 0, 64));
	kit_to_state(qp, IBV_QPS_ERR);
	assert_int_equal(kit_wait(k->cq).wr_id, 0);
	for (unsigned i = 1; i < 10; i++)
		assert_int_equal(kit_wait(k->cq).wr_id, i);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(k->cq), 0);
	assert_int_equal(a.frees, 1);
	k->cq = plain;
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void the_allocator_gives_the_memory_of_work_queues(void **state)
{
	struct kit *k = *state;
	struct asked a = { .mode = GIVE };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ,
					 .max_wr = 16,
					 .max_sge = 2,
					 .pd = parent,
					 .cq = k->cq };
	struct ibv_wq *wq = ibv_create_wq(k->ctx, &attr);

	assert_non_null(wq);
	assert_int_equal(a.allocs, 1);
	assert_int_equal(a.resource, RES_WQ);
	assert_ptr_equal(wq->pd, parent);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(a.frees, 1);
	a.mode = REFUSE;
	assert_null(ibv_create_wq(k->ctx, &attr));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void a_resized_queue_asks_again(void **state)
{
	struct kit *k = *state;
	struct asked a = { .mode = GIVE };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_cq_ex *cq = cq_on(k, parent);
	size_t first = a.size;
	uint8_t *old = a.room;

	assert_non_null(cq);
	a.mode = REFUSE;
	assert_int_equal(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 1000), ENOMEM);
	a.mode = DEFAULT;
	a.room = old;
	assert_int_equal(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 1000), 0);
	assert_in_range(a.size, first + 1, SIZE_MAX);
	assert_int_equal(a.allocs, 3);
	assert_int_equal(a.frees, 1);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(a.frees, 1);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

/* Posts @count receives to a QP on @cq and flushes them. */
static void flush_into(struct kit *k, struct ibv_cq_ex *cq, unsigned count)
{
	struct kit on = *k;
	struct ibv_qp *qp;

	on.cq = ibv_cq_ex_to_cq(cq);
	qp = kit_create_qp(&on, IBV_QPT_RC);
	kit_to_init(qp);
	for (unsigned i = 0; i < count; i++)
		kit_post_recv(&on, qp, i, kit_sge(k, 1, 0, 64));
	kit_to_state(qp, IBV_QPS_ERR);
	for (unsigned i = 0, n; i < count; i += n) {
		struct ibv_wc wc[16];

		n = (unsigned)ibv_poll_cq(on.cq, 16, wc);
		assert_in_range(n, 0, count - i);
		for (unsigned w = 0; w < n; w++)
			assert_int_equal(wc[w].qp_num, qp->qp_num);
	}
	kit_expect_none(on.cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* The memory still contains the completions of the earlier queue, which must not appear
 * in the new one.
 */
static void memory_may_be_given_again_as_it_was_left(void **state)
{
	struct kit *k = *state;
	struct asked a = { .mode = USED };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_cq_ex *cq = cq_on(k, parent);
	uint8_t *room = a.room;

	assert_non_null(cq);
	flush_into(k, cq, 10);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	cq = cq_on(k, parent);
	assert_non_null(cq);
	assert_ptr_equal(a.room, room);
	flush_into(k, cq, 1);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	free(a.used);
}

/* The destroyed QP has an unacknowledged request to a QP that does not exist, and it is
 * the QP that has posted last, which the engine remembers.
 */
static void memory_that_was_given_back_is_touched_no_more(void **state)
{
	struct kit *k = *state;
	struct asked a = { .mode = MAPPED };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_qp *qp = qp_on(k, parent);
	struct ibv_sge local = kit_sge(k, 0, 0, 64);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	assert_non_null(qp);
	kit_to_init(qp);
	kit_to_rts(k, qp, (qp->qp_num + (1u << 20)) & 0xffffff);
	kit_post_send(qp, &wr);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(a.frees, 1);
	for (unsigned i = 0; i < 100; i++)
		kit_expect_none(k->cq);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void a_resize_that_is_refused_gives_its_memory_back(void **state)
{
	struct kit *k = *state, on = *k;
	struct asked a = { .mode = GIVE };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_cq_ex *cq = cq_on(k, parent);
	uint8_t *room = a.room;
	struct ibv_qp *qp;

	assert_non_null(cq);
	on.cq = ibv_cq_ex_to_cq(cq);
	qp = kit_create_qp(&on, IBV_QPT_RC);
	kit_to_init(qp);
	for (unsigned i = 0; i < 10; i++)
		kit_post_recv(&on, qp, i, kit_sge(k, 1, 0, 64));
	kit_to_state(qp, IBV_QPS_ERR);
	assert_int_equal(ibv_resize_cq(on.cq, 9), EINVAL);
	assert_int_equal(a.allocs, 2);
	assert_int_equal(a.frees, 1);
	a.room = room;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(on.cq), 0);
	assert_int_equal(a.frees, 2);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void what_the_allocator_refuses_is_not_made(void **state)
{
	const enum mode modes[] = { REFUSE, MISALIGN };
	struct kit *k = *state;

	for (unsigned i = 0; i < 2; i++) {
		struct asked a = { .mode = modes[i] };
		struct ibv_pd *parent = parent_of(k->pd, NULL, &a);

		assert_null(qp_on(k, parent));
		assert_int_equal(errno, ENOMEM);
		assert_null(cq_on(k, parent));
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(a.allocs, 2);
		assert_int_equal(a.frees, modes[i] == MISALIGN ? 2 : 0);
		assert_int_equal(ibv_dealloc_pd(parent), 0);
	}
}

static void the_default_allocator_can_be_chosen(void **state)
{
	struct kit *k = *state;
	struct asked a = { .mode = DEFAULT };
	struct ibv_pd *parent = parent_of(k->pd, NULL, &a);
	struct ibv_qp *qp = qp_on(k, parent);

	assert_non_null(qp);
	assert_int_equal(a.allocs, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(a.frees, 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

/* ----------------------------------------------------------------------- refusals */
static void wrong_attributes_are_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_context *other = kit_open_device();
	struct ibv_pd *foreign = ibv_alloc_pd(other);
	struct ibv_td_init_attr td_attr = { .comp_mask = 0 };
	struct ibv_td *foreign_td = ibv_alloc_td(other, &td_attr);
	struct ibv_parent_domain_init_attr attr[] = {
		{ .pd = NULL },
		{ .pd = foreign },
		{ .pd = k->pd, .td = foreign_td },
		{ .pd = k->pd, .comp_mask = 1 << 3 },
		{ .pd = k->pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS },
		{ .pd = k->pd,
		  .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
		  .alloc = on_alloc },
	};

	for (unsigned i = 0; i < sizeof(attr) / sizeof(attr[0]); i++) {
		errno = 0;
		assert_null(ibv_alloc_parent_domain(k->ctx, &attr[i]));
		assert_int_equal(errno, EINVAL);
	}
	assert_non_null(foreign_td);
	assert_int_equal(ibv_dealloc_td(foreign_td), 0);
	td_attr.comp_mask = 1;
	errno = 0;
	assert_null(ibv_alloc_td(k->ctx, &td_attr));
	assert_int_equal(errno, EINVAL);
	/* The field parent_domain accepts no plain PD. */
	errno = 0;
	assert_null(cq_on(k, k->pd));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(cq_on(k, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

static int in_child(struct ibv_pd *pd, struct ibv_pd *parent, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_td_init_attr td_attr = { 0 };

	errno = 0;
	if (ibv_alloc_parent_domain(pd->context, &attr) || errno != EIO)
		return 1;
	errno = 0;
	if (ibv_alloc_td(pd->context, &td_attr) || errno != EIO)
		return 2;
	if (ibv_dealloc_pd(parent) || ibv_dealloc_td(td) || ibv_dealloc_pd(pd))
		return 3;
	return 0;
}

static void a_fork_child_can_only_free(void **state)
{
	struct kit *k = *state;
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(k->ctx, &td_attr);
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_pd *parent = parent_of(pd, td, NULL);
	int status;
	pid_t child = fork();

	assert_int_not_equal(child, -1);
	if (child == 0)
		_exit(in_child(pd, parent, td));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_parent_domain_is_as_good_as_its_pd),
		cmocka_unit_test(a_region_of_another_pd_is_refused),
		cmocka_unit_test(what_is_in_use_stays),
		cmocka_unit_test(the_allocator_gives_the_memory_of_queues),
		cmocka_unit_test(the_allocator_gives_the_memory_of_completions),
		cmocka_unit_test(the_allocator_gives_the_memory_of_work_queues),
		cmocka_unit_test(a_resized_queue_asks_again),
		cmocka_unit_test(memory_may_be_given_again_as_it_was_left),
		cmocka_unit_test(memory_that_was_given_back_is_touched_no_more),
		cmocka_unit_test(a_resize_that_is_refused_gives_its_memory_back),
		cmocka_unit_test(what_the_allocator_refuses_is_not_made),
		cmocka_unit_test(the_default_allocator_can_be_chosen),
		cmocka_unit_test(wrong_attributes_are_refused),
		cmocka_unit_test(a_fork_child_can_only_free),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
