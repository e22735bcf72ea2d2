/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_wr_place.c - the calls that only some releases of the library have a place for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "provider/verbs/place.h"
#include "provider/verbs/wr.h"

/* struct ibv_qp_ex of releases 36, 44 and 45, bytes. */
enum {
	LEN_36 = 344,
	LEN_44 = 352,
	LEN_45 = 360,
};

typedef void flush_fn(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		      size_t len, uint8_t type, uint8_t level);

/* In place of wr.c. */
static struct {
	struct rn_send_wr wr;
	uint8_t bytes[16];
	size_t len;
	int err;
	bool broken;
} begun;

struct rn_send_wr *rnp_wr_begin(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
				uint32_t rkey, uint64_t remote_addr)
{
	(void)ex;
	if (begun.broken)
		return NULL;
	begun.wr = (struct rn_send_wr){ .opcode = opcode,
					.rkey = rkey,
					.remote_addr = remote_addr };
	return &begun.wr;
}

void rnp_wr_inline(struct ibv_qp_ex *ex, const void *data, size_t len)
{
	(void)ex;
	assert_true(len <= sizeof(begun.bytes));
	memcpy(begun.bytes, data, len);
	begun.len = len;
}

void rnp_wr_fail(struct ibv_qp_ex *ex, int err)
{
	(void)ex;
	begun.err = err;
}

static int set_up(void **state)
{
	(void)state;
	memset(&begun, 0, sizeof(begun));
	return 0;
}

static void a_release_has_what_fits_its_struct(void **state)
{
	static const struct {
		unsigned len;
		uint64_t ops;
	} rows[] = {
		{ LEN_36, 0 },
		{ LEN_44, IBV_QP_EX_WITH_ATOMIC_WRITE },
		{ LEN_45, IBV_QP_EX_WITH_ATOMIC_WRITE | RNP_QP_EX_WITH_FLUSH },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		const struct rnp_library library = { .qp_ex_len = rows[i].len };

		assert_int_equal(rnp_wr_place_ops(&library), rows[i].ops);
	}
}

/* What follows the struct is the library's. */
static void nothing_is_written_that_was_not_asked_for(void **state)
{
	static const union rnp_abi_qp empty;
	union rnp_abi_qp qp;

	(void)state;
	memset(&qp, 0, sizeof(qp));
	rnp_wr_init_place(&qp, IBV_QP_EX_WITH_SEND);
	assert_memory_equal(&qp, &empty, sizeof(qp));
	rnp_wr_init_place(&qp, IBV_QP_EX_WITH_ATOMIC_WRITE);
	assert_memory_equal(qp.room + LEN_44, empty.room, sizeof(qp) - LEN_44);
	assert_non_null(qp.qp_ex.wr_atomic_write);
}

static void an_atomic_write_takes_8_bytes_at_the_call(void **state)
{
	union rnp_abi_qp qp;

	(void)state;
	memset(&qp, 0, sizeof(qp));
	rnp_wr_init_place(&qp, IBV_QP_EX_WITH_ATOMIC_WRITE);
	qp.qp_ex.wr_atomic_write(&qp.qp_ex, 1, 2, "01234567");
	assert_int_equal(begun.wr.opcode, RN_WR_ATOMIC_WRITE);
	assert_int_equal(begun.wr.rkey, 1);
	assert_int_equal(begun.wr.remote_addr, 2);
	assert_int_equal(begun.len, 8);
	assert_memory_equal(begun.bytes, "01234567", 8);
}

static void a_flush_stands_behind_the_atomic_write(void **state)
{
	union rnp_abi_qp qp;
	flush_fn *flush;

	(void)state;
	memset(&qp, 0, sizeof(qp));
	rnp_wr_init_place(&qp, RNP_QP_EX_WITH_FLUSH);
	memcpy(&flush, qp.room + LEN_44, sizeof(flush));
	flush(&qp.qp_ex, 1, 2, 3, 1, 1);
	assert_int_equal(begun.wr.opcode, RN_WR_FLUSH);
	assert_int_equal(begun.wr.rkey, 1);
	assert_int_equal(begun.wr.remote_addr, 2);
	assert_int_equal(begun.wr.flush_length, 3);
	assert_int_equal(begun.wr.flush_placement, 1);
	assert_int_equal(begun.wr.flush_selectivity, 1);
	assert_int_equal(begun.err, 0);

	flush(&qp.qp_ex, 1, 2, (size_t)UINT32_MAX + 1, 1, 0);
	assert_int_equal(begun.err, EINVAL);
	begun.broken = true; /* nothing is touched any more */
	flush(&qp.qp_ex, 1, 2, 3, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_release_has_what_fits_its_struct, set_up),
		cmocka_unit_test_setup(nothing_is_written_that_was_not_asked_for, set_up),
		cmocka_unit_test_setup(an_atomic_write_takes_8_bytes_at_the_call, set_up),
		cmocka_unit_test_setup(a_flush_stands_behind_the_atomic_write, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
