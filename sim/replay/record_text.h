/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record_text.h - describes records as text, a line each. */
#ifndef RN_RECORD_TEXT_H
#define RN_RECORD_TEXT_H

#include "recording.h"

/* Describes a record like "post_send id=0x55d0 wr_id=1 ...". Fields that are 0 are left
 * out; packets are described as in scenarios; of other bytes the first few are shown. The
 * text is cut off if it is too long.
 */
void rn_rec_text(const struct rn_rec *rec, char *text, size_t size);

/* Calls @see for every header field in which two packets differ. */
void rn_rec_compare_packets(const struct rn_rec_packet *a, const struct rn_rec_packet *b,
			    void (*see)(void *arg, const char *name, uint64_t in_a,
					uint64_t in_b),
			    void *arg);

#endif /* RN_RECORD_TEXT_H */
