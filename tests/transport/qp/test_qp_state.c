/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_qp_state.c - every legal and illegal modify call, against a second list. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "transport/qp/qp.h"

static_assert((int)RN_QPT_RC == IBV_QPT_RC, "");
static_assert((int)RN_QPT_UC == IBV_QPT_UC, "");
static_assert((int)RN_QPT_UD == IBV_QPT_UD, "");
static_assert((int)RN_QPT_RAW_PACKET == IBV_QPT_RAW_PACKET, "");
static_assert((int)RN_QPT_XRC_SEND == IBV_QPT_XRC_SEND, "");
static_assert((int)RN_QPT_XRC_RECV == IBV_QPT_XRC_RECV, "");
static_assert((int)RN_QPS_RESET == IBV_QPS_RESET, "");
static_assert((int)RN_QPS_INIT == IBV_QPS_INIT, "");
static_assert((int)RN_QPS_RTR == IBV_QPS_RTR, "");
static_assert((int)RN_QPS_RTS == IBV_QPS_RTS, "");
static_assert((int)RN_QPS_SQD == IBV_QPS_SQD, "");
static_assert((int)RN_QPS_SQE == IBV_QPS_SQE, "");
static_assert((int)RN_QPS_ERR == IBV_QPS_ERR, "");

/* Abbreviations of the list below, with the bit that verbs gives them. */
static const struct {
	const char *name;
	uint32_t verbs, ours;
} attrs[] = {
	{ "ST", IBV_QP_STATE, RN_ATTR_STATE },
	{ "CS", IBV_QP_CUR_STATE, RN_ATTR_CUR_STATE },
	{ "EN", IBV_QP_EN_SQD_ASYNC_NOTIFY, RN_ATTR_EN_SQD_ASYNC_NOTIFY },
	{ "AC", IBV_QP_ACCESS_FLAGS, RN_ATTR_ACCESS_FLAGS },
	{ "PK", IBV_QP_PKEY_INDEX, RN_ATTR_PKEY_INDEX },
	{ "PO", IBV_QP_PORT, RN_ATTR_PORT },
	{ "QK", IBV_QP_QKEY, RN_ATTR_QKEY },
	{ "AV", IBV_QP_AV, RN_ATTR_AV },
	{ "MT", IBV_QP_PATH_MTU, RN_ATTR_PATH_MTU },
	{ "TO", IBV_QP_TIMEOUT, RN_ATTR_TIMEOUT },
	{ "RC", IBV_QP_RETRY_CNT, RN_ATTR_RETRY_CNT },
	{ "RR", IBV_QP_RNR_RETRY, RN_ATTR_RNR_RETRY },
	{ "RQ", IBV_QP_RQ_PSN, RN_ATTR_RQ_PSN },
	{ "MI", IBV_QP_MAX_QP_RD_ATOMIC, RN_ATTR_MAX_RD_ATOMIC },
	{ "AL", IBV_QP_ALT_PATH, RN_ATTR_ALT_PATH },
	{ "MR", IBV_QP_MIN_RNR_TIMER, RN_ATTR_MIN_RNR_TIMER },
	{ "SQ", IBV_QP_SQ_PSN, RN_ATTR_SQ_PSN },
	{ "MD", IBV_QP_MAX_DEST_RD_ATOMIC, RN_ATTR_MAX_DEST_RD_ATOMIC },
	{ "PM", IBV_QP_PATH_MIG_STATE, RN_ATTR_PATH_MIG_STATE },
	{ "CA", IBV_QP_CAP, RN_ATTR_CAP },
	{ "DQ", IBV_QP_DEST_QPN, RN_ATTR_DEST_QPN },
	{ "RL", IBV_QP_RATE_LIMIT, RN_ATTR_RATE_LIMIT },
};

static uint32_t mask_of(const char *text)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < RN_ARRAY_SIZE(attrs); i++)
		if (strstr(text, attrs[i].name))
			mask |= attrs[i].verbs;
	return mask;
}

/* Beside "any to RESET" and "any but RESET to ERR", which need and take nothing. */
static const struct line {
	enum rn_qp_type type;
	enum rn_qp_state from, to;
	const char *required, *optional;
} lines[] = {
#define R RN_QPS_RESET
#define I RN_QPS_INIT
#define TR RN_QPS_RTR
#define TS RN_QPS_RTS
#define D RN_QPS_SQD
#define E RN_QPS_SQE
	{ RN_QPT_RC, R, I, "PK PO AC", "" },
	{ RN_QPT_RC, I, I, "", "PK PO AC" },
	{ RN_QPT_RC, I, TR, "AV MT DQ RQ MD MR", "AL AC PK" },
	{ RN_QPT_RC, TR, TS, "TO RC RR SQ MI", "CS AL AC MR PM RL" },
	{ RN_QPT_RC, TS, TS, "", "CS AC AL PM MR RL" },
	{ RN_QPT_RC, TS, D, "", "EN" },
	{ RN_QPT_RC, D, TS, "", "CS AL AC MR PM" },
	{ RN_QPT_RC, D, D, "", "PO AV TO RC RR MI MD AL AC PK MR PM" },

	{ RN_QPT_UC, R, I, "PK PO AC", "" },
	{ RN_QPT_UC, I, I, "", "PK PO AC" },
	{ RN_QPT_UC, I, TR, "AV MT DQ RQ", "AL AC PK" },
	{ RN_QPT_UC, TR, TS, "SQ", "CS AL AC PM RL" },
	{ RN_QPT_UC, TS, TS, "", "CS AC AL PM RL" },
	{ RN_QPT_UC, TS, D, "", "EN" },
	{ RN_QPT_UC, D, TS, "", "CS AL AC PM" },
	{ RN_QPT_UC, D, D, "", "AV AL AC PK PM" },
	{ RN_QPT_UC, E, TS, "", "CS AC" },

	{ RN_QPT_UD, R, I, "PK PO QK", "" },
	{ RN_QPT_UD, I, I, "", "PK PO QK" },
	{ RN_QPT_UD, I, TR, "", "PK QK" },
	{ RN_QPT_UD, TR, TS, "SQ", "CS QK RL" },
	{ RN_QPT_UD, TS, TS, "", "CS QK RL" },
	{ RN_QPT_UD, TS, D, "", "EN" },
	{ RN_QPT_UD, D, TS, "", "CS QK" },
	{ RN_QPT_UD, D, D, "", "PK QK" },
	{ RN_QPT_UD, E, TS, "", "CS QK" },

	{ RN_QPT_GSI, R, I, "PK QK", "" },
	{ RN_QPT_GSI, I, I, "", "PK QK" },
	{ RN_QPT_GSI, I, TR, "", "PK QK" },
	{ RN_QPT_GSI, TR, TS, "SQ", "CS QK" },
	{ RN_QPT_GSI, TS, TS, "", "CS QK" },
	{ RN_QPT_GSI, TS, D, "", "EN" },
	{ RN_QPT_GSI, D, TS, "", "CS QK" },
	{ RN_QPT_GSI, D, D, "", "PK QK" },
	{ RN_QPT_GSI, E, TS, "", "CS QK" },

	{ RN_QPT_XRC_SEND, R, I, "PK PO AC", "" },
	{ RN_QPT_XRC_SEND, I, I, "", "PK PO AC" },
	{ RN_QPT_XRC_SEND, I, TR, "AV MT DQ RQ", "AL AC PK" },
	{ RN_QPT_XRC_SEND, TR, TS, "TO RC RR SQ MI", "CS AL AC PM" },
	{ RN_QPT_XRC_SEND, TS, TS, "", "CS AC AL PM" },
	{ RN_QPT_XRC_SEND, TS, D, "", "EN" },
	{ RN_QPT_XRC_SEND, D, TS, "", "CS AL AC PM" },
	{ RN_QPT_XRC_SEND, D, D, "", "PO AV TO RC RR MI AL AC PK PM" },

	{ RN_QPT_XRC_RECV, R, I, "PK PO AC", "" },
	{ RN_QPT_XRC_RECV, I, I, "", "PK PO AC" },
	{ RN_QPT_XRC_RECV, I, TR, "AV MT DQ RQ MD MR", "AL AC PK" },
	{ RN_QPT_XRC_RECV, TR, TS, "TO SQ", "CS AL AC MR PM" },
	{ RN_QPT_XRC_RECV, TS, TS, "", "CS AC AL PM MR" },
	{ RN_QPT_XRC_RECV, TS, D, "", "EN" },
	{ RN_QPT_XRC_RECV, D, TS, "", "CS AL AC MR PM" },
	{ RN_QPT_XRC_RECV, D, D, "", "PO AV TO MD AL AC PK MR PM" },

	{ RN_QPT_RAW_PACKET, R, I, "PO", "" },
	{ RN_QPT_RAW_PACKET, I, I, "", "" },
	{ RN_QPT_RAW_PACKET, I, TR, "", "" },
	{ RN_QPT_RAW_PACKET, TR, TS, "", "" },
	{ RN_QPT_RAW_PACKET, TS, TS, "", "" },
	{ RN_QPT_RAW_PACKET, TS, D, "", "" },
	{ RN_QPT_RAW_PACKET, D, TS, "", "" },
	{ RN_QPT_RAW_PACKET, D, D, "", "" },
	{ RN_QPT_RAW_PACKET, E, TS, "", "" },
};

static const enum rn_qp_type types[] = { RN_QPT_RC,	   RN_QPT_UC,
					 RN_QPT_UD,	   RN_QPT_GSI,
					 RN_QPT_XRC_SEND,  RN_QPT_XRC_RECV,
					 RN_QPT_RAW_PACKET };

/* The line for a transition; NULL if there is none. */
static const struct line *find_line(enum rn_qp_type type, enum rn_qp_state from,
				    enum rn_qp_state to)
{
	static const struct line bare = { .required = "", .optional = "" };

	if (to == RN_QPS_RESET || (to == RN_QPS_ERR && from != RN_QPS_RESET))
		return &bare;
	for (size_t i = 0; i < RN_ARRAY_SIZE(lines); i++)
		if (lines[i].type == type && lines[i].from == from && lines[i].to == to)
			return &lines[i];
	return NULL;
}

static void check_one(const struct line *line, enum rn_qp_type type,
		      enum rn_qp_state from, enum rn_qp_state to)
{
	uint32_t required = mask_of(line->required);
	uint32_t allowed = required | mask_of(line->optional) | IBV_QP_STATE;

	/* All sets of the attributes 1..20 of verbs, half of them with IBV_QP_STATE. */
	for (uint32_t n = 0; n < 1u << 20; n++) {
		uint32_t set = n << 1 | (uint32_t)__builtin_parity(n);
		int want =
			(set & required) == required && !(set & ~allowed) ? 0 : -EINVAL;
		int got = rn_qp_modify_check(type, from, to, set);

		if (got != want)
			fail_msg("%s %s to %s, attributes 0x%x: %d, want %d",
				 rn_qp_type_name(type), rn_qp_state_name(from),
				 rn_qp_state_name(to), set, got, want);
	}
	for (uint32_t bit = 21; bit < 32; bit++)
		assert_int_equal(rn_qp_modify_check(type, from, to, required | 1u << bit),
				 allowed & 1u << bit ? 0 : -EINVAL);
}

static void check_type(enum rn_qp_type type)
{
	for (int from = 0; from < RN_QPS_COUNT; from++) {
		for (int to = 0; to < RN_QPS_COUNT; to++) {
			const struct line *line = find_line(type, (enum rn_qp_state)from,
							    (enum rn_qp_state)to);

			/* Bare ones once per type is enough of the long walk. */
			if (line && (to != RN_QPS_RESET || from == RN_QPS_RTS) &&
			    (to != RN_QPS_ERR || from == RN_QPS_RTS))
				check_one(line, type, (enum rn_qp_state)from,
					  (enum rn_qp_state)to);
		}
	}
}

static void rc_takes_exactly_the_listed_attribute_sets(void **state)
{
	(void)state;
	check_type(RN_QPT_RC);
}

static void uc_takes_exactly_the_listed_attribute_sets(void **state)
{
	(void)state;
	check_type(RN_QPT_UC);
}

static void ud_and_gsi_take_exactly_the_listed_attribute_sets(void **state)
{
	(void)state;
	check_type(RN_QPT_UD);
	check_type(RN_QPT_GSI);
}

static void xrc_takes_exactly_the_listed_attribute_sets(void **state)
{
	(void)state;
	check_type(RN_QPT_XRC_SEND);
	check_type(RN_QPT_XRC_RECV);
}

static void raw_packet_takes_the_port_and_nothing_else(void **state)
{
	(void)state;
	check_type(RN_QPT_RAW_PACKET);
}

static void check_refused(enum rn_qp_type type, enum rn_qp_state from,
			  enum rn_qp_state to)
{
	assert_int_equal(rn_qp_modify_check(type, from, to, 0), -EINVAL);
	for (uint32_t bit = 0; bit < 32; bit++)
		assert_int_equal(rn_qp_modify_check(type, from, to, 1u << bit), -EINVAL);
	assert_int_equal(rn_qp_modify_check(type, from, to, UINT32_MAX), -EINVAL);
}

static void transitions_not_listed_are_refused_and_all_others_have_a_way(void **state)
{
	(void)state;
	for (size_t t = 0; t < RN_ARRAY_SIZE(types); t++) {
		for (int i = 0; i < RN_QPS_COUNT * RN_QPS_COUNT; i++) {
			enum rn_qp_state from = (enum rn_qp_state)(i / RN_QPS_COUNT);
			enum rn_qp_state to = (enum rn_qp_state)(i % RN_QPS_COUNT);
			const struct line *line = find_line(types[t], from, to);

			if (!line) {
				check_refused(types[t], from, to);
				continue;
			}
			assert_int_equal(rn_qp_modify_check(
						 types[t], from, to,
						 IBV_QP_STATE | mask_of(line->required)),
					 0);
		}
	}
}

static void reset_does_not_go_to_err(void **state)
{
	(void)state;
	for (size_t t = 0; t < RN_ARRAY_SIZE(types); t++)
		assert_int_equal(rn_qp_modify_check(types[t], RN_QPS_RESET, RN_QPS_ERR,
						    RN_ATTR_STATE),
				 -EINVAL);
}

/* What a program puts into ibv_qp_attr reaches the check as it is. */
static void numbers_outside_of_the_enumerations_are_refused(void **state)
{
	(void)state;
	for (int n = -1; n <= 12; n++) {
		if (n < 0 || n >= RN_QPS_COUNT)
			assert_int_equal(rn_qp_modify_check(RN_QPT_RC, RN_QPS_RTS,
							    (enum rn_qp_state)n,
							    RN_ATTR_STATE),
					 -EINVAL);
		if (n < 1 || (n > 4 && n < 8) || n > 10)
			assert_int_equal(rn_qp_modify_check((enum rn_qp_type)n,
							    RN_QPS_RTS, RN_QPS_RESET,
							    RN_ATTR_STATE),
					 -EINVAL);
	}
}

static void attribute_bits_are_those_of_verbs(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(attrs); i++)
		assert_int_equal(attrs[i].ours, attrs[i].verbs);
}

static void states_and_types_have_names(void **state)
{
	(void)state;
	assert_string_equal(rn_qp_state_name(RN_QPS_RESET), "RESET");
	assert_string_equal(rn_qp_state_name(RN_QPS_SQD), "SQD");
	assert_string_equal(rn_qp_state_name(RN_QPS_ERR), "ERR");
	assert_string_equal(rn_qp_state_name(RN_QPS_COUNT), "?");
	assert_string_equal(rn_qp_type_name(RN_QPT_RC), "RC");
	assert_string_equal(rn_qp_type_name(RN_QPT_XRC_RECV), "XRC_RECV");
	assert_string_equal(rn_qp_type_name(RN_QPT_RAW_PACKET), "RAW_PACKET");
	assert_string_equal(rn_qp_type_name((enum rn_qp_type)0), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_takes_exactly_the_listed_attribute_sets),
		cmocka_unit_test(uc_takes_exactly_the_listed_attribute_sets),
		cmocka_unit_test(ud_and_gsi_take_exactly_the_listed_attribute_sets),
		cmocka_unit_test(xrc_takes_exactly_the_listed_attribute_sets),
		cmocka_unit_test(raw_packet_takes_the_port_and_nothing_else),
		cmocka_unit_test(
			transitions_not_listed_are_refused_and_all_others_have_a_way),
		cmocka_unit_test(reset_does_not_go_to_err),
		cmocka_unit_test(numbers_outside_of_the_enumerations_are_refused),
		cmocka_unit_test(attribute_bits_are_those_of_verbs),
		cmocka_unit_test(states_and_types_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
