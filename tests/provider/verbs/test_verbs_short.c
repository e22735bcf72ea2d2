/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_verbs_short.c - verbs objects of a device that has no more of something, and what
 * they have of each other.
 */
#include "tests/provider/kit/virtual_verbs_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider/raw/flow.h"
#include "provider/verbs/object/library.h"

/* ----------------------------------------------------- what could not be made */
static void qp_without_a_number_leaves_nothing_behind(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RAW_PACKET };
	int before = vverbs_parts.objects[RNP_HCA_QP];

	(void)state;
	vverbs_parts.no_numbers = true;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(types); i++) {
		assert_null(vverbs_new_qp(&vverbs_devices[0], types[i]));
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(vverbs_parts.raw_gets, 0);
		assert_int_equal(vverbs_parts.objects[RNP_HCA_QP], before);
	}
}

static void cq_that_cannot_be_made_lets_its_channel_go(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];

	(void)state;
	assert_int_equal(rnp_destroy_qp(d->qp), 0);
	d->qp = NULL;
	vverbs_parts.no_object = true;
	assert_null(vverbs_new_cq(d));
	assert_int_equal(errno, ENOMEM);
	vverbs_parts.no_object = false;
	assert_int_equal(rnp_destroy_cq(d->cq), 0);
	d->cq = NULL;
	assert_true(LIST_EMPTY(&d->ctx.channels)); /* and its descriptor is closed */
}

/* Whoever reads a CQ has its lock, and may be in the middle of an entry. */
static void cq_that_is_being_read_keeps_its_ring(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_cq *cq = to_rnp_cq(d->cq);
	const struct rn_cqe *ring = cq->ring;

	(void)state;
	assert_int_equal(rnp_destroy_qp(d->qp), 0);
	d->qp = NULL;
	rnp_use_lock_take(&cq->lock);
	assert_int_equal(rnp_destroy_cq(d->cq), 0);
	d->cq = NULL;
	assert_ptr_equal(cq->ring, ring);
	assert_ptr_equal(cq->late_ring.addr, ring);
	rnp_use_lock_give(&cq->lock);
}

static void group_that_cannot_be_joined_is_not_counted(void **state)
{
	const union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct vverbs_device *d = &vverbs_devices[0];
	struct ibv_qp *qp = vverbs_new_qp(d, IBV_QPT_UD);

	(void)state;
	assert_non_null(qp);
	vverbs_parts.no_groups = true;
	assert_int_equal(rnp_attach_mcast(qp, &group, 0), ENOBUFS);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MCAST_GRP], 0);
	vverbs_parts.no_groups = false;
	assert_int_equal(rnp_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MCAST_GRP], 1);
	assert_int_equal(rnp_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MCAST_GRP], 0);
	assert_int_equal(rnp_destroy_qp(qp), 0);
}

/* --------------------------------------------------------------------- memory regions */
static uint8_t bytes[64];

static const struct rn_mr *core_of(const struct vverbs_device *d, const struct ibv_mr *mr)
{
	return rn_dev_find_mr(d->ctx.engine->dev, mr->lkey >> RN_KEY_INDEX_SHIFT);
}

/* With what the library adds to it. */
static struct ibv_mr *new_mr(struct vverbs_device *d)
{
	struct ibv_mr *mr = rnp_reg_mr(d->pd, bytes, sizeof(bytes), (uintptr_t)bytes,
				       IBV_ACCESS_LOCAL_WRITE);

	if (!mr)
		return NULL;
	mr->context = &d->ctx.base;
	mr->pd = d->pd;
	mr->addr = bytes;
	mr->length = sizeof(bytes);
	return mr;
}

static void destroy_mr(struct ibv_mr *mr)
{
	assert_int_equal(rnp_dereg_mr((struct rnp_abi_mr *)mr), 0);
}

static int change_rights(struct ibv_mr *mr)
{
	return rnp_rereg_mr((struct rnp_abi_mr *)mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
			    NULL, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}

static void region_that_pcie_does_not_take_is_not_counted(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	int count = vverbs_parts.objects[RNP_HCA_MR];
	struct ibv_mr *mr = NULL;
	bool is_on = vverbs_put_below_pcie(d);

	(void)state;
	vverbs_host.refusals = 1;
	if (is_on)
		mr = new_mr(d);
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	assert_null(mr);
	assert_int_equal(vverbs_host.refusals, 0);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MR], count);
	mr = new_mr(d);
	assert_non_null(mr);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MR], count + 1);
	destroy_mr(mr);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MR], count);
}

static void null_region_counts_as_one(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	int count = vverbs_parts.objects[RNP_HCA_MR];
	struct ibv_mr *mr;

	(void)state;
	vverbs_parts.no_object = true;
	assert_null(rnp_alloc_null_mr(d->pd));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MR], count);
	vverbs_parts.no_object = false;
	mr = rnp_alloc_null_mr(d->pd);
	assert_non_null(mr);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MR], count + 1);
	destroy_mr(mr);
	assert_int_equal(vverbs_parts.objects[RNP_HCA_MR], count);
}

/* And one that is not taken back either is there, but for nobody. */
static void region_that_cannot_be_changed_stays_as_it_was(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	struct ibv_mr *mr = new_mr(d);
	int rc[2] = { 0 };
	bool valid[2] = { false };
	uint32_t access[2] = { 0 };

	(void)state;
	assert_non_null(mr);
	if (!vverbs_put_below_pcie(d)) {
		destroy_mr(mr);
		skip();
	}
	for (unsigned i = 0; i < 2; i++) {
		vverbs_host.drained = d->ctx.engine;
		vverbs_host.refusals = i + 1;
		rc[i] = change_rights(mr);
		if (core_of(d, mr)) {
			valid[i] = core_of(d, mr)->valid;
			access[i] = core_of(d, mr)->access;
		}
	}
	d->ctx.engine->pcie = before;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rc[i], ENOMEM);
		assert_int_equal(valid[i], i == 0);
	}
	assert_int_equal(access[0], IBV_ACCESS_LOCAL_WRITE);
	destroy_mr(mr);
}

/* What comes while the rest arrives finds it closed. */
static void region_that_goes_is_closed_before_memory_settles(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	struct ibv_mr *mr = new_mr(d);
	bool is_on = vverbs_put_below_pcie(d);

	(void)state;
	assert_non_null(mr);
	vverbs_host.was_open = true;
	vverbs_host.drained = d->ctx.engine;
	vverbs_host.key = mr->lkey;
	assert_true(core_of(d, mr)->valid);
	destroy_mr(mr);
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	assert_false(vverbs_host.was_open);
}

static void region_does_not_wrap_around_the_address_space(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;

	(void)state;
	for (uintptr_t from = 1; from <= 4; from++)
		for (size_t len = from * page; len <= 8 * page; len += page) {
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is there */
			void *at = (void *)(UINTPTR_MAX - from * page + 1);

			errno = 0;
			assert_null(rnp_reg_mr(d->pd, at, len, (uintptr_t)at, access));
			assert_int_equal(errno, EINVAL);
		}
}

static void window_is_bound_to_a_region_of_its_own_context(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0], other;
	struct ibv_mw_bind bind = { .bind_info = { .addr = (uintptr_t)bytes,
						   .length = sizeof(bytes) } };
	struct ibv_mw *mw = rnp_alloc_mw(d->pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr;

	(void)state;
	vverbs_open(&other, 0);
	mr = new_mr(&other);
	assert_true(mw && mr);
	vverbs_connect();
	d->qp->context = &d->ctx.base;
	bind.bind_info.mr = mr;
	assert_int_equal(rnp_bind_mw(d->qp, mw, &bind), EINVAL);
	destroy_mr(mr);
	assert_int_equal(rnp_dealloc_mw(mw), 0);
	vverbs_close(&other);
}

/* Whoever imports it from there finds it in a context that is open. */
static void region_moves_to_another_context_of_the_file(void **state)
{
	static struct vverbs_device other; /* what moves there stays for the teardown */
	struct vverbs_device *d = &vverbs_devices[0];
	struct ibv_mr *mr = new_mr(d);

	(void)state;
	assert_non_null(mr);
	vverbs_open(&other, 0);
	rnp_open_add(&d->ctx, NULL);
	rnp_open_add(&other.ctx, &d->ctx);
	rnp_open_remove(&d->ctx);
	assert_ptr_equal(mr->context, &other.ctx.base);
	destroy_mr(mr);
	rnp_open_remove(&other.ctx);
	vverbs_close(&other);
}

/* ---------------------------------------------------------------------- other objects */
static int open_fds(void)
{
	int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(lowest >= 0);
	close(lowest);
	return lowest;
}

static struct ibv_xrcd *open_xrcd(struct vverbs_device *d, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = rnp_open_xrcd(&d->ctx.base, &attr);

	assert_non_null(xrcd);
	return xrcd;
}

static void xrc_domain_lets_its_file_go(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	int fd = open("/proc", O_RDONLY | O_CLOEXEC), before;
	struct ibv_xrcd *first, *second;

	(void)state;
	assert_true(fd >= 0);
	before = open_fds();
	first = open_xrcd(d, fd);
	second = open_xrcd(d, fd);
	assert_int_equal(((struct rnp_xrcd *)first)->number,
			 ((struct rnp_xrcd *)second)->number);
	assert_int_equal(rnp_close_xrcd(first), 0);
	assert_int_not_equal(open_fds(), before); /* the other has it */
	assert_int_equal(rnp_close_xrcd(second), 0);
	assert_int_equal(open_fds(), before);
	close(fd);
}

/* Inodes of two file systems may have one number, as their roots often have. */
static void xrc_domains_of_two_file_systems_are_two(void **state)
{
	static const char *const roots[] = { "/proc", "/sys", "/dev/pts", "/dev/shm" };
	int fd[RN_ARRAY_SIZE(roots)];
	struct stat st[RN_ARRAY_SIZE(roots)] = { 0 };
	struct ibv_xrcd *a, *b;
	unsigned pairs = 0;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(roots); i++) {
		fd[i] = open(roots[i], O_RDONLY | O_CLOEXEC);
		assert_true(fd[i] < 0 || fstat(fd[i], &st[i]) == 0);
	}
	for (unsigned i = 1; i < RN_ARRAY_SIZE(roots); i++)
		for (unsigned k = 0; k < i; k++) {
			if (fd[i] < 0 || fd[k] < 0 || st[i].st_ino != st[k].st_ino ||
			    st[i].st_dev == st[k].st_dev)
				continue;
			pairs++;
			a = open_xrcd(&vverbs_devices[0], fd[i]);
			b = open_xrcd(&vverbs_devices[0], fd[k]);
			assert_int_not_equal(((struct rnp_xrcd *)a)->number,
					     ((struct rnp_xrcd *)b)->number);
			assert_int_equal(rnp_close_xrcd(a), 0);
			assert_int_equal(rnp_close_xrcd(b), 0);
		}
	for (unsigned i = 0; i < RN_ARRAY_SIZE(roots); i++)
		if (fd[i] >= 0)
			close(fd[i]);
	if (pairs == 0)
		skip();
}

static struct ibv_wq *new_wq(struct vverbs_device *d)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = d->pd, .cq = d->cq
	};
	struct ibv_wq *wq = rnp_create_wq(&d->ctx.base, &attr);

	assert_non_null(wq);
	wq->context = &d->ctx.base;
	pthread_mutex_init(&wq->mutex, NULL);
	pthread_cond_init(&wq->cond, NULL);
	return wq;
}

/* A QP that spreads over @table by these fields, or NULL. */
static struct ibv_qp *spread_over(struct vverbs_device *d,
				  struct ibv_rwq_ind_table *table, uint64_t fields)
{
	static uint8_t key[RNP_TOEPLITZ_KEY_LEN];
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = d->pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = RNP_TOEPLITZ_KEY_LEN,
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = fields },
	};

	errno = 0;
	return rnp_create_qp_ex(&d->ctx.base, &attr);
}

static void table_of_work_queues_holds_under_its_queue_pairs(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct ibv_wq *wq = new_wq(d);
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &wq };
	struct ibv_rwq_ind_table *table = rnp_create_rwq_ind_table(&d->ctx.base, &attr);
	struct ibv_qp *qp;

	(void)state;
	assert_non_null(table);
	qp = spread_over(d, table, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_PORT_TCP);
	assert_non_null(qp);
	assert_int_equal(rnp_destroy_rwq_ind_table(table), EBUSY);
	assert_int_equal(rnp_destroy_qp(qp), 0);
	assert_int_equal(vverbs_parts.raw_gets, 0);
	assert_null(spread_over(d, table,
				IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP));
	assert_int_equal(errno, EINVAL);
	assert_null(spread_over(d, table, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV6));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rnp_destroy_rwq_ind_table(table), 0);
	assert_int_equal(rnp_destroy_wq(wq), 0);
}

/* Pages of address space that the process has. */
static unsigned long pages_mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	assert_int_equal(fclose(file), 0);
	return pages;
}

static void device_memory_that_there_is_no_room_for_is_unmapped(void **state)
{
	enum {
		TRIES = 256
	};
	struct ibv_alloc_dm_attr attr = { .length = RNP_DM_BYTES };
	const unsigned long one = RNP_DM_BYTES / (unsigned long)sysconf(_SC_PAGESIZE);
	struct vverbs_device *d = &vverbs_devices[0];
	struct ibv_dm *all = rnp_alloc_dm(&d->ctx.base, &attr);
	unsigned long before;

	(void)state;
	assert_non_null(all);
	before = pages_mapped();
	for (unsigned i = 0; i < TRIES; i++) {
		assert_null(rnp_alloc_dm(&d->ctx.base, &attr));
		assert_int_equal(errno, ENOMEM);
	}
	assert_in_range(pages_mapped(), 0, before + TRIES * one / 2);
	assert_int_equal(rnp_free_dm(all), 0);
}

static void device_memory_that_pcie_does_not_take_is_given_back(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = RNP_DM_BYTES };
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	bool is_on = vverbs_put_below_pcie(d);
	struct ibv_dm *dm = is_on ? rnp_alloc_dm(&d->ctx.base, &attr) : NULL;
	int error = errno;

	(void)state;
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	assert_null(dm);
	assert_int_equal(error, ENOMEM);
	dm = rnp_alloc_dm(&d->ctx.base, &attr);
	assert_non_null(dm);
	assert_int_equal(rnp_free_dm(dm), 0);
}

/* How much a fork child gets of its own, and gets again. 0, or the line that is wrong. */
static int allocate_in_child(void)
{
	struct ibv_context *ctx = &vverbs_devices[0].ctx.base;
	struct ibv_alloc_dm_attr attr = { .length = RNP_DM_BYTES };
	struct ibv_dm *half[2], *dm;

	for (unsigned i = 0; i < 3; i++) {
		attr.length = RNP_DM_BYTES;
		dm = rnp_alloc_dm(ctx, &attr);
		if (!dm)
			return __LINE__;
		attr.length = 1;
		if (rnp_alloc_dm(ctx, &attr) || errno != ENOMEM)
			return __LINE__;
		if (rnp_free_dm(dm))
			return __LINE__;
	}
	attr.length = RNP_DM_BYTES / 2;
	for (unsigned i = 0; i < 2; i++) {
		half[i] = rnp_alloc_dm(ctx, &attr);
		if (!half[i])
			return __LINE__;
	}
	attr.length = 64;
	if (rnp_alloc_dm(ctx, &attr) || errno != ENOMEM || rnp_free_dm(half[0]))
		return __LINE__;
	/* What one is refused is no loss to the next. */
	attr.length = RNP_DM_BYTES;
	if (rnp_alloc_dm(ctx, &attr) || errno != ENOMEM)
		return __LINE__;
	attr.length = RNP_DM_BYTES / 2;
	dm = rnp_alloc_dm(ctx, &attr);
	return !dm || rnp_free_dm(dm) || rnp_free_dm(half[1]) ? __LINE__ : 0;
}

static void fork_child_has_as_much_device_memory_as_a_device(void **state)
{
	int status, pipe[2], line = -1;
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		line = allocate_in_child();
		_exit(write(pipe[1], &line, sizeof(line)) != sizeof(line));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(pipe[0], &line, sizeof(line)), sizeof(line));
	assert_int_equal(line, 0);
	close(pipe[0]);
	close(pipe[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, vverbs_setup, vverbs_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(qp_without_a_number_leaves_nothing_behind),
		TEST(cq_that_cannot_be_made_lets_its_channel_go),
		TEST(cq_that_is_being_read_keeps_its_ring),
		TEST(group_that_cannot_be_joined_is_not_counted),
		TEST(region_that_pcie_does_not_take_is_not_counted),
		TEST(null_region_counts_as_one),
		TEST(region_that_cannot_be_changed_stays_as_it_was),
		TEST(region_that_goes_is_closed_before_memory_settles),
		TEST(region_does_not_wrap_around_the_address_space),
		TEST(window_is_bound_to_a_region_of_its_own_context),
		TEST(region_moves_to_another_context_of_the_file),
		TEST(xrc_domain_lets_its_file_go),
		TEST(xrc_domains_of_two_file_systems_are_two),
		TEST(table_of_work_queues_holds_under_its_queue_pairs),
		TEST(device_memory_that_there_is_no_room_for_is_unmapped),
		TEST(device_memory_that_pcie_does_not_take_is_given_back),
		TEST(fork_child_has_as_much_device_memory_as_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
