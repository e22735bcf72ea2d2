/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_words.h - what a finding is called, which rule would have helped, what helps.
 */
#ifndef RN_SANITIZE_WORDS_H
#define RN_SANITIZE_WORDS_H

#include "sim/pcie/model/fabric.h"

enum rn_san_kind {
	RN_SAN_STALE,
	RN_SAN_UNORDERED,
	RN_SAN_SOURCE,
	RN_SAN_FENCE,
	RN_SAN_KIND_COUNT
};

/* One line; never NULL. */
const char *rn_san_kind_text(enum rn_san_kind kind);

/* "RDMA WRITE"; "receive of a SEND". Never NULL. */
const char *rn_san_wr_name(unsigned opcode); /* enum rn_wr_opcode */
const char *rn_san_wc_name(unsigned opcode); /* enum rn_wc_opcode */

struct rn_san_words {
	const char *rule, *remedy; /* continued lines are indented by 14 */
};

/* @reader takes bytes that @tlp would have written. */
struct rn_san_words rn_san_words_of(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp, bool is_covered);

#endif /* RN_SANITIZE_WORDS_H */
