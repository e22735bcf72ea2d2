/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs.h - functions of the parser of rocin/pcie.h that the unit tests call, too. */
#ifndef RN_KNOBS_H
#define RN_KNOBS_H

#include "rocin/pcie.h"
#include "rocin/token.h"
#include "text.h"

/* Parses MODE[,KNOB=VALUE]... as rn_pcie_parse() does, but not @FILE; a text of blanks
 * has no words and is valid. The text may be given in several pieces, so the result is
 * not checked for contradictions: rn_pcie_check() does that. Returns 0, or -EINVAL with a
 * sentence in @err; @k may be changed then.
 */
int rn_knobs_parse_words(struct rn_pcie_knobs *k, struct rn_token text, char *err,
			 size_t err_len);

/* Cuts @text at the first @mark. Returns the part before the mark and leaves the part
 * behind it in @text; without a mark it returns all and leaves an empty word with at ==
 * NULL.
 */
struct rn_token rn_token_cut(struct rn_token *text, char mark);

/* Does the knob at index @knob of rn_pcie_knob_list differ between @a and @b? */
bool rn_knob_differs(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b,
		     int knob);

#endif /* RN_KNOBS_H */
