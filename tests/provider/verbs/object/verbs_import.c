/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_import.c - importing contexts by a copy of their descriptor, and objects by their
 * handles.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	LEN = 64,
	RIGHTS =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	NOBODY = 0xfffff0, /* a handle that no object has */
};

static struct ibv_context *import_of(const struct ibv_context *ctx)
{
	int fd = dup(ctx->cmd_fd);
	struct ibv_context *imported;

	assert_true(fd >= 0);
	imported = ibv_import_device(fd);
	if (!imported)
		fail_msg("ibv_import_device: errno %d", errno);
	return imported;
}

/* Returns a kit that imports the context, the PD and the region of @k. */
static struct kit import_kit(const struct kit *k)
{
	struct kit i = *k;

	i.ctx = import_of(k->ctx);
	i.pd = ibv_import_pd(i.ctx, k->pd->handle);
	assert_non_null(i.pd);
	i.mr = ibv_import_mr(i.pd, k->mr->handle);
	assert_non_null(i.mr);
	i.cq = ibv_create_cq(i.ctx, 64, NULL, NULL, 0);
	assert_non_null(i.cq);
	return i;
}

static void close_kit(struct kit *i)
{
	if (i->mr)
		ibv_unimport_mr(i->mr);
	if (i->pd)
		ibv_unimport_pd(i->pd);
	assert_int_equal(ibv_destroy_cq(i->cq), 0);
	assert_int_equal(ibv_close_device(i->ctx), 0);
}

static enum ibv_wc_status rdma(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode op,
			       struct ibv_sge local, uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = remote, .rkey = rkey } };

	kit_post_send(qp, &wr);
	return kit_wait(k->cq).status;
}

/* WRITEs with the keys of @k->mr, and READs back. */
static void round_trip(struct kit *k, struct ibv_qp *qp, uint8_t byte)
{
	uint64_t remote = (uintptr_t)k->buf + KIT_HALF;

	memset(k->buf, byte, LEN);
	memset(k->buf + LEN, 0, LEN);
	assert_int_equal(rdma(k, qp, IBV_WR_RDMA_WRITE, kit_sge(k, 0, 0, LEN), remote,
			      k->mr->rkey),
			 IBV_WC_SUCCESS);
	assert_int_equal(rdma(k, qp, IBV_WR_RDMA_READ, kit_sge(k, 0, LEN, LEN), remote,
			      k->mr->rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(k->buf, k->buf + LEN, LEN);
}

/* ------------------------------------------------------------------------- contexts */
static void an_imported_context_is_of_the_same_device(void **state)
{
	struct kit *k = *state;
	const int flags = fcntl(k->ctx->cmd_fd, F_GETFL);
	struct ibv_context *first = import_of(k->ctx), *second;
	struct ibv_device_attr a, b;
	union ibv_gid gid;

	/* Flags of the file description, which both contexts share. */
	assert_int_equal(fcntl(k->ctx->cmd_fd, F_GETFL), flags);
	second = import_of(first);
	assert_int_equal(fcntl(k->ctx->cmd_fd, F_GETFL), flags);
	assert_ptr_equal(first->device, k->ctx->device);
	assert_int_not_equal(first->cmd_fd, k->ctx->cmd_fd);
	assert_true(first->async_fd >= 0 && first->async_fd != k->ctx->async_fd);
	assert_int_equal(ibv_query_device(k->ctx, &a), 0);
	assert_int_equal(ibv_query_device(second, &b), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(ibv_query_gid(first, 1, 0, &gid), 0);
	assert_memory_equal(&gid, &k->gid, sizeof(gid));
	assert_int_equal(ibv_close_device(first), 0);
	assert_int_equal(ibv_query_device(second, &b), 0);
	assert_int_equal(ibv_close_device(second), 0);
	assert_int_not_equal(fcntl(k->ctx->cmd_fd, F_GETFD), -1);
}

static void what_is_no_open_context_is_not_imported(void **state)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, EOPNOTSUPP);
}

/* The device's engine runs in the parent process, so that a child cannot import the
 * context.
 */
static void another_process_cannot_import(void **state)
{
	struct kit *k = *state;
	int status;
	pid_t child = fork();

	assert_int_not_equal(child, -1);
	if (child == 0) {
		struct ibv_context *ctx = ibv_import_device(dup(k->ctx->cmd_fd));

		_exit(!ctx && errno == EOPNOTSUPP ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void an_imported_context_has_events_of_its_own(void **state)
{
	struct kit *k = *state;
	struct kit i = import_kit(k);
	struct pollfd fds[2] = { { .fd = i.ctx->async_fd, .events = POLLIN },
				 { .fd = k->ctx->async_fd, .events = POLLIN } };
	struct ibv_async_event event;
	struct ibv_qp *qp[2];

	kit_pair(&i, IBV_QPT_RC, qp);
	/* No region has this key, so the responder's QP moves to the error state. */
	assert_int_equal(rdma(&i, qp[0], IBV_WR_RDMA_WRITE, kit_sge(&i, 0, 0, 8),
			      (uintptr_t)k->buf, 0xabcdef),
			 IBV_WC_REM_ACCESS_ERR);
	do {
		assert_int_equal(poll(fds, 1, 300000), 1);
		assert_int_equal(ibv_get_async_event(i.ctx, &event), 0);
		assert_ptr_equal(event.element.qp, qp[1]);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(poll(&fds[1], 1, 0), 0);
	kit_destroy_pair(qp);
	close_kit(&i);
}

/* -------------------------------------------------------------------------- objects */
static void imported_objects_work_as_the_first(void **state)
{
	struct kit *k = *state;
	struct kit i = import_kit(k);
	struct ibv_qp *qp[2], *mine[2];

	assert_int_equal(i.pd->handle, k->pd->handle);
	assert_ptr_equal(i.pd->context, i.ctx);
	assert_int_equal(i.mr->lkey, k->mr->lkey);
	assert_int_equal(i.mr->rkey, k->mr->rkey);
	assert_int_equal(i.mr->length, k->mr->length);
	assert_null(i.mr->addr);
	kit_pair(&i, IBV_QPT_RC, qp);
	kit_pair(k, IBV_QPT_RC, mine);
	round_trip(&i, qp[0], 0x11);
	round_trip(k, mine[0], 0x12);
	kit_destroy_pair(mine);
	kit_destroy_pair(qp);
	close_kit(&i);
}

/* The Python bindings unimport a PD before they destroy the objects that were made with
 * it.
 */
static void objects_survive_the_handle_that_they_were_made_on(void **state)
{
	struct kit *k = *state;
	struct kit i = import_kit(k);
	struct ibv_qp *qp[2];
	struct ibv_mr *mr = ibv_reg_mr(i.pd, k->buf, LEN, RIGHTS);

	assert_non_null(mr);
	kit_pair(&i, IBV_QPT_RC, qp);
	ibv_unimport_pd(i.pd);
	i.pd = NULL;
	round_trip(&i, qp[0], 0x21);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	kit_destroy_pair(qp);
	close_kit(&i);
}

static void a_handle_of_nothing_is_not_found(void **state)
{
	struct kit *k = *state;
	struct ibv_context *i = import_of(k->ctx), *stranger = kit_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(stranger);
	struct ibv_mr *mr;

	assert_non_null(pd);
	mr = ibv_reg_mr(pd, k->buf, LEN, 0);
	assert_non_null(mr);
	assert_null(ibv_import_pd(i, NOBODY));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_mr(k->pd, NOBODY));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_dm(i, NOBODY));
	assert_int_equal(errno, ENOENT);
	/* A handle is valid only for contexts of the same open file. */
	assert_null(ibv_import_pd(i, pd->handle));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_mr(k->pd, mr->handle));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_pd(stranger, k->pd->handle));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(stranger), 0);
	assert_int_equal(ibv_close_device(i), 0);
}

static void destroying_through_an_import_destroys_the_object(void **state)
{
	struct kit *k = *state;
	struct ibv_context *ctx = import_of(k->ctx);
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx), *also_pd, *third;
	struct ibv_mr *mr, *also_mr;

	assert_non_null(pd);
	mr = ibv_reg_mr(pd, k->buf, LEN, RIGHTS);
	also_pd = ibv_import_pd(ctx, pd->handle);
	third = ibv_import_pd(ctx, pd->handle);
	assert_non_null(mr);
	assert_non_null(also_pd);
	assert_non_null(third);
	also_mr = ibv_import_mr(also_pd, mr->handle);
	assert_non_null(also_mr);

	assert_int_equal(ibv_dealloc_pd(also_pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	/* An imported region cannot be changed. */
	assert_int_not_equal(
		ibv_rereg_mr(also_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), 0);
	assert_int_equal(ibv_dereg_mr(also_mr), 0);
	assert_int_equal(ibv_dereg_mr(mr), ENOENT);
	assert_null(ibv_import_mr(pd, mr->handle));
	assert_int_equal(errno, ENOENT);
	ibv_unimport_mr(mr);
	assert_int_equal(ibv_dealloc_pd(also_pd), 0);
	assert_int_equal(ibv_dealloc_pd(pd), ENOENT);
	assert_null(ibv_import_pd(ctx, pd->handle));
	ibv_unimport_pd(pd);
	ibv_unimport_pd(third);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void objects_outlive_the_context_that_made_them(void **state)
{
	struct kit *k = *state;
	struct ibv_context *maker = kit_open_device();
	struct kit first = *k;
	struct kit i;
	struct ibv_qp *qp[2];
	uint32_t pd, mr;

	first.ctx = maker;
	first.pd = ibv_alloc_pd(maker);
	assert_non_null(first.pd);
	first.mr = ibv_reg_mr(first.pd, k->buf, KIT_BUF_LEN, RIGHTS);
	assert_non_null(first.mr);
	i = import_kit(&first);
	pd = first.pd->handle;
	mr = first.mr->handle;
	ibv_unimport_mr(first.mr);
	ibv_unimport_pd(first.pd);
	assert_int_equal(ibv_close_device(maker), 0);

	kit_pair(&i, IBV_QPT_RC, qp);
	round_trip(&i, qp[0], 0x31);
	kit_destroy_pair(qp);
	ibv_unimport_mr(i.mr);
	i.mr = ibv_import_mr(i.pd, mr);
	assert_non_null(i.mr);
	assert_int_equal(ibv_dereg_mr(i.mr), 0);
	i.mr = NULL;
	ibv_unimport_pd(i.pd);
	i.pd = ibv_import_pd(i.ctx, pd);
	assert_non_null(i.pd);
	assert_int_equal(ibv_dealloc_pd(i.pd), 0);
	i.pd = NULL;
	close_kit(&i);
}

static void *come_and_go(void *arg)
{
	struct kit *k = arg;

	for (unsigned i = 0; i < 30; i++) {
		struct ibv_context *ctx = import_of(k->ctx);
		struct ibv_pd *pd = ibv_import_pd(ctx, k->pd->handle);
		struct ibv_mr *mr, *own;

		assert_non_null(pd);
		mr = ibv_import_mr(pd, k->mr->handle);
		own = ibv_reg_mr(pd, k->buf, LEN, RIGHTS);
		assert_non_null(mr);
		assert_non_null(own);
		ibv_unimport_mr(mr);
		assert_int_equal(ibv_dereg_mr(own), 0);
		ibv_unimport_pd(pd);
		assert_int_equal(ibv_close_device(ctx), 0);
	}
	return NULL;
}

static void many_threads_may_import_at_once(void **state)
{
	pthread_t thread[4];

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, *state),
				 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* ------------------------------------------------------------------- device memory */
static void memory_on_the_device_can_be_imported(void **state)
{
	struct kit *k = *state;
	struct ibv_context *ctx = import_of(k->ctx);
	struct ibv_alloc_dm_attr attr = { .length = 256 };
	struct ibv_dm *dm = ibv_alloc_dm(k->ctx, &attr), *also;
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	uint64_t word = 0x1122334455667788, back = 0;
	struct ibv_mr *mr;

	assert_non_null(dm);
	assert_non_null(pd);
	also = ibv_import_dm(ctx, dm->handle);
	assert_non_null(also);
	assert_ptr_equal(also->context, ctx);
	assert_int_equal(ibv_memcpy_to_dm(dm, 8, &word, 8), 0);
	assert_int_equal(ibv_memcpy_from_dm(&back, also, 8, 8), 0);
	assert_true(back == word);
	assert_int_equal(ibv_memcpy_from_dm(&back, also, 256, 8), EINVAL);

	mr = ibv_reg_dm_mr(pd, also, 0, 256, RIGHTS | IBV_ACCESS_ZERO_BASED);
	assert_non_null(mr);
	assert_int_equal(ibv_free_dm(also), EBUSY);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);

	assert_int_equal(ibv_free_dm(also), 0);
	assert_int_equal(ibv_memcpy_from_dm(&back, dm, 8, 8), EIO);
	assert_int_equal(ibv_free_dm(dm), ENOENT);
	ibv_unimport_dm(dm);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* A child can allocate device memory with the context that it inherits, as with kernel
 * devices, whose file it shares.
 */
static int alloc_in_child(struct ibv_context *ctx, size_t limit)
{
	struct ibv_alloc_dm_attr attr = { .length = limit / 2 + 64 };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	uint64_t word = 77, back = 0;

	if (!dm || ibv_memcpy_to_dm(dm, 16, &word, 8) ||
	    ibv_memcpy_from_dm(&back, dm, 16, 8) || back != word)
		return 1;
	if (ibv_alloc_dm(ctx, &attr) || errno != ENOMEM)
		return 2;
	return ibv_free_dm(dm) ? 3 : 0;
}

static void a_fork_child_may_allocate_memory_on_the_device(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr_ex attr = { 0 };
	int status;
	pid_t child;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &attr), 0);
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0)
		_exit(alloc_in_child(k->ctx, attr.max_dm_size));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_imported_context_is_of_the_same_device),
		cmocka_unit_test(what_is_no_open_context_is_not_imported),
		cmocka_unit_test(another_process_cannot_import),
		cmocka_unit_test(an_imported_context_has_events_of_its_own),
		cmocka_unit_test(imported_objects_work_as_the_first),
		cmocka_unit_test(objects_survive_the_handle_that_they_were_made_on),
		cmocka_unit_test(a_handle_of_nothing_is_not_found),
		cmocka_unit_test(destroying_through_an_import_destroys_the_object),
		cmocka_unit_test(objects_outlive_the_context_that_made_them),
		cmocka_unit_test(many_threads_may_import_at_once),
		cmocka_unit_test(memory_on_the_device_can_be_imported),
		cmocka_unit_test(a_fork_child_may_allocate_memory_on_the_device),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
