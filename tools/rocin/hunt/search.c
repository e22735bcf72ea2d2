/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* search.c - searches for a set of late writes (a "schedule", hunt.h) with which a
 * program goes wrong, and makes it as small as possible.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hunt.h"
#include "rocin/hash.h"
#include "rocin/random.h"
#include "transport/io/host/clock.h"

enum {
	/* A smaller schedule replaces the old one only if the program has gone wrong in
	 * this number of runs with it.
	 */
	AGREEING = 2,
};

/* ------------------------------------------------------------ search for a schedule */
/* Returns the length of the beginning that the names of related writes have in common.
 * These are all writes of one queue of a QP, such as "rocin1 qp 1 request"; or, if
 * @by_message, all writes of one message, such as "rocin1 qp 1 request 0".
 */
static size_t common_len(const char *name, bool by_message)
{
	unsigned words = by_message ? 5 : 4;
	size_t len = 0;

	if (!strstr(name, " qp "))
		words -= 2;
	while (words--)
		len += strcspn(name + len, " ") + (name[len] != '\0' && words > 0);
	return len;
}

static uint64_t hash_part(const char *name, size_t len, uint64_t seed)
{
	uint64_t hash = rn_hash_bytes(seed ^ RN_HASH_BEGIN, name, strnlen(name, len));

	hash = rn_hash_word(hash ^ hash >> 29);
	return hash ^ hash >> 32;
}

/* Draws random subset number @n of the names @all. @n also decides which writes are drawn
 * together: all of a queue, all of a message, or each write by itself.
 */
static void draw_subset(const struct rn_hunt_set *all, unsigned n, uint64_t seed,
			struct rn_hunt_set *subset)
{
	uint64_t salt = hash_part("", 0, seed * 1000003 + n);

	for (size_t i = 0; i < all->count; i++) {
		const char *name = all->name[i];
		size_t len = n % 3 == 2 ? strlen(name) : common_len(name, n % 3 == 1);

		if (hash_part(name, len, salt) & 1)
			rn_hunt_add(subset, name);
	}
}

/* Runs the program once with the schedule @late. Adds all writes of the run to @all. If
 * the program has gone wrong, adds the late writes to @found and returns 1. Otherwise
 * returns 0 or -errno.
 */
static int try_once(struct rn_hunt *h, const struct rn_hunt_set *late,
		    struct rn_hunt_set *all, struct rn_hunt_set *found)
{
	struct rn_hunt_end end = { 0 };
	int rc = rn_hunt_run(h, late, &end);

	for (size_t i = 0; i < end.late.count && !rc; i++) {
		rn_hunt_add(all, end.late.name[i]);
		if (end.is_wrong)
			rn_hunt_add(found, end.late.name[i]);
	}
	for (size_t i = 0; i < end.landed.count && !rc; i++)
		rn_hunt_add(all, end.landed.name[i]);
	rc = rc ? rc : end.is_wrong;
	rn_hunt_end_clear(&end);
	return rc;
}

/* Returns true if the user's limit of time for trying schedules is over. */
static bool is_over(const struct rn_hunt *h)
{
	rn_ns spent = rn_clock(CLOCK_MONOTONIC) - h->began;

	return h->budget > 0 && spent >= (rn_ns)(h->budget * 1e9);
}

int rn_hunt_search(struct rn_hunt *h, unsigned runs, uint64_t seed,
		   struct rn_hunt_set *found)
{
	struct rn_hunt_set all = { 0 }, subset = { 0 };
	int rc = try_once(h, NULL, &all, found);

	for (unsigned n = 1; n < runs && !rc && !is_over(h); n++) {
		/* Subset 1 is empty: nothing is late. */
		if (n > 1)
			draw_subset(&all, n, seed, &subset);
		rc = try_once(h, &subset, &all, found);
		rn_hunt_clear(&subset);
	}
	rn_hunt_clear(&all);
	return rc;
}

/* ------------------------------------------------------------- shrinking a schedule */
/* Returns 1 if the program goes wrong with the late writes @late in all of AGREEING runs,
 * 0 if it does not go wrong in one of them, or -errno.
 */
static int goes_wrong(struct rn_hunt *h, const struct rn_hunt_set *late)
{
	int rc = 1;

	for (unsigned i = 0; i < AGREEING && rc == 1; i++) {
		struct rn_hunt_end end = { 0 };

		rc = rn_hunt_run(h, late, &end);
		rc = rc ? rc : end.is_wrong;
		rn_hunt_end_clear(&end);
	}
	return rc;
}

/* Divides @set into @parts parts. Adds part number @n to @to or, if @is_complement, all
 * other parts.
 */
static void add_part(const struct rn_hunt_set *set, size_t n, size_t parts,
		     bool is_complement, struct rn_hunt_set *to)
{
	size_t from = set->count * n / parts, past = set->count * (n + 1) / parts;

	for (size_t i = 0; i < set->count; i++)
		if ((i >= from && i < past) != is_complement)
			rn_hunt_add(to, set->name[i]);
}

static void replace_set(struct rn_hunt_set *set, struct rn_hunt_set *by)
{
	rn_hunt_clear(set);
	*set = *by;
	*by = (struct rn_hunt_set){ 0 };
}

/* Divides @set into @parts parts, and runs the program with each part (or, if
 * @is_complement, with all other parts) until it goes wrong. Replaces @set by the writes
 * with which it has gone wrong. Returns 1; 0 if the program has never gone wrong; or
 * -errno.
 */
static int try_parts(struct rn_hunt *h, struct rn_hunt_set *set, size_t parts,
		     bool is_complement)
{
	int rc = 0;

	for (size_t n = 0; n < parts && !rc; n++) {
		struct rn_hunt_set part = { 0 };

		add_part(set, n, parts, is_complement, &part);
		rc = goes_wrong(h, &part);
		if (rc == 1)
			replace_set(set, &part);
		rn_hunt_clear(&part);
	}
	return rc;
}

/* Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
 * input", 2002): the parts of the set get smaller until no single write can be left out.
 */
int rn_hunt_shrink(struct rn_hunt *h, struct rn_hunt_set *set)
{
	struct rn_hunt_set empty = { 0 };
	size_t parts = 2;
	int rc = goes_wrong(h, set);

	if (rc != 1)
		return rc;
	rc = goes_wrong(h, &empty);
	if (rc == 1)
		replace_set(set, &empty);
	while (rc >= 0 && set->count > 1) {
		rc = try_parts(h, set, parts, false);
		if (rc == 1) {
			parts = 2;
			continue;
		}
		if (rc == 0 && parts > 2)
			rc = try_parts(h, set, parts, true);
		if (rc == 1)
			parts = parts > 3 ? parts - 1 : 2;
		else if (rc == 0 && parts >= set->count)
			break;
		else if (rc == 0)
			parts = 2 * parts < set->count ? 2 * parts : set->count;
	}
	return rc < 0 ? rc : 1;
}
