/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_owners.c - see dump_owners.h. */
#include "dump_owners.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_LEN = 176
};

struct owner {
	struct rn_gid gid;
	uint32_t qpn;
	char text[TEXT_LEN];
};

struct rn_dump_owners {
	void *tree; /* tsearch()'s */
};

static int compare(const void *left, const void *right)
{
	const struct owner *a = left, *b = right;
	int order = memcmp(&a->gid, &b->gid, sizeof(a->gid));

	return order ? order : (a->qpn > b->qpn) - (a->qpn < b->qpn);
}

struct rn_dump_owners *rn_dump_owners_new(void)
{
	return calloc(1, sizeof(struct rn_dump_owners));
}

void rn_dump_owners_free(struct rn_dump_owners *o)
{
	if (o)
		tdestroy(o->tree, free);
	free(o);
}

bool rn_dump_owners_add(struct rn_dump_owners *o, const struct rn_gid *gid, uint32_t qpn,
			const char *interface, const char *description)
{
	struct owner key = { .gid = *gid, .qpn = qpn }, *own, **in_tree;

	if (!description[0])
		return false;
	snprintf(key.text, sizeof(key.text), "%s%s%s", interface,
		 interface[0] ? ", " : "", description);
	in_tree = tfind(&key, &o->tree, compare);
	if (in_tree) {
		/* The number may have gone to another program. */
		if (strcmp((*in_tree)->text, key.text) == 0)
			return false;
		**in_tree = key;
		return true;
	}
	own = malloc(sizeof(*own));
	if (!own)
		return false;
	*own = key;
	if (tsearch(own, &o->tree, compare))
		return true;
	free(own);
	return false;
}

const char *rn_dump_owner(const struct rn_dump_owners *o, const struct rn_gid *gid,
			  uint32_t qpn)
{
	struct owner key = { .gid = *gid, .qpn = qpn }, **in_tree;

	in_tree = o ? tfind(&key, &o->tree, compare) : NULL;
	return in_tree ? (*in_tree)->text : NULL;
}
