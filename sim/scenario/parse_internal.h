/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse_internal.h - the two halves of the parser: lines (parse.c), fields
 * (parse_fields.c).
 */
#ifndef RN_PARSE_INTERNAL_H
#define RN_PARSE_INTERNAL_H

#include "fields.h"
#include "tokens.h"

struct rn_scn_parser {
	struct rn_scenario *s;
	struct rn_scn_error *err;
	uint32_t number; /* of the line of the file */
	bool ended;
};

/* The rest of a line: fields of its verb, each once. False with the error noted. */
bool rn_scn_parse_fields(struct rn_scn_parser *p, struct rn_tokens *w,
			 struct rn_scn_line *l);
/* The value of one field. */
bool rn_scn_parse_field(struct rn_scn_parser *p, struct rn_tokens *w,
			struct rn_scn_line *l, enum rn_scn_field field);

/* setups.c: the statements behind a name, or NULL. */
const char *rn_scn_setup(const char *name, size_t len);
extern const char rn_scn_setup_names[];

#endif /* RN_PARSE_INTERNAL_H */
