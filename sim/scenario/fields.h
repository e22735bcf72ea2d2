/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields.h - the words of the scenario language, as tables. */
#ifndef RN_FIELDS_H
#define RN_FIELDS_H

#include "scenario.h"

struct rn_scn_word {
	const char *word;
	uint64_t value;
};

/* How the value of a field is written. */
enum rn_scn_form {
	RN_SCN_NUMBER,	 /* decimal or 0x */
	RN_SCN_ADDRESS,	 /* REGION+OFFSET, REGION, or a number */
	RN_SCN_REGION,	 /* the key of a region, REGION or REGION^BITS, or a number */
	RN_SCN_NUMBERED, /* number of an SRQ: SRQ, or a number */
	RN_SCN_WORD,	 /* one of a table */
	RN_SCN_WORDS,	 /* several of a table, or-ed, with commas */
	RN_SCN_BARE,	 /* one of a table, without the name of the field before it */
	RN_SCN_LETTERS,	 /* up to 8 of them */
	RN_SCN_FLAG,	 /* no value */
};

struct rn_scn_field_info {
	const char *name; /* as written */
	enum rn_scn_form form;
	const struct rn_scn_word *words; /* ends with an empty row */
	uint64_t verbs;			 /* 1 << enum rn_scn_verb */
};

extern const struct rn_scn_field_info rn_scn_fields[RN_F_COUNT];

/* "post", "<"; in the order of enum rn_scn_verb. */
extern const char *const rn_scn_verb_name[RN_SCN_VERBS];

/* enum rn_wc_status, rn_async_event and enum rn_stat as scenarios write them. */
extern const struct rn_scn_word rn_scn_statuses[], rn_scn_events[], rn_scn_counters[],
	rn_scn_qp_types[], rn_scn_states[], rn_scn_naks[], rn_scn_kinds[],
	rn_scn_queues[]; /* sends and receives */

/* fields_cm.c: CM messages by enum rn_cm_attr, rn_cm_event_type, rn_cm_state, rn_cm_stat.
 */
extern const struct rn_scn_word rn_scn_mads[], rn_scn_cm_events[], rn_scn_cm_states[],
	rn_scn_cm_counters[], rn_scn_transports[], rn_scn_abouts[], rn_scn_gids[];

/* Values of RN_F_GID and RN_F_LOCAL_GID. */
enum {
	RN_SCN_GID_DEVICE,
	RN_SCN_GID_PEER,
	RN_SCN_GID_OTHER,
	RN_SCN_GID_NONE,
	RN_SCN_GID_UNKNOWN, /* none of those; not to be written */
};

/* What memory holds: values of RN_F_IS. */
enum {
	RN_SCN_IS_ZERO,
	RN_SCN_IS_FILL,	   /* what it held in the beginning */
	RN_SCN_IS_PAYLOAD, /* of the packet with this psn */
	RN_SCN_IS_NUMBER,  /* orig, as 8 bytes in host order */
};

/* Who sends: values of RN_F_FROM. */
enum {
	RN_SCN_PEER,
	RN_SCN_OTHER, /* another host than the QP's peer */
};

/* To whom: values of RN_F_TO. */
enum {
	RN_SCN_TO_ONE, /* the device, or the QP's peer */
	RN_SCN_TO_GROUP,
	RN_SCN_TO_OTHER,
};

/* Find @len bytes at @at in a table; false: not there. */
bool rn_scn_find(const struct rn_scn_word *table, const char *at, size_t len,
		 uint64_t *value);

/* For people; "?" if it is not in the table. */
const char *rn_scn_word_of(const struct rn_scn_word *table, uint64_t value);

#endif /* RN_FIELDS_H */
