/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcapng.h - parses the blocks of a pcapng file: packets with their comments and
 * interface names, which libpcap does not report.
 *
 * The file may come from any writer, in either byte order, and may be malformed. This
 * code opens no files.
 *
 * Threads: a reader belongs to one thread.
 * Source: draft-ietf-opsawg-pcapng-02.
 */
#ifndef RN_PCAPNG_BLOCK_H
#define RN_PCAPNG_BLOCK_H

#include "rocin/types.h"

enum {
	/* Number of bytes at the beginning of a block from which rn_pcapng_block_len()
	 * finds the length of the block.
	 */
	RN_PCAPNG_HEAD = 12,
	RN_PCAPNG_BLOCK_MAX = 1 << 24, /* longer blocks are treated as damage */
	/* Bytes of a text including NUL; longer text is cut off. */
	RN_PCAPNG_TEXT_MAX = 640,
};

struct rn_pcapng_interface;

/* State of reading one pcapng file. The caller sets all fields to zero before the first
 * block.
 */
struct rn_pcapng_reader {
	bool is_begun; /* a Section Header Block was read */
	/* the byte order of the section is the opposite of this machine's */
	bool is_swapped;
	struct rn_pcapng_interface *interface;
	uint32_t interfaces, room;
};

/* The packet in a block. The texts are UTF-8, of one line each. A text is empty if the
 * file does not have it.
 */
struct rn_pcapng_found {
	uint16_t link_type; /* LINKTYPE_... */
	int64_t time;	    /* time in ns since 1970; 0: no time, or out of range */
	/* @len: length of the packet on the wire. @cap: number of bytes in @data. */
	uint32_t len, cap;
	const uint8_t *data; /* packet data, inside the block in memory */
	/* the packet was sent, not received; false also if the file does not say */
	bool is_outbound;
	/* the field epb_queue, into which rocin writes the QPN of the local side; 0: none
	 */
	uint32_t queue;
	/* Name of the interface. The reader owns the text; it is valid until the next
	 * call of rn_pcapng_block().
	 */
	const char *name;
	const char *description;
	/* comments of the packet; several are joined by "; " */
	char comment[RN_PCAPNG_TEXT_MAX];
};

/**
 * rn_pcapng_block_len() - Find the length of a block
 * @head:	The first RN_PCAPNG_HEAD bytes of the block
 *
 * Return: length in bytes, a multiple of 4 up to RN_PCAPNG_BLOCK_MAX; 0 if @head is not
 *	that of a valid block.
 */
uint32_t rn_pcapng_block_len(const struct rn_pcapng_reader *r, const uint8_t *head);

/**
 * rn_pcapng_block() - Parse a block
 * @block:	The whole block
 * @len:	Its length, as rn_pcapng_block_len() returned it
 * @found:	Out: the packet, if the block is a packet
 *
 * Return: 1 for a packet; 0 for any other block (if it describes an interface, the
 *	description is stored in @r); -EINVAL if the block contradicts itself or earlier
 *	blocks; -ENOMEM.
 */
int rn_pcapng_block(struct rn_pcapng_reader *r, const uint8_t *block, uint32_t len,
		    struct rn_pcapng_found *found);

void rn_pcapng_reader_free(struct rn_pcapng_reader *r);

#endif /* RN_PCAPNG_BLOCK_H */
