/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* machine.c - what follows from a topology, and its picture. */
#include "machine.h"

#include <stdarg.h>
#include <string.h>

static const char *const distances[] = {
	[RN_MACHINE_SWITCHED] = "below one switch",
	[RN_MACHINE_ROOTED] = "below one root port",
	[RN_MACHINE_CROSSED] = "below different root ports",
	[RN_MACHINE_FAR] = "in different NUMA nodes",
};

const char *rn_machine_distance_text(enum rn_machine_distance distance)
{
	return (unsigned)distance < RN_ARRAY_SIZE(distances) ? distances[distance] : "?";
}

int rn_machine_find(const struct rn_machine *m, enum rn_machine_kind kind,
		    unsigned number)
{
	for (unsigned i = 0; i < m->parts; i++)
		if (m->part[i].kind == kind && m->part[i].number == number)
			return (int)i;
	return -1;
}

static bool is_above(const struct rn_machine *m, int above, unsigned part)
{
	for (int at = m->part[part].parent; at >= 0; at = m->part[at].parent)
		if (at == above)
			return true;
	return false;
}

static const struct rn_machine_part *root_of(const struct rn_machine *m, unsigned part)
{
	while (m->part[part].parent >= 0)
		part = (unsigned)m->part[part].parent;
	return &m->part[part];
}

enum rn_machine_distance rn_machine_distance(const struct rn_machine *m, unsigned a,
					     unsigned b)
{
	const struct rn_machine_part *root = root_of(m, a), *other = root_of(m, b);

	for (int at = m->part[a].parent; at >= 0; at = m->part[at].parent)
		if (m->part[at].kind == RN_MACHINE_SWITCH && is_above(m, at, b))
			return RN_MACHINE_SWITCHED;
	if (root == other)
		return RN_MACHINE_ROOTED;
	return root->number == other->number ? RN_MACHINE_CROSSED : RN_MACHINE_FAR;
}

/* ---------------------------------------------------------------- settings of storage */
__attribute__((format(printf, 3, 4))) static void add(char *buf, size_t len,
						      const char *fmt, ...)
{
	size_t at = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + at, len - at, fmt, ap);
	va_end(ap);
}

void rn_machine_near(const struct rn_machine *m, char *buf, size_t len)
{
	buf[0] = '\0';
	for (unsigned d = 0; d < m->parts; d++) {
		unsigned gpus = 0;

		for (unsigned g = 0; g < m->parts; g++) {
			if (m->part[d].kind != RN_MACHINE_NVME ||
			    m->part[g].kind != RN_MACHINE_GPU ||
			    rn_machine_distance(m, d, g) != RN_MACHINE_SWITCHED)
				continue;
			if (gpus++ == 0)
				add(buf, len, "%s%s=", buf[0] != '\0' ? "," : "",
				    m->part[d].name);
			else
				add(buf, len, "+");
			add(buf, len, "%s", m->part[g].name);
		}
	}
}

void rn_machine_nvlinks(const struct rn_machine *m, char *buf, size_t len)
{
	buf[0] = '\0';
	for (unsigned i = 0; i < m->links; i++)
		add(buf, len, "%sgpu%u-gpu%u", i > 0 ? "," : "", m->link[i].a,
		    m->link[i].b);
}

void rn_machine_paths(const struct rn_machine *m, char *buf, size_t len)
{
	buf[0] = '\0';
	for (unsigned i = 0; i < m->parts; i++)
		if (m->part[i].path[0] != '\0')
			add(buf, len, "%s%s=%s", buf[0] != '\0' ? "," : "",
			    m->part[i].name, m->part[i].path);
}

unsigned rn_machine_gpus(const struct rn_machine *m)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->parts; i++)
		if (m->part[i].kind == RN_MACHINE_GPU && m->part[i].number >= count)
			count = m->part[i].number + 1;
	return count;
}

bool rn_machine_has_roots(const struct rn_machine *m)
{
	const struct rn_machine_part *first = NULL;

	for (unsigned i = 0; i < m->parts; i++) {
		if (m->part[i].kind == RN_MACHINE_ROOT ||
		    m->part[i].kind == RN_MACHINE_SWITCH)
			continue;
		if (first && root_of(m, i) != first)
			return true;
		first = root_of(m, i);
	}
	return false;
}

/* ------------------------------------------------------------------------- picture */
static bool is_last_child(const struct rn_machine *m, unsigned part)
{
	for (unsigned i = part + 1; i < m->parts; i++)
		if (m->part[i].parent == m->part[part].parent)
			return false;
	return true;
}

/* Prints the children of @part. @indent: what stands before their names. A part stands
 * behind its parent, so this is no deeper than RN_MACHINE_PARTS.
 */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void print_children(const struct rn_machine *m, int part, const char *indent,
			   FILE *to)
{
	char deeper[256];

	for (unsigned i = 0; i < m->parts; i++) {
		const struct rn_machine_part *p = &m->part[i];
		bool is_last = is_last_child(m, i);

		if (p->parent != part)
			continue;
		fprintf(to, "%s%s- %s", indent, is_last ? "`" : "|", p->name);
		if (p->kind == RN_MACHINE_ROOT)
			fprintf(to, " (root port, NUMA node %u)", p->number);
		else if (p->kind == RN_MACHINE_SWITCH)
			fprintf(to, " (switch)");
		else if (p->kind == RN_MACHINE_NIC)
			fprintf(to, " (NIC)");
		else if (p->path[0] != '\0')
			fprintf(to, " (%s)", p->path);
		fputc('\n', to);
		/* A machine of RN_MACHINE_PARTS parts cannot be deeper than this holds.
		 */
		if (strlen(indent) + 4 < sizeof(deeper)) {
			snprintf(deeper, sizeof(deeper), "%s%s  ", indent,
				 is_last ? " " : "|");
			print_children(m, (int)i, deeper, to);
		}
	}
}

void rn_machine_print(const struct rn_machine *m, FILE *to)
{
	fprintf(to, "host\n");
	print_children(m, -1, "", to);
	for (unsigned i = 0; i < m->links; i++)
		fprintf(to, "gpu%u === NVLink x%u === gpu%u\n", m->link[i].a,
			m->link[i].lanes, m->link[i].b);
}
