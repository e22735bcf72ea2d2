/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs.h - functions of the knob parser (rocin/pcie.h) that the unit tests
 * call directly.
 */
#ifndef RN_KNOBS_H
#define RN_KNOBS_H

#include "rocin/pcie.h"
#include "rocin/token.h"
#include "text.h"

/* Parses MODE[,KNOB=VALUE]... as rn_pcie_parse() does, but does not accept @FILE. Blank
 * text is valid and changes nothing. Knobs that contradict each other are accepted here,
 * because the text may be one of several pieces; after the last piece the caller must
 * call rn_pcie_check(). Returns 0, or -EINVAL with an error text in @err; @k may be
 * changed then.
 */
int rn_knobs_parse_words(struct rn_pcie_knobs *k, struct rn_token text, char *err,
			 size_t err_len);

/* Cuts *@text at the first @mark. Returns the part before the mark, and leaves the part
 * behind it in *@text. If there is no mark, returns the whole text, and leaves an empty
 * token, whose member at is NULL.
 */
struct rn_token rn_token_cut(struct rn_token *text, char mark);

/* Returns true if the knob at index @knob of rn_pcie_knob_list differs between @a and @b.
 */
bool rn_knob_differs(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b,
		     int knob);

#endif /* RN_KNOBS_H */
