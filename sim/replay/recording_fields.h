/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording_fields.h - what a record of each kind consists of; used by recording.c. */
#ifndef RN_RECORDING_FIELDS_H
#define RN_RECORDING_FIELDS_H

#include "recording.h"

struct rn_rec_kind_info {
	const char *name;
	enum rn_rec_class class;
	bool has_now, has_id;
	void (*visit)(struct rn_visit *v, struct rn_rec *rec); /* or NULL */
};

extern const struct rn_rec_kind_info rn_rec_kinds[RN_REC_KINDS];

#endif /* RN_RECORDING_FIELDS_H */
