/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_enomem.c - memory runs out at each allocation of a verb in turn. The verb must
 * fail with ENOMEM and leave nothing allocated.
 *
 * This program's allocator replaces the C library's for the libraries too. Only
 * allocations of this thread fail and are recorded, and only during the tested call.
 */
#include <dirent.h>
#include <fcntl.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	FOLLOWED_MAX = 256
};

static _Thread_local struct {
	bool on;
	unsigned left; /* number of allocations that still succeed */
	unsigned failed;
	/* blocks that were allocated in the tested call and not freed */
	void *followed[FOLLOWED_MAX];
} trial;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);

static bool runs_out(void)
{
	if (!trial.on || trial.left-- > 0)
		return false;
	trial.left = 0;
	trial.failed++;
	errno = ENOMEM;
	return true;
}

static void replace(void *old, void *new)
{
	for (unsigned i = 0; i < FOLLOWED_MAX; i++) {
		if (trial.followed[i] == old) {
			trial.followed[i] = new;
			return;
		}
	}
	if (!old)
		abort(); /* no entry is free in @followed */
}

static void *follow(void *block)
{
	if (trial.on && block)
		replace(NULL, block);
	return block;
}

/* The dynamic linker finds these symbols before those of the C library. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
	return runs_out() ? NULL : follow(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return runs_out() ? NULL : follow(__libc_calloc(n, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	return runs_out() ? NULL : follow(__libc_memalign(align, size));
}

int posix_memalign(void **block, size_t align, size_t size)
{
	if (runs_out())
		return ENOMEM;
	*block = follow(__libc_memalign(align, size));
	return *block ? 0 : ENOMEM;
}

void *realloc(void *old, size_t size)
{
	if (runs_out())
		return NULL;
	if (trial.on && old)
		replace(old, NULL);
	return follow(__libc_realloc(old, size));
}

void free(void *block)
{
	if (trial.on && block)
		replace(block, NULL);
	__libc_free(block);
}

#pragma GCC visibility pop

static void begin_trial(unsigned works)
{
	memset(&trial, 0, sizeof(trial));
	trial.left = works;
	trial.on = true;
}

static unsigned end_trial(void)
{
	unsigned count = 0;

	trial.on = false;
	for (unsigned i = 0; i < FOLLOWED_MAX; i++)
		count += trial.followed[i] != NULL;
	return count;
}

static unsigned count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The tested call. It makes an object, or changes @k and returns it. Returns NULL and
 * sets errno if it fails.
 */
typedef void *(*make_fn)(struct kit *k);
typedef int (*destroy_fn)(void *object);

static void expect_enomem(struct kit *k, make_fn make, destroy_fn destroy)
{
	unsigned descriptors, works = 0;
	void *object;

	/* A first call, so that tables which grow only once have grown before the
	 * recorded calls.
	 */
	object = make(k);
	assert_non_null(object);
	assert_int_equal(destroy(object), 0);
	descriptors = count_descriptors();
	for (;; works++) {
		unsigned left_behind;

		begin_trial(works);
		errno = 0;
		object = make(k);
		left_behind = end_trial();
		if (object && trial.failed == 0)
			break;
		if (object) { /* the verb succeeded although an allocation failed */
			assert_int_equal(destroy(object), 0);
			continue;
		}
		if (errno != ENOMEM || left_behind)
			fail_msg("allocation %u fails: errno %d, %u blocks stay", works,
				 errno, left_behind);
		assert_int_equal(count_descriptors(), descriptors);
	}
	assert_int_equal(destroy(object), 0);
	assert_true(works > 0);
	assert_int_equal(count_descriptors(), descriptors);
}

/* ---------------------------------------------------------------------- objects */
static void *make_context(struct kit *k)
{
	return ibv_open_device(k->ctx->device);
}

static int destroy_context(void *object)
{
	return ibv_close_device(object);
}

static void contexts(void **state)
{
	expect_enomem(*state, make_context, destroy_context);
}

static void *make_pd(struct kit *k)
{
	return ibv_alloc_pd(k->ctx);
}

static int destroy_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static void protection_domains(void **state)
{
	expect_enomem(*state, make_pd, destroy_pd);
}

/* The completion queue has a channel of its own, because the first queue of a channel
 * needs the most allocations.
 */
static void *make_cq(struct kit *k)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(k->ctx);
	struct ibv_cq *cq;
	int err;

	if (!channel)
		return NULL;
	cq = ibv_create_cq(k->ctx, 16, NULL, channel, 0);
	if (!cq) {
		err = errno;
		assert_int_equal(ibv_destroy_comp_channel(channel), 0);
		errno = err;
	}
	return cq;
}

static int destroy_cq(void *object)
{
	struct ibv_cq *cq = object;
	struct ibv_comp_channel *channel = cq->channel;
	int rc = ibv_destroy_cq(cq);

	return rc ? rc : ibv_destroy_comp_channel(channel);
}

static void completion_queues(void **state)
{
	expect_enomem(*state, make_cq, destroy_cq);
}

static void *resize_cq(struct kit *k)
{
	int rc = ibv_resize_cq(k->cq, k->cq->cqe);

	errno = rc;
	return rc ? NULL : k;
}

static int leave_it(void *object)
{
	(void)object;
	return 0;
}

/* leave_it() destroys nothing: resizing replaces a ring that existed before the call. */
static void completion_queues_resized(void **state)
{
	expect_enomem(*state, resize_cq, leave_it);
}

static void *make_qp(struct kit *k)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { 4, 4, 2, 2, 16 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	return ibv_create_qp_ex(k->ctx, &attr);
}

static int destroy_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static void queue_pairs(void **state)
{
	expect_enomem(*state, make_qp, destroy_qp);
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

static void address_handles(void **state)
{
	expect_enomem(*state, make_ah, destroy_ah);
}

static void *make_mr(struct kit *k)
{
	return ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
}

static int destroy_mr(void *object)
{
	return ibv_dereg_mr(object);
}

static void memory_regions(void **state)
{
	expect_enomem(*state, make_mr, destroy_mr);
}

static void *make_dm(struct kit *k)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	return ibv_alloc_dm(k->ctx, &attr);
}

static int destroy_dm(void *object)
{
	return ibv_free_dm(object);
}

static void memory_on_the_nic(void **state)
{
	expect_enomem(*state, make_dm, destroy_dm);
}

static void *make_mw(struct kit *k)
{
	return ibv_alloc_mw(k->pd, IBV_MW_TYPE_2);
}

static int destroy_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

static void memory_windows(void **state)
{
	expect_enomem(*state, make_mw, destroy_mw);
}

static void *make_parent_domain(struct kit *k)
{
	struct ibv_parent_domain_init_attr attr = { .pd = k->pd };

	return ibv_alloc_parent_domain(k->ctx, &attr);
}

static void parent_domains(void **state)
{
	expect_enomem(*state, make_parent_domain, destroy_pd);
}

static void *make_srq(struct kit *k)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 2 } };

	return ibv_create_srq(k->pd, &attr);
}

static int destroy_srq(void *object)
{
	return ibv_destroy_srq(object);
}

static void shared_receive_queues(void **state)
{
	expect_enomem(*state, make_srq, destroy_srq);
}

static void *make_xrcd(struct kit *k)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return ibv_open_xrcd(k->ctx, &attr);
}

static int destroy_xrcd(void *object)
{
	return ibv_close_xrcd(object);
}

static void xrc_domains(void **state)
{
	expect_enomem(*state, make_xrcd, destroy_xrcd);
}

static void *make_null_mr(struct kit *k)
{
	return ibv_alloc_null_mr(k->pd);
}

static void null_regions(void **state)
{
	expect_enomem(*state, make_null_mr, destroy_mr);
}

/* ---------------------------------------------------------------- ibv_wr_*() */
static void requests_built_by_calls(void **state)
{
	static uint8_t data[16];
	struct kit *k = *state;
	struct ibv_qp *qp = make_qp(k);
	struct ibv_qp_ex *ex;
	int rc;

	assert_non_null(qp);
	ex = ibv_qp_to_qp_ex(qp);
	kit_to_init(qp);
	kit_to_rts(k, qp, qp->qp_num);
	for (unsigned works = 0; works < 2; works++) {
		ibv_wr_start(ex);
		begin_trial(works);
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, data, sizeof(data));
		end_trial();
		rc = ibv_wr_complete(ex);
		if (trial.failed)
			assert_int_equal(rc, ENOMEM);
	}
	kit_expect_none(k->cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts),
		cmocka_unit_test(protection_domains),
		cmocka_unit_test(completion_queues),
		cmocka_unit_test(completion_queues_resized),
		cmocka_unit_test(queue_pairs),
		cmocka_unit_test(address_handles),
		cmocka_unit_test(memory_regions),
		cmocka_unit_test(memory_on_the_nic),
		cmocka_unit_test(memory_windows),
		cmocka_unit_test(parent_domains),
		cmocka_unit_test(shared_receive_queues),
		cmocka_unit_test(xrc_domains),
		cmocka_unit_test(null_regions),
		cmocka_unit_test(requests_built_by_calls),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
