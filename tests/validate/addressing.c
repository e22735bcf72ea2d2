/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* addressing.c - cases of the category addressing. */
#include "cases.h"

static void address_by_lid(struct kit *k)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };

	assert_null(ibv_create_ah(k->pd, &attr));
}

static void address_by_gid(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &attr);

	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static const struct val_case cases[] = {
	{ "addressing/no-grh", address_by_lid, address_by_gid, false },
};
const struct val_cases addressing_cases = VAL_CASES(cases);
