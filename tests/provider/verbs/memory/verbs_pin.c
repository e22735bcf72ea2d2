/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_pin.c - the limit on pinned memory (ROCIN_PIN), which works like that of
 * ib_umem_get() in the kernel.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	PAGES = 16, /* number of pages that most tests may pin */
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
};

static size_t page;
static uint8_t *memory; /* 2 * PAGES pages */
static struct ibv_context *ctx;
static struct ibv_pd *pd;

static void set_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

/* Adds or removes CAP_IPC_LOCK. Returns false if the process may not have it. */
static bool set_ipc_lock(bool on)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint32_t bit = 1u << CAP_IPC_LOCK;

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
	return syscall(SYS_capset, &head, data) == 0;
}

static void open_with(const char *setting, rlim_t limit)
{
	set_ipc_lock(false);
	set_limit(limit);
	setenv("ROCIN_PIN", setting, 1);
	ctx = kit_open_device();
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
}

static int open_limited(void **state)
{
	(void)state;
	open_with("limit", PAGES * page);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
	return 0;
}

static struct ibv_mr *reg(size_t from, size_t len)
{
	return ibv_reg_mr(pd, memory + from, len, RIGHTS);
}

static void refuses(size_t from, size_t len, int err)
{
	errno = 0;
	assert_null(reg(from, len));
	assert_int_equal(errno, err);
}

static struct ibv_mr *takes(size_t from, size_t len)
{
	struct ibv_mr *mr = reg(from, len);

	if (!mr)
		fail_msg("%zu bytes: errno %d", len, errno);
	return mr;
}

static void gives(struct ibv_mr *mr)
{
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* Exactly @n pages can still be pinned. */
static void has_free(size_t n)
{
	refuses(0, (n + 1) * page, ENOMEM);
	if (n)
		gives(takes(0, n * page));
}

static void nothing_is_limited_unless_asked_for(void **state)
{
	(void)state;
	open_with("off", page);
	gives(takes(0, 2 * PAGES * page));
	close_all(state);
}

static void as_many_pages_as_the_limit_has_can_be_registered(void **state)
{
	struct ibv_mr *mr;

	(void)state;
	refuses(0, PAGES * page + 1, ENOMEM);
	mr = takes(0, PAGES * page);
	refuses(0, 1, ENOMEM);
	gives(mr);
	has_free(PAGES);
}

static void whole_pages_count_each_time(void **state)
{
	struct ibv_mr *mr[4];

	(void)state;
	mr[0] = takes(0, 1);
	mr[1] = takes(0, 1); /* a page that is already pinned counts again */
	has_free(PAGES - 2);
	mr[2] = takes(page - 1, 2); /* two bytes, in two pages */
	has_free(PAGES - 4);
	mr[3] = takes(1, 0); /* length 0 counts the page of its address */
	has_free(PAGES - 5);
	for (unsigned i = 0; i < 4; i++)
		gives(mr[i]);
	has_free(PAGES);
}

static void part_of_a_page_in_the_limit_is_none(void **state)
{
	(void)state;
	set_limit(PAGES * page + page - 1);
	has_free(PAGES);
}

static void a_region_that_cannot_be_costs_nothing(void **state)
{
	uint8_t *hole = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_null(ibv_reg_mr(pd, hole, page, RIGHTS));
	assert_int_equal(errno, EFAULT);
	assert_null(ibv_reg_mr(pd, memory, page, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	has_free(PAGES);
	munmap(hole, page);
}

static void the_limit_is_looked_at_before_the_pages(void **state)
{
	size_t len = 2 * PAGES * page;
	uint8_t *hole = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_null(ibv_reg_mr(pd, hole, len, RIGHTS));
	assert_int_equal(errno, ENOMEM);
	munmap(hole, len);
}

static void regions_that_page_on_demand_pin_nothing(void **state)
{
	struct ibv_mr *mr =
		ibv_reg_mr(pd, memory, 2 * PAGES * page, RIGHTS | IBV_ACCESS_ON_DEMAND);

	(void)state;
	assert_non_null(mr);
	has_free(PAGES);
	/* Without the flag IBV_ACCESS_ON_DEMAND the region would have to be pinned. */
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RIGHTS),
		IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, ENOMEM);
	has_free(PAGES);
	gives(mr);
	has_free(PAGES);
}

static void memory_of_a_descriptor_does_not_count(void **state)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);
	struct ibv_mr *mr;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(2 * PAGES * page)), 0);
	mr = ibv_reg_dmabuf_mr(pd, 0, 2 * PAGES * page, 0, fd, RIGHTS);
	assert_non_null(mr);
	has_free(PAGES);
	gives(mr);
	has_free(PAGES);
	close(fd);
}

static void rereg_pins_the_new_pages_before_it_gives_the_old_back(void **state)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION;
	struct ibv_mr *mr = takes(0, 10 * page);

	(void)state;
	assert_int_equal(ibv_rereg_mr(mr, translation, NULL, memory, 7 * page, 0),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, ENOMEM);
	has_free(PAGES - 10);
	assert_int_equal(ibv_rereg_mr(mr, translation, NULL, memory, 6 * page, 0), 0);
	has_free(PAGES - 6);
	gives(mr);
	has_free(PAGES);
}

/* ibv_rereg_mr() of a region with a bound window fails, but only after it has pinned the
 * new pages.
 */
static void rereg_that_fails_at_last_gives_its_pages_back(void **state)
{
	struct kit k = { .ctx = ctx, .pd = pd };
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	(void)state;
	set_limit(1000 * page);
	k.cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	assert_int_equal(ibv_query_gid(ctx, 1, 0, &k.gid), 0);
	assert_int_equal(ibv_query_port(ctx, 1, &k.port), 0);
	kit_pair(&k, IBV_QPT_RC, qp);
	mr = ibv_reg_mr(pd, memory, page, RIGHTS | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	bind.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)memory, page,
						    IBV_ACCESS_REMOTE_READ };
	assert_int_equal(ibv_bind_mw(qp[0], mw, &bind), 0);
	kit_expect(k.cq, 1, IBV_WC_BIND_MW);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					      memory, page, 0),
				 IBV_REREG_MR_ERR_CMD);
		assert_int_equal(errno, EBUSY);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	gives(mr);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_cq(k.cq), 0);
}

static void rereg_of_rights_or_domain_pins_nothing(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *mr = takes(0, PAGES * page);

	(void)state;
	assert_int_equal(ibv_rereg_mr(mr,
				      IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS,
				      other, NULL, 0, 0),
			 0);
	refuses(0, 1, ENOMEM);
	gives(mr);
	has_free(PAGES);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void queues_are_pinned_as_well(void **state)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct ibv_qp_init_attr qp_init = {
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_mr *all;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	(void)state;
	assert_null(ibv_create_cq(ctx, 4 * PAGES * 64, NULL, NULL, 0));
	assert_int_equal(errno, ENOMEM);
	has_free(PAGES);
	cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	assert_non_null(cq);
	has_free(PAGES - 1);
	assert_int_equal(ibv_resize_cq(cq, 4 * PAGES * 64), ENOMEM);
	has_free(PAGES - 1);
	assert_int_equal(ibv_resize_cq(cq, 2 * (int)page / 64), 0);
	has_free(PAGES - 2);

	qp_init.send_cq = qp_init.recv_cq = cq;
	set_limit(3 * page);
	all = takes(0, page);
	assert_null(ibv_create_qp(pd, &qp_init));
	assert_int_equal(errno, ENOMEM);
	assert_null(ibv_create_srq(pd, &srq_init));
	assert_int_equal(errno, ENOMEM);
	gives(all);
	set_limit(2 * PAGES * page);
	qp = ibv_create_qp(pd, &qp_init);
	srq = ibv_create_srq(pd, &srq_init);
	assert_non_null(qp);
	assert_non_null(srq);
	refuses(0, (2 * PAGES - 3) * page, ENOMEM);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	has_free(2 * PAGES - 2);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void who_may_lock_nothing_lacks_the_permission(void **state)
{
	(void)state;
	set_limit(0);
	refuses(0, 1, EPERM);
	assert_null(ibv_create_cq(ctx, 1, NULL, NULL, 0));
	assert_int_equal(errno, EPERM);
}

static void the_limit_of_the_setting_goes_before_that_of_the_process(void **state)
{
	char setting[32];

	snprintf(setting, sizeof(setting), "limit:%zu", 3 * page);
	open_with(setting, PAGES * page);
	set_ipc_lock(true); /* has no effect on a limit of ROCIN_PIN */
	has_free(3);
	close_all(state);
}

static void who_may_lock_anything_is_not_limited(void **state)
{
	(void)state;
	if (!set_ipc_lock(true) || access("/proc/self/ns/user", F_OK))
		skip();
	/* Root in a user namespace has the capability there only, so it is limited. */
	if (!reg(0, 2 * PAGES * page))
		assert_int_equal(errno, ENOMEM);
	set_ipc_lock(false);
	/* Pages that were pinned while there was no limit count too. */
	refuses(0, 1, ENOMEM);
}

static void closing_a_device_gives_back_what_is_left(void **state)
{
	/* After the context is closed the test cannot destroy these objects. They stay
	 * reachable, so that the leak checker does not report them.
	 */
	static struct ibv_pd *its;
	static struct ibv_mr *mr;
	static struct ibv_cq *cq;
	struct ibv_context *other = kit_open_device();

	(void)state;
	its = ibv_alloc_pd(other);
	mr = ibv_reg_mr(its, memory, 4 * page, RIGHTS);
	assert_non_null(mr);
	cq = ibv_create_cq(other, 1, NULL, NULL, 0);
	assert_non_null(cq);
	has_free(PAGES - 5);
	assert_int_equal(ibv_close_device(other), 0);
	has_free(PAGES);
}

static void in_child(struct ibv_mr *mr, struct ibv_cq *cq)
{
	struct ibv_context *own;

	/* The parent has pinned this memory. The child's count does not contain it. */
	gives(mr);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	own = kit_open_device();
	pd = ibv_alloc_pd(own);
	has_free(PAGES);
	_exit(0);
}

static void a_child_begins_with_nothing_pinned(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_mr *mr = takes(0, (PAGES - 1) * page);
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		in_child(mr, cq);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	refuses(0, 1, ENOMEM);
	gives(mr);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void registration_takes_the_time_of_its_pages(void **state)
{
	const uint64_t cost = 1000000; /* ns per page */
	uint64_t begun;
	struct ibv_mr *mr, *on_demand;

	open_with("cost:1000000", page); /* there is no limit */
	begun = now();
	mr = takes(0, PAGES * page);
	assert_true(now() - begun >= PAGES * cost);
	begun = now();
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory,
				      2 * page, 0),
			 0);
	assert_true(now() - begun >= 2 * cost);
	gives(mr);
	/* A region with on-demand paging is registered without this delay. At least one
	 * of several tries must take less time than the pinning of its pages would.
	 */
	for (unsigned i = 0;; i++) {
		begun = now();
		on_demand = ibv_reg_mr(pd, memory, 2 * PAGES * page,
				       RIGHTS | IBV_ACCESS_ON_DEMAND);
		assert_non_null(on_demand);
		begun = now() - begun;
		gives(on_demand);
		if (begun < 2 * PAGES * cost)
			break;
		assert_true(i < 100);
	}
	close_all(state);
}

/* The driver of the GPU pins GPU memory, so this memory does not count for the process.
 */
static void memory_of_a_gpu_does_not_count(void **state)
{
	struct ibv_mr *mr[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		mr[i] = takes(0, PAGES * page);
	/* Only a device with that GPU knows that the memory is the GPU's. Without it the
	 * memory counts.
	 */
	refuses(0, (PAGES + 1) * page, ENOMEM);
	assert_int_equal(ibv_rereg_mr(mr[0], IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      memory, PAGES * page, 0),
			 0);
	for (unsigned i = 0; i < 3; i++)
		gives(mr[i]);
}

#define LIMITED(f) cmocka_unit_test_setup_teardown(f, open_limited, close_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_limited_unless_asked_for),
		LIMITED(as_many_pages_as_the_limit_has_can_be_registered),
		LIMITED(whole_pages_count_each_time),
		LIMITED(part_of_a_page_in_the_limit_is_none),
		LIMITED(a_region_that_cannot_be_costs_nothing),
		LIMITED(the_limit_is_looked_at_before_the_pages),
		LIMITED(regions_that_page_on_demand_pin_nothing),
		LIMITED(memory_of_a_descriptor_does_not_count),
		LIMITED(rereg_pins_the_new_pages_before_it_gives_the_old_back),
		LIMITED(rereg_that_fails_at_last_gives_its_pages_back),
		LIMITED(rereg_of_rights_or_domain_pins_nothing),
		LIMITED(queues_are_pinned_as_well),
		LIMITED(who_may_lock_nothing_lacks_the_permission),
		cmocka_unit_test(
			the_limit_of_the_setting_goes_before_that_of_the_process),
		cmocka_unit_test(registration_takes_the_time_of_its_pages),
		LIMITED(closing_a_device_gives_back_what_is_left),
		LIMITED(a_child_begins_with_nothing_pinned),
		/* the last test, because it may leave memory pinned */
		cmocka_unit_test_setup(who_may_lock_anything_is_not_limited,
				       open_limited),
	};

	const struct CMUnitTest of_gpu[] = {
		LIMITED(memory_of_a_gpu_does_not_count),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, 2 * PAGES * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (getenv("ROCIN_PCIE_DEVICE"))
		return cmocka_run_group_tests(of_gpu, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
