/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mr_ex.c - memory verbs that libibverbs may have in releases after the installed
 * one: DMA handles, registration by attributes, export of device memory as a descriptor.
 *
 * The tests call the provider's functions as libibverbs would.
 */
#include "tests/provider/kit/virtual_verbs_kit.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LEN = 4096,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

static _Alignas(LEN) char memory[2 * LEN];

static struct rnp_context *context(void)
{
	return &vverbs_devices[0].ctx;
}

static uint32_t own_cpu(void)
{
	cpu_set_t set;
	uint32_t cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static const uint32_t all_hints = RNP_DMAH_CPU_ID | RNP_DMAH_PH | RNP_DMAH_MEM_TYPE;

static struct rnp_abi_dmah *alloc(uint32_t mask, uint32_t cpu, uint8_t ph, uint8_t type)
{
	struct rnp_abi_dmah_attr attr = {
		.comp_mask = mask, .cpu_id = cpu, .ph = ph, .tph_mem_type = type
	};

	errno = 0;
	return rnp_alloc_dmah(&context()->base, &attr);
}

static struct ibv_mr *reg(struct rnp_abi_mr_attr attr)
{
	struct ibv_pd *pd = vverbs_devices[0].pd;
	struct ibv_mr *mr;

	if (!attr.access)
		attr.access = ACCESS;
	if (!attr.length)
		attr.length = LEN;
	errno = 0;
	mr = rnp_reg_mr_ex(pd, &attr);
	if (mr) { /* libibverbs sets these fields */
		mr->context = pd->context;
		mr->pd = pd;
	}
	return mr;
}

static void dereg(struct ibv_mr *mr)
{
	assert_int_equal(rnp_dereg_mr((struct rnp_abi_mr *)mr), 0);
}

/* ------------------------------------------------------------------------ DMA handles */
static void hints_are_checked(void **state)
{
	const uint32_t cpu = own_cpu();
	const struct {
		uint32_t mask, cpu;
		uint8_t ph, type;
		int err;
	} wrong[] = {
		/* the mask selects no processing hint */
		{ 0, cpu, 0, 0, EINVAL },
		{ RNP_DMAH_PH, cpu, 4, 0, EINVAL }, /* the hint has only two bits */
		{ RNP_DMAH_PH | RNP_DMAH_CPU_ID, cpu, 0, 0, EINVAL }, /* no memory type */
		{ RNP_DMAH_PH | RNP_DMAH_MEM_TYPE, cpu, 0, 0, EINVAL },
		/* both volatile and persistent memory */
		{ all_hints, cpu, 0, 2, EINVAL },
		{ all_hints, 0xffff, 3, 0, EPERM },
		{ all_hints | 8, cpu, 0, 0, EOPNOTSUPP },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		assert_null(
			alloc(wrong[i].mask, wrong[i].cpu, wrong[i].ph, wrong[i].type));
		assert_int_equal(errno, wrong[i].err);
	}
}

static void handle_serves_while_regions_have_it(void **state)
{
	struct rnp_abi_dmah *dmah = alloc(all_hints, own_cpu(), 3, 1);
	struct rnp_abi_dmah *plain = alloc(RNP_DMAH_PH, 0, 0, 0);
	struct rnp_abi_mr_attr attr = { .comp_mask = RNP_REG_MR_ADDR | RNP_REG_MR_DMAH,
					.addr = memory,
					.dmah = dmah };
	struct ibv_mr *a, *b;

	(void)state;
	assert_non_null(dmah);
	assert_non_null(plain);
	a = reg(attr);
	b = reg(attr);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(rnp_dealloc_dmah(dmah), EBUSY);
	dereg(a);
	assert_int_equal(rnp_dealloc_dmah(dmah), EBUSY);
	dereg(b);
	assert_int_equal(rnp_dealloc_dmah(dmah), 0);
	/* The handle was destroyed. */
	assert_null(reg(attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rnp_dealloc_dmah(dmah), ENOENT);
	assert_int_equal(rnp_dealloc_dmah(plain), 0);
}

static void failed_registration_does_not_hold_the_handle(void **state)
{
	struct rnp_abi_dmah *dmah = alloc(RNP_DMAH_PH, 0, 0, 0);

	(void)state;
	assert_null(reg((struct rnp_abi_mr_attr){
		.comp_mask = RNP_REG_MR_ADDR | RNP_REG_MR_DMAH,
		.addr = memory,
		.length = SIZE_MAX,
		.dmah = dmah,
	}));
	assert_null(reg((struct rnp_abi_mr_attr){
		.comp_mask = RNP_REG_MR_ADDR | RNP_REG_MR_DMAH,
		.addr = memory,
		.access = ACCESS | IBV_ACCESS_ON_DEMAND,
		.dmah = dmah,
	}));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(rnp_dealloc_dmah(dmah), 0);
}

/* ----------------------------------------------------------- attributes of a region */
static void attributes_that_do_not_go_together_are_refused(void **state)
{
	static const struct {
		uint64_t mask;
		int err;
	} wrong[] = {
		{ 0, EINVAL },
		{ RNP_REG_MR_IOVA, EINVAL },
		{ RNP_REG_MR_FD, EINVAL },
		{ RNP_REG_MR_FD_OFFSET | RNP_REG_MR_ADDR, EINVAL },
		{ RNP_REG_MR_FD | RNP_REG_MR_FD_OFFSET, EINVAL },
		{ RNP_REG_MR_FD | RNP_REG_MR_FD_OFFSET | RNP_REG_MR_IOVA |
			  RNP_REG_MR_ADDR,
		  EINVAL },
		{ RNP_REG_MR_ADDR | UINT64_C(1) << 40, EOPNOTSUPP },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		assert_null(reg((struct rnp_abi_mr_attr){ .comp_mask = wrong[i].mask,
							  .addr = memory }));
		assert_int_equal(errno, wrong[i].err);
	}
}

static void address_is_the_iova_unless_one_is_given(void **state)
{
	struct rnp_abi_mr_attr attr = { .comp_mask = RNP_REG_MR_ADDR,
					.addr = memory,
					.iova = 0x10000 };
	struct rnp_mr *mr = (struct rnp_mr *)reg(attr);

	(void)state;
	assert_non_null(mr);
	assert_int_equal(mr->core.va, (uintptr_t)memory);
	dereg(&mr->base.ibv_mr);
	attr.comp_mask |= RNP_REG_MR_IOVA;
	mr = (struct rnp_mr *)reg(attr);
	assert_non_null(mr);
	assert_int_equal(mr->core.va, 0x10000);
	assert_int_equal(mr->core.iova_base, (uintptr_t)memory);
	dereg(&mr->base.ibv_mr);
}

/* ------------------------------------------------------ device memory as a descriptor */
/* A file exports device memory. What the program copies to the device memory is in the
 * file, and a region that is registered over the file is in this memory. The file's first
 * byte is the memory's, whatever the alignment.
 */
static void exported_device_memory_is_the_same_memory(void **state)
{
	static const uint32_t alignments[] = { 0, 6, 13 };
	static const char text[8] = "exported";

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(alignments); i++) {
		struct ibv_alloc_dm_attr attr = { .length = LEN + 100,
						  .log_align_req = alignments[i] };
		struct ibv_dm *dm = rnp_alloc_dm(&context()->base, &attr);
		char *map;
		struct ibv_mr *mr;
		int fd;

		assert_non_null(dm);
		fd = rnp_dm_export_dmabuf_fd(dm);
		assert_true(fd >= 0);
		map = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(map, MAP_FAILED);
		assert_int_equal(dm->memcpy_to_dm(dm, LEN, text, sizeof(text)), 0);
		assert_memory_equal(map + LEN, text, sizeof(text));
		mr = reg((struct rnp_abi_mr_attr){ .comp_mask = RNP_REG_MR_FD |
								RNP_REG_MR_FD_OFFSET |
								RNP_REG_MR_IOVA,
						   .fd = fd,
						   .fd_offset = LEN,
						   .iova = LEN });
		assert_non_null(mr);
		/* The memory exists after the handle is freed, while someone has the
		 * descriptor.
		 */
		assert_int_equal(rnp_free_dm(dm), 0);
		assert_memory_equal(map + LEN, text, sizeof(text));
		dereg(mr);
		munmap(map, 2 * LEN);
		close(fd);
	}
}

static void freed_device_memory_is_not_exported(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = rnp_alloc_dm(&context()->base, &attr);

	(void)state;
	assert_non_null(dm);
	assert_int_equal(rnp_free_dm(dm), 0);
	assert_int_equal(rnp_dm_export_dmabuf_fd(dm), -1);
	assert_int_equal(errno, ENOENT);
}

/* ------------------------------------------------------------------ ports and domains */
static void speed_is_that_of_the_port(void **state)
{
	struct ibv_port_attr attr;
	uint64_t speed = 0;

	(void)state;
	assert_int_equal(rnp_query_port(&context()->base, 1, &attr), 0);
	assert_int_equal(attr.active_width, 2);	 /* value for 4 lanes */
	assert_int_equal(attr.active_speed, 32); /* value for 25 Gb/s per lane */
	assert_int_equal(rnp_query_port_speed(&context()->base, 1, &speed), 0);
	assert_int_equal(speed, 1000);
	assert_int_equal(rnp_query_port_speed(&context()->base, 2, &speed), EINVAL);
}

static void parent_domain_may_allow_unprotected_memory(void **state)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = vverbs_devices[0].pd, .comp_mask = RNP_PARENT_DOMAIN_CC_UNPROTECTED
	};
	struct ibv_pd *pd = rnp_alloc_parent_domain(&context()->base, &attr);

	(void)state;
	assert_non_null(pd);
	assert_int_equal(rnp_dealloc_pd(pd), 0);
	attr.comp_mask = 1 << 3;
	assert_null(rnp_alloc_parent_domain(&context()->base, &attr));
	assert_int_equal(errno, EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, vverbs_setup, vverbs_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hints_are_checked),
		TEST(handle_serves_while_regions_have_it),
		TEST(failed_registration_does_not_hold_the_handle),
		TEST(attributes_that_do_not_go_together_are_refused),
		TEST(address_is_the_iova_unless_one_is_given),
		TEST(exported_device_memory_is_the_same_memory),
		TEST(freed_device_memory_is_not_exported),
		TEST(speed_is_that_of_the_port),
		TEST(parent_domain_may_allow_unprotected_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
