/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_driver_abi.c - learning the layout of the installed libibverbs, and refusing one
 * that does not fit.
 *
 * The library is the real one; where a test wants it different, the functions through
 * which it is reached are wrapped.
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "provider/abi/driver_abi.h"

static struct rnp_abi_lib real;
static unsigned abi_version;

static int find_library(void **state)
{
	static const unsigned versions[] = { 34, 57, 59, 64 };
	void *handle = dlopen("libibverbs.so.1", RTLD_LAZY);
	char err[256];

	(void)state;
	for (unsigned i = 0; handle && i < sizeof(versions) / sizeof(versions[0]); i++) {
		abi_version = versions[i];
		if (!rnp_abi_find_lib(&real, handle, abi_version, err, sizeof(err)))
			return 0;
	}
	return -1;
}

static int learn(struct rnp_abi *abi, char *err, size_t err_len)
{
	memset(abi, 0, sizeof(*abi));
	abi->lib = real;
	return rnp_abi_learn(abi, err, err_len);
}

static void installed_library_is_understood(void **state)
{
	struct rnp_abi abi;
	char err[256] = "";

	(void)state;
	if (learn(&abi, err, sizeof(err)))
		fail_msg("%s", err);
	assert_in_range(abi.op_count, 76, 83);
	assert_in_range(abi.context_size, 648, 696);
	assert_in_range(abi.qp_ex_len, 344, 360);
	for (unsigned op = 0; op < RNP_OP_COUNT; op++)
		if (abi.slot[op] != RNP_ABI_NO_SLOT)
			assert_in_range(abi.slot[op], 0, abi.op_count - 1);
}

static void slots_of_known_operations_count_up(void **state)
{
	struct rnp_abi abi;
	char err[256] = "";
	unsigned next = 0;

	(void)state;
	assert_int_equal(learn(&abi, err, sizeof(err)), 0);
	for (unsigned op = 0; op < RNP_OP_COUNT; op++)
		if (abi.slot[op] != RNP_ABI_NO_SLOT)
			assert_int_equal(abi.slot[op], next++);
	assert_int_equal(next, abi.op_count);
}

static void operation_names_are_alphabetical(void **state)
{
	(void)state;
	for (unsigned op = 1; op < RNP_OP_COUNT; op++)
		if (strcmp(rnp_abi_op_name(op - 1), rnp_abi_op_name(op)) >= 0)
			fail_msg("%s before %s", rnp_abi_op_name(op - 1),
				 rnp_abi_op_name(op));
}

static int poll_seven(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	(void)cq;
	(void)num_entries;
	(void)wc;
	return 7;
}

static void an_operation_reaches_the_public_struct(void **state)
{
	const struct rnp_abi_op op = { RNP_OP_poll_cq, (void (*)(void))poll_seven };
	struct rnp_abi_device device = { .refcount = 1 };
	void *table[RNP_ABI_SLOTS] = { NULL };
	struct ibv_context *context;
	struct rnp_abi abi;
	char err[256] = "";
	struct ibv_cq cq;
	char *block;

	(void)state;
	assert_int_equal(learn(&abi, err, sizeof(err)), 0);
	rnp_abi_fill_table(&abi, &op, 1, table);
	block = abi.lib.init_and_alloc_context(&device.device, -1, abi.context_size, NULL,
					       0);
	assert_non_null(block);
	context = (struct ibv_context *)(block + abi.context_size - sizeof(*context));
	abi.lib.set_ops(block, table);
	cq.context = context;
	assert_int_equal(ibv_poll_cq(&cq, 1, NULL), 7);
	abi.lib.uninit_context(block);
	free(block);
}

static void a_marked_qp_is_extended_and_an_unmarked_is_not(void **state)
{
	union rnp_abi_qp qp;
	struct rnp_abi abi;
	char err[256] = "";

	(void)state;
	assert_int_equal(learn(&abi, err, sizeof(err)), 0);
	memset(&qp, 0, sizeof(qp));
	assert_null(real.qp_to_qp_ex(&qp.qp));
	rnp_abi_mark_qp_ex(&abi, &qp);
	assert_ptr_equal(real.qp_to_qp_ex(&qp.qp), &qp.qp_ex);
}

static void an_unknown_version_has_no_functions(void **state)
{
	void *handle = dlopen("libibverbs.so.1", RTLD_LAZY);
	struct rnp_abi_lib lib;
	char err[256] = "";

	(void)state;
	assert_int_equal(rnp_abi_find_lib(&lib, handle, 9999, err, sizeof(err)), -ENOSYS);
	assert_string_equal(err, "libibverbs has no verbs_register_driver_9999");
}

/* ------------------------------------------------------------ libraries that differ */
static void set_ops_without_third(void *context, void *const *table)
{
	void *shorter[RNP_ABI_SLOTS];

	memcpy(shorter, table, sizeof(shorter));
	shorter[2] = NULL;
	real.set_ops(context, shorter);
}

static void set_ops_swapping_two(void *context, void *const *table)
{
	struct rnp_abi abi;
	char err[256];
	unsigned a, b;
	struct ibv_context *c;
	void *save;
	void **first, **second;

	if (learn(&abi, err, sizeof(err)))
		fail_msg("%s", err);
	real.set_ops(context, table);
	/* Two that stand beside each other in the public struct change places. */
	c = (struct ibv_context *)((char *)context + abi.context_size - sizeof(*c));
	a = offsetof(struct ibv_context, ops.poll_cq);
	b = offsetof(struct ibv_context, ops.req_notify_cq);
	first = (void **)((char *)c + a);
	second = (void **)((char *)c + b);
	save = *first;
	*first = *second;
	*second = save;
}

static void *init_with_another_size(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size, void *offset, uint32_t driver_id)
{
	char *block = real.init_and_alloc_context(device, cmd_fd, alloc_size, offset,
						  driver_id);

	/* Releases what the library would not find again; the size word is spoilt. */
	for (size_t at = 0; at + sizeof(size_t) <= 1024; at += sizeof(size_t)) {
		size_t word;

		memcpy(&word, block + at, sizeof(word));
		if (word == at + sizeof(size_t) + sizeof(struct ibv_context)) {
			real.uninit_context(block);
			memset(block + at, 0x55, sizeof(word));
			break;
		}
	}
	return block;
}

static void *init_counting_elsewhere(struct ibv_device *device, int cmd_fd,
				     size_t alloc_size, void *offset, uint32_t driver_id)
{
	void *block = real.init_and_alloc_context(device, cmd_fd, alloc_size, offset,
						  driver_id);

	((struct rnp_abi_device *)device)->refcount = 5;
	return block;
}

static struct ibv_qp_ex *never_extended(struct ibv_qp *qp)
{
	(void)qp;
	return NULL;
}

static void refused(const struct rnp_abi_lib *lib, const char *sentence)
{
	struct rnp_abi abi = { .lib = *lib };
	char err[256] = "";

	assert_int_equal(rnp_abi_learn(&abi, err, sizeof(err)), -EPROTO);
	assert_non_null(strstr(err, sentence));
}

static void a_table_of_unknown_length_is_refused(void **state)
{
	struct rnp_abi_lib lib = real;

	(void)state;
	lib.set_ops = set_ops_without_third;
	refused(&lib, "has 2 operations for drivers");
}

static void an_operation_at_another_place_is_refused(void **state)
{
	struct rnp_abi_lib lib = real;

	(void)state;
	lib.set_ops = set_ops_swapping_two;
	refused(&lib, "has poll_cq at an unknown place");
}

static void an_unknown_context_is_refused(void **state)
{
	struct rnp_abi_lib lib = real;

	(void)state;
	lib.init_and_alloc_context = init_with_another_size;
	refused(&lib, "struct verbs_context that is not known");
}

static void an_unknown_device_is_refused(void **state)
{
	struct rnp_abi_lib lib = real;

	(void)state;
	lib.init_and_alloc_context = init_counting_elsewhere;
	refused(&lib, "struct verbs_device that is not known");
}

static void an_unknown_qp_is_refused(void **state)
{
	struct rnp_abi_lib lib = real;

	(void)state;
	lib.qp_to_qp_ex = never_extended;
	refused(&lib, "struct verbs_qp that is not known");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(installed_library_is_understood),
		cmocka_unit_test(slots_of_known_operations_count_up),
		cmocka_unit_test(operation_names_are_alphabetical),
		cmocka_unit_test(an_operation_reaches_the_public_struct),
		cmocka_unit_test(a_marked_qp_is_extended_and_an_unmarked_is_not),
		cmocka_unit_test(an_unknown_version_has_no_functions),
		cmocka_unit_test(a_table_of_unknown_length_is_refused),
		cmocka_unit_test(an_operation_at_another_place_is_refused),
		cmocka_unit_test(an_unknown_context_is_refused),
		cmocka_unit_test(an_unknown_device_is_refused),
		cmocka_unit_test(an_unknown_qp_is_refused),
	};

	return cmocka_run_group_tests(tests, find_library, NULL);
}
