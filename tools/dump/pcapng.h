/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcapng.h - the blocks of a pcapng file, taken apart: packets with what was
 * written beside them, which libpcap passes over.
 *
 * Files of any writer, in either byte order, well-formed or not. Opens nothing.
 *
 * Threads: a reader belongs to one.
 * Source: draft-ietf-opsawg-pcapng-02.
 */
#ifndef RN_PCAPNG_BLOCK_H
#define RN_PCAPNG_BLOCK_H

#include "rocin/types.h"

enum {
	RN_PCAPNG_HEAD = 12,	       /* bytes from which a block's length is known */
	RN_PCAPNG_BLOCK_MAX = 1 << 24, /* longer ones are taken for damage */
	RN_PCAPNG_TEXT_MAX = 640,      /* with NUL; what is longer is cut off */
};

struct rn_pcapng_interface; /* what a reader knows of one */

/* All zeros to begin with. */
struct rn_pcapng_reader {
	bool is_begun;	 /* a section is open */
	bool is_swapped; /* its byte order is not ours */
	struct rn_pcapng_interface *interface;
	uint32_t interfaces, room;
};

/* A packet of a block. Texts are UTF-8 of one line, empty if there is none. */
struct rn_pcapng_found {
	uint16_t link_type;  /* LINKTYPE_... */
	int64_t time;	     /* ns since 1970; 0: none, or out of range */
	uint32_t len, cap;   /* on the wire, and of @data */
	const uint8_t *data; /* in the block */
	bool is_outbound;    /* as far as the file says */
	uint32_t queue;	     /* rocin writes the queue pair of this end; 0: none */
	const char *name;    /* of the interface; the reader's, until its next block */
	const char *description;
	char comment[RN_PCAPNG_TEXT_MAX]; /* several are joined by "; " */
};

/**
 * rn_pcapng_block_len() - How long is the block that begins so?
 * @head:	Its first RN_PCAPNG_HEAD bytes
 *
 * Return: bytes with this head, a multiple of 4 up to RN_PCAPNG_BLOCK_MAX; 0: no block
 *	   begins so.
 */
uint32_t rn_pcapng_block_len(const struct rn_pcapng_reader *r, const uint8_t *head);

/**
 * rn_pcapng_block() - Take a block apart
 * @block:	@len bytes, as rn_pcapng_block_len() said
 * @found:	Out: the packet, if it is one
 *
 * Return: 1: a packet; 0: any other block, what it says of interfaces is remembered;
 *	   -EINVAL: it contradicts itself, or the blocks before; -ENOMEM.
 */
int rn_pcapng_block(struct rn_pcapng_reader *r, const uint8_t *block, uint32_t len,
		    struct rn_pcapng_found *found);

void rn_pcapng_reader_free(struct rn_pcapng_reader *r);

#endif /* RN_PCAPNG_BLOCK_H */
