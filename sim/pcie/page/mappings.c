/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mappings.c - reads the mappings of this process from /proc/self/maps; see mappings.h.
 */
#include "mappings.h"

#include <string.h>

FILE *rn_mappings_open(void)
{
	return fopen("/proc/self/maps", "re");
}

/* Called if the last line did not fit into @line, because it contains a long file name.
 * Reads the rest of that line.
 */
static void skip_rest(FILE *maps, const char *line)
{
	char rest[512];

	while (!strchr(line, '\n') && fgets(rest, sizeof(rest), maps))
		line = rest;
}

bool rn_mappings_next(FILE *maps, struct rn_mapping *m)
{
	char line[512];
	unsigned long lo, hi;

	if (!fgets(line, sizeof(line), maps))
		return false;
	skip_rest(maps, line);
	if (sscanf(line, "%lx-%lx %4s %*s %*s %llu", &lo, &hi, m->rights, &m->inode) != 4)
		return false;
	m->lo = lo;
	m->hi = hi;
	m->is_stack = strstr(line, "[stack") != NULL;
	return true;
}
