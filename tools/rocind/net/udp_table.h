/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_table.h - the UDP sockets of this network namespace, as /proc/net/udp and udp6 list
 * them.
 *
 * Threads: any; no state.
 */
#ifndef RND_UDP_TABLE_H
#define RND_UDP_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct rnd_udp_socket {
	/* 8 or 32 hexadecimal digits: 32-bit words in host byte order */
	char address[33];
	unsigned port;
	unsigned uid; /* user ID of the owner of the socket */
	/* inode of the socket; 0: the socket belongs to the kernel */
	unsigned long inode;
};

/* Reads the next socket of a table. Returns false at the end, or if @table is NULL. */
bool rnd_udp_table_next(FILE *table, struct rnd_udp_socket *socket);

#endif /* RND_UDP_TABLE_H */
