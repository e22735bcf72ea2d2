/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* schedule.c - sets of late writes ("schedules", hunt.h), and the files in which they are
 * stored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hunt.h"
#include "rocin/hash.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"

static void need(const void *memory)
{
	if (memory)
		return;
	rn_complain("no memory for a schedule");
	exit(RN_EXIT_FAILURE); // NOLINT(concurrency-mt-unsafe)
}

/* Returns the entry of the hash table for the name or, if the set does not have the name,
 * the free entry at which it would be stored.
 */
static uint32_t *entry_of(const struct rn_hunt_set *set, const char *name)
{
	uint64_t hash = rn_hash_bytes(RN_HASH_BEGIN, name, strlen(name));
	size_t at = hash % (2 * set->room);

	while (set->table[at] && strcmp(set->name[set->table[at] - 1], name) != 0)
		at = (at + 1) % (2 * set->room);
	return &set->table[at];
}

bool rn_hunt_has(const struct rn_hunt_set *set, const char *name)
{
	return set->room && *entry_of(set, name) != 0;
}

static void grow(struct rn_hunt_set *set)
{
	set->room = set->room ? 2 * set->room : 64;
	set->name = realloc(set->name, set->room * sizeof(*set->name));
	free(set->table);
	set->table = calloc(2 * set->room, sizeof(*set->table));
	need(set->name);
	need(set->table);
	for (size_t i = 0; i < set->count; i++)
		*entry_of(set, set->name[i]) = (uint32_t)i + 1;
}

void rn_hunt_add(struct rn_hunt_set *set, const char *name)
{
	if (rn_hunt_has(set, name))
		return;
	if (set->count == set->room)
		grow(set);
	set->name[set->count] = strdup(name);
	need(set->name[set->count]);
	*entry_of(set, name) = (uint32_t)++set->count;
}

void rn_hunt_clear(struct rn_hunt_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->name[i]);
	free(set->name);
	free(set->table);
	*set = (struct rn_hunt_set){ 0 };
}

struct reading {
	struct rn_hunt_set *set;
	const char *word;
};

static int take_line(void *ctx, char *line, unsigned number)
{
	const struct reading *r = ctx;
	size_t len = strlen(r->word);

	(void)number;
	if (!strncmp(line, r->word, len) && line[len] == ' ')
		rn_hunt_add(r->set, line + len + 1);
	return 0;
}

int rn_hunt_read(struct rn_hunt_set *set, const char *path, const char *word)
{
	struct reading r = { .set = set, .word = word };

	return rn_file_lines(path, take_line, &r);
}

struct writing {
	const struct rn_hunt_set *set;
	const char *head;
};

static int print_schedule(FILE *to, const void *what)
{
	const struct writing *w = what;

	if (w->head)
		fputs(w->head, to);
	for (size_t i = 0; i < w->set->count; i++)
		fprintf(to, "late %s\n", w->set->name[i]);
	return ferror(to) ? -EIO : 0;
}

int rn_hunt_write(const struct rn_hunt_set *set, const char *path, const char *head)
{
	struct writing w = { .set = set, .head = head };

	return rn_file_write(path, print_schedule, &w);
}
