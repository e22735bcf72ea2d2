/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_file.h - a capture file, packet by packet: pcap by libpcap, pcapng by ourselves,
 * with what was written beside the packets.
 */
#ifndef RN_DUMP_FILE_H
#define RN_DUMP_FILE_H

#include "tools/dump/pcapng_block.h"

struct rn_dump_file;

/**
 * rn_dump_file_open() - Open a capture
 * @path:	"-": standard input, which stays open
 *
 * Return: NULL, with a sentence on standard error.
 */
struct rn_dump_file *rn_dump_file_open(const char *path);
void rn_dump_file_close(struct rn_dump_file *f);

/**
 * rn_dump_file_next() - Read the next packet
 * @found:	Out: its link type is a DLT_...; texts and data until the next call
 *
 * Return: 1; 0 at the end; -EIO with a sentence on standard error.
 */
int rn_dump_file_next(struct rn_dump_file *f, struct rn_pcapng_found *found);

#endif /* RN_DUMP_FILE_H */
