/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record_text.h - describes records as text, a line each. */
#ifndef RN_RECORD_TEXT_H
#define RN_RECORD_TEXT_H

#include "player.h"

/* Describes a record like "post_send id=0x55d0 wr_id=1 ...". Fields that are 0 are left
 * out; packets are written as in scenarios, and of other bytes only the first few. The
 * text is cut off if it is too long.
 */
void rn_rec_text(const struct rn_rec *rec, char *text, size_t size);

/* Compares two records of the same kind, and stores in @r the fields in which they
 * differ. If two packets differ, stores the header fields in which they do.
 */
void rn_rec_compare(const struct rn_rec *was, const struct rn_rec *is,
		    struct rn_replay_result *r);

#endif /* RN_RECORD_TEXT_H */
