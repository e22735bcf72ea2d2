/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_wr.c - the calls that only some releases of the library have a place for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "provider/verbs/object/library.h"
#include "provider/verbs/object/provider.h"
#include "provider/verbs/queue/post.h"
#include "provider/verbs/queue/qp.h"

/* struct ibv_qp_ex of releases 36, 44 and 45, bytes. */
enum {
	LEN_36 = 344,
	LEN_44 = 352,
	LEN_45 = 360,
};

typedef void flush_fn(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		      size_t len, uint8_t type, uint8_t level);

static struct rnp_library library;
static struct rnp_context ctx;
static struct rnp_qp qp;
static unsigned marked; /* queue pairs that are extended ones to the library */

static void mark(union rnp_abi_qp *base)
{
	assert_ptr_equal(base, &qp.base);
	marked++;
}

static int set_up(void **state)
{
	(void)state;
	library = (struct rnp_library){ .qp_ex_len = LEN_45, .mark_qp_ex = mark };
	ctx.library = &library;
	memset(&qp, 0, sizeof(qp));
	qp.ctx = &ctx;
	qp.base.qp.qp_type = IBV_QPT_RC;
	marked = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rnp_wr_fini(&qp);
	return 0;
}

/* The request that was begun last. */
static const struct rnp_wr_entry *last(void)
{
	const struct rnp_wr_entry *entry = qp.wr->entries.item;

	assert_true(qp.wr->entries.count > 0);
	return &entry[qp.wr->entries.count - 1];
}

static void a_release_has_what_fits_its_struct(void **state)
{
	static const struct {
		unsigned len;
		uint64_t ops;
		int rc;
	} rows[] = {
		{ LEN_36, IBV_QP_EX_WITH_SEND, 0 },
		{ LEN_36, IBV_QP_EX_WITH_ATOMIC_WRITE, EOPNOTSUPP },
		{ LEN_36, RNP_QP_EX_WITH_FLUSH, EOPNOTSUPP },
		{ LEN_44, IBV_QP_EX_WITH_ATOMIC_WRITE, 0 },
		{ LEN_44, RNP_QP_EX_WITH_FLUSH, EOPNOTSUPP },
		{ LEN_45, IBV_QP_EX_WITH_ATOMIC_WRITE | RNP_QP_EX_WITH_FLUSH, 0 },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		library.qp_ex_len = rows[i].len;
		assert_int_equal(rnp_wr_init(&qp, rows[i].ops), rows[i].rc);
		assert_int_equal(marked, !rows[i].rc);
		rnp_wr_fini(&qp);
		qp.wr = NULL;
		marked = 0;
	}
}

/* What follows the struct is the library's. */
static void nothing_is_written_that_was_not_asked_for(void **state)
{
	static const union rnp_abi_qp empty;

	(void)state;
	library.qp_ex_len = LEN_44;
	assert_int_equal(rnp_wr_init(&qp, IBV_QP_EX_WITH_SEND), 0);
	assert_null(qp.base.qp_ex.wr_atomic_write);
	assert_memory_equal(qp.base.room + LEN_44, empty.room, sizeof(empty) - LEN_44);
	rnp_wr_fini(&qp);
	assert_int_equal(rnp_wr_init(&qp, IBV_QP_EX_WITH_ATOMIC_WRITE), 0);
	assert_non_null(qp.base.qp_ex.wr_atomic_write);
	assert_memory_equal(qp.base.room + LEN_44, empty.room, sizeof(empty) - LEN_44);
}

static void an_atomic_write_takes_8_bytes_at_the_call(void **state)
{
	char bytes[] = "01234567";

	(void)state;
	assert_int_equal(rnp_wr_init(&qp, IBV_QP_EX_WITH_ATOMIC_WRITE), 0);
	qp.base.qp_ex.wr_atomic_write(&qp.base.qp_ex, 1, 2, bytes);
	bytes[0] = 'x';
	assert_int_equal(last()->wr.opcode, RN_WR_ATOMIC_WRITE);
	assert_int_equal(last()->wr.rkey, 1);
	assert_int_equal(last()->wr.remote_addr, 2);
	assert_true(last()->wr.flags & RN_SEND_INLINE);
	assert_int_equal(last()->inline_len, 8);
	assert_memory_equal((char *)qp.wr->bytes.item + last()->inline_at, "01234567", 8);
}

static void a_flush_stands_behind_the_atomic_write(void **state)
{
	flush_fn *flush;

	(void)state;
	assert_int_equal(rnp_wr_init(&qp, RNP_QP_EX_WITH_FLUSH), 0);
	memcpy(&flush, qp.base.room + LEN_44, sizeof(flush));
	flush(&qp.base.qp_ex, 1, 2, 3, 1, 1);
	assert_int_equal(last()->wr.opcode, RN_WR_FLUSH);
	assert_int_equal(last()->wr.rkey, 1);
	assert_int_equal(last()->wr.remote_addr, 2);
	assert_int_equal(last()->wr.flush_length, 3);
	assert_int_equal(last()->wr.flush_placement, 1);
	assert_int_equal(last()->wr.flush_selectivity, 1);
	assert_int_equal(qp.wr->err, 0);

	flush(&qp.base.qp_ex, 1, 2, (size_t)UINT32_MAX + 1, 1, 0);
	assert_int_equal(qp.wr->err, EINVAL);
	flush(&qp.base.qp_ex, 1, 2, 3, 1, 0); /* nothing is begun any more */
	assert_int_equal(qp.wr->entries.count, 2);
}

/* The end of a queue pair that the program knows, while a thread is between the begin and
 * the completion of requests: they stay until that thread has done with them.
 */
static void requests_that_are_being_built_outlive_their_queue_pair(void **state)
{
	(void)state;
	assert_int_equal(rnp_wr_init(&qp, IBV_QP_EX_WITH_SEND), 0);
	qp.handle.was_named = true;
	rnp_use_lock_take(&qp.wr->lock); /* as ibv_wr_start() */
	qp.base.qp_ex.wr_send(&qp.base.qp_ex);
	rnp_wr_fini(&qp);
	assert_int_equal(last()->wr.opcode, RN_WR_SEND);
	rnp_use_lock_give(&qp.wr->lock);
	rnp_wr_fini(&qp);
	assert_null(qp.wr->entries.item);
	qp.handle.was_named = false; /* nobody knows it any more */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_release_has_what_fits_its_struct),
		TEST(nothing_is_written_that_was_not_asked_for),
		TEST(an_atomic_write_takes_8_bytes_at_the_call),
		TEST(a_flush_stands_behind_the_atomic_write),
		TEST(requests_that_are_being_built_outlive_their_queue_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
