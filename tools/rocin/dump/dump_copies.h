/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_copies.h - packets that a capture has twice, since both their ends were captured.
 */
#ifndef RN_DUMP_COPIES_H
#define RN_DUMP_COPIES_H

#include "rocin/types.h"

struct rn_dump_copies;

/* Return: NULL: no memory. Freed by rn_dump_copies_free(), which ignores NULL. */
struct rn_dump_copies *rn_dump_copies_new(void);
void rn_dump_copies_free(struct rn_dump_copies *c);

/**
 * rn_dump_is_copy() - Is it there already, as its sender captured it?
 * @sll:	Header of Linux cooked mode, 16 bytes, which says which way the packet
 * went
 * @packet:	IP header and what follows, @len bytes
 * @number:	Out: where the caller keeps a number, 0 at first, from the packet that was
 *		sent to its copy; NULL: nowhere
 *
 * Each packet that was sent answers for one that arrived. Of two that are forgotten for
 * others, the copy is shown.
 */
bool rn_dump_is_copy(struct rn_dump_copies *c, const uint8_t *sll, const uint8_t *packet,
		     uint32_t len, uint64_t **number);

#endif /* RN_DUMP_COPIES_H */
