/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_driver_abi.c - the plugin finds out the layout of the installed libibverbs, and
 * refuses a library that does not fit.
 *
 * The tests use the installed library. To simulate another one, they wrap the functions
 * by which the plugin calls it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "provider/abi/driver_abi.h"

static struct rnp_abi_lib real;
static unsigned abi_version;

static int find_library(void **state)
{
	static const unsigned versions[] = { 34, 57, 59, 64, 65 };
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
	assert_in_range(abi.context_size, 648, 704);
	assert_in_range(abi.qp_ex_len, 344, 360);
}

/* The plugin must find the table of the known releases: it is in alphabetical order, has
 * 76 operations or more, and includes all operations that the plugin knows.
 */
static void slots_of_operations_count_up(void **state)
{
	struct rnp_abi abi;
	char err[256] = "";
	unsigned next = 0;

	(void)state;
	assert_int_equal(learn(&abi, err, sizeof(err)), 0);
	for (unsigned op = 0; op < RNP_OP_COUNT; op++)
		if (abi.slot[op] != RNP_ABI_NO_SLOT)
			assert_int_equal(abi.slot[op], next++);
	assert_in_range(next, 76, RNP_OP_COUNT);
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

/* ------------------------------------------------------ libraries of other releases */
/* Simulates a library that has one more operation, which the plugin does not know, before
 * the operation in slot @from. So the operations from this slot on are one slot later.
 */
static unsigned from;

static void set_ops_with_one_more(void *context, void *const *table)
{
	void *rest[RNP_ABI_SLOTS] = { NULL };

	memcpy(rest, table, from * sizeof(*table));
	memcpy(rest + from, table + from + 1,
	       (RNP_ABI_SLOTS - from - 1) * sizeof(*table));
	real.set_ops(context, rest);
}

static void an_operation_more_moves_those_behind_it(void **state)
{
	struct rnp_abi abi, shifted = { .lib = real };
	char err[256] = "";

	(void)state;
	assert_int_equal(learn(&abi, err, sizeof(err)), 0);
	shifted.lib.set_ops = set_ops_with_one_more;
	for (from = 0; from < 80; from++) {
		if (rnp_abi_learn(&shifted, err, sizeof(err)))
			fail_msg("%s", err);
		for (unsigned op = 0; op < RNP_OP_COUNT; op++)
			if (abi.slot[op] != RNP_ABI_NO_SLOT)
				assert_int_equal(shifted.slot[op],
						 abi.slot[op] + (abi.slot[op] >= from));
	}
}

/* Simulates a library that lacks the operation in slot @from. */
static void set_ops_without_one(void *context, void *const *table)
{
	void *fewer[RNP_ABI_SLOTS];

	memcpy(fewer, table, sizeof(fewer));
	fewer[from] = NULL;
	real.set_ops(context, fewer);
}

static void an_operation_that_is_not_there_gets_no_slot(void **state)
{
	struct rnp_abi abi, fewer = { .lib = real };
	char err[256] = "";

	(void)state;
	assert_int_equal(learn(&abi, err, sizeof(err)), 0);
	from = abi.slot[RNP_OP_import_mr];
	fewer.lib.set_ops = set_ops_without_one;
	assert_int_equal(rnp_abi_learn(&fewer, err, sizeof(err)), 0);
	for (unsigned op = 0; op < RNP_OP_COUNT; op++)
		assert_int_equal(fewer.slot[op],
				 op == RNP_OP_import_mr ? RNP_ABI_NO_SLOT : abi.slot[op]);
}

/* ------------------------------------------------------------ libraries that differ */
/* Simulates a library in which two neighbouring operations of the public struct are the
 * same.
 */
static void set_ops_doubling_one(void *context, void *const *table)
{
	struct rnp_abi abi;
	char err[256];
	struct ibv_context *c;

	if (learn(&abi, err, sizeof(err)))
		fail_msg("%s", err);
	real.set_ops(context, table);
	c = (struct ibv_context *)((char *)context + abi.context_size - sizeof(*c));
	memcpy(&c->ops.req_notify_cq, &c->ops.poll_cq, sizeof(c->ops.poll_cq));
}

static void *init_with_another_size(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size, void *offset, uint32_t driver_id)
{
	char *block = real.init_and_alloc_context(device, cmd_fd, alloc_size, offset,
						  driver_id);

	/* Frees the memory that the library could not find any more, because the word
	 * with its size was overwritten.
	 */
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

/* The plugin must refuse a library that lacks an operation which a device needs. Some of
 * these operations are in public structs, others are found by a call.
 */
static void a_missing_operation_is_refused(void **state)
{
	static const enum rnp_op needed[] = { RNP_OP_poll_cq, RNP_OP_create_qp_ex,
					      RNP_OP_query_port, RNP_OP_free_context };
	struct rnp_abi_lib lib = real;
	struct rnp_abi abi;
	char err[256] = "", sentence[80];

	(void)state;
	assert_int_equal(learn(&abi, err, sizeof(err)), 0);
	lib.set_ops = set_ops_without_one;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		from = abi.slot[needed[i]];
		snprintf(sentence, sizeof(sentence), "does not show its operation %s",
			 rnp_abi_op_name(needed[i]));
		refused(&lib, sentence);
	}
}

static void two_operations_in_one_place_are_refused(void **state)
{
	struct rnp_abi_lib lib = real;

	(void)state;
	lib.set_ops = set_ops_doubling_one;
	refused(&lib, "the operations poll_cq and req_notify_cq in one place");
}

/* Simulates a library whose copy of the operations may have more entries than the
 * plugin's tables: it would read past the end of a table.
 */
static void *init_with_long_table(struct ibv_device *device, int cmd_fd,
				  size_t alloc_size, void *offset, uint32_t driver_id)
{
	struct verbs_context *context;
	struct rnp_abi abi;
	char err[256];
	char *block;

	if (learn(&abi, err, sizeof(err)))
		fail_msg("%s", err);
	block = real.init_and_alloc_context(device, cmd_fd, alloc_size, offset,
					    driver_id);
	context = (struct verbs_context *)(block + abi.context_size - sizeof(*context));
	context->priv = realloc(context->priv, (RNP_ABI_SLOTS + 8) * sizeof(void *));
	assert_non_null(context->priv);
	return block;
}

static void a_table_that_may_be_longer_is_refused(void **state)
{
	struct rnp_abi_lib lib = real;

	(void)state;
	lib.init_and_alloc_context = init_with_long_table;
	refused(&lib, "has room for more than 255 operations");
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
		cmocka_unit_test(slots_of_operations_count_up),
		cmocka_unit_test(operation_names_are_alphabetical),
		cmocka_unit_test(an_operation_reaches_the_public_struct),
		cmocka_unit_test(a_marked_qp_is_extended_and_an_unmarked_is_not),
		cmocka_unit_test(an_unknown_version_has_no_functions),
		cmocka_unit_test(an_operation_more_moves_those_behind_it),
		cmocka_unit_test(an_operation_that_is_not_there_gets_no_slot),
		cmocka_unit_test(a_missing_operation_is_refused),
		cmocka_unit_test(two_operations_in_one_place_are_refused),
		cmocka_unit_test(a_table_that_may_be_longer_is_refused),
		cmocka_unit_test(an_unknown_context_is_refused),
		cmocka_unit_test(an_unknown_device_is_refused),
		cmocka_unit_test(an_unknown_qp_is_refused),
	};

	return cmocka_run_group_tests(tests, find_library, NULL);
}
