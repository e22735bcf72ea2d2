/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_table.c - reads /proc/net/udp and udp6; see udp_table.h. */
#include "udp_table.h"

bool rnd_udp_table_next(FILE *table, struct rnd_udp_socket *socket)
{
	char line[256];

	while (table && fgets(line, sizeof(line), table))
		if (sscanf(line,
			   "%*d: %32[0-9A-Fa-f]:%x %*x:%*x %*x %*x:%*x %*x:%*x %*x %u "
			   "%*d %lu",
			   socket->address, &socket->port, &socket->uid,
			   &socket->inode) == 4)
			return true;
	return false;
}
