/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs.h - parts of the parser of rocin/pcie.h, which tests call, too. */
#ifndef RN_KNOBS_H
#define RN_KNOBS_H

#include "rocin/pcie.h"
#include "rocin/word.h"
#include "text.h"

/* rn_pcie_parse() of MODE[,KNOB=VALUE]... without @FILE; nothing but blanks is no word.
 * The result is not checked for contradictions (rn_pcie_check()), so that words may come
 * in several pieces. 0, or -EINVAL with a sentence and @k perhaps changed.
 */
int rn_knobs_parse_words(struct rn_pcie_knobs *k, struct rn_word text, char *err,
			 size_t err_len);

/* Cut @text at its first @mark: returns what is before it and leaves what is behind it,
 * nothing (at == NULL) if there is no mark.
 */
struct rn_word rn_word_cut(struct rn_word *text, char mark);

/* Of one knob, by its place in rn_pcie_knob_list. */
bool rn_knob_differs(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b,
		     int knob);

#endif /* RN_KNOBS_H */
