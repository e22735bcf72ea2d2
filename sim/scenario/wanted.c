/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wanted.c - the packet that a line expects, and in what another differs from it. */
#include "wanted.h"

#include "fields.h"

/* What `ack` means in an acknowledgement that is a NAK is an error; in a request it asks.
 * An acknowledgement that names no syndrome is an ACK.
 */
static rn_scn_set wanted_fields(const struct rn_scn_line *l)
{
	rn_scn_set fields = l->given & ~(RN_F_BIT(RN_F_OPTIONAL) | RN_F_BIT(RN_F_DATA) |
					 RN_F_BIT(RN_F_TO));
	rn_scn_set said =
		RN_F_BIT(RN_F_NAK) | RN_F_BIT(RN_F_RNR) | RN_F_BIT(RN_F_SYNDROME);

	fields |= RN_F_BIT(RN_F_LEN);
	if (rn_opcode_info[l->opcode].flags & RN_OP_AETH && !(fields & said))
		fields |= RN_F_BIT(RN_F_ACK);
	return fields;
}

static uint64_t wanted_value(const struct rn_scene_names *n, const struct rn_scn_line *l,
			     enum rn_scn_field f)
{
	if (!rn_scn_has(l, f))
		return f == RN_F_ACK; /* as above; len 0 */
	return rn_scene_value(n, l, f);
}

struct rn_scn_line rn_scene_wanted(const struct rn_scene_names *n,
				   const struct rn_scn_line *l)
{
	struct rn_scn_line want = *l;

	want.given = wanted_fields(l);
	for (unsigned i = 0; i < RN_F_COUNT; i++)
		want.value[i] = wanted_value(n, l, (enum rn_scn_field)i);
	return want;
}

const char *rn_scene_difference(const struct rn_scn_line *want,
				const struct rn_scn_line *came)
{
	for (unsigned i = 0; i < RN_F_COUNT; i++) {
		bool flag = rn_scn_fields[i].form == RN_SCN_FLAG;

		if (want->given & RN_F_BIT(i) && (came->value[i] != want->value[i] ||
						  !(flag || came->given & RN_F_BIT(i))))
			return rn_scn_fields[i].name;
	}
	return NULL;
}
