/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* file.c - reads a topology file. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

enum {
	WORDS = 8,	      /* words of a line, at most */
	LINE = 512,	      /* bytes of a line */
	FILE_MAX = 64 * 1024, /* bytes of a file: far more than RN_MACHINE_PARTS lines */
};

struct reader {
	struct rn_machine *m;
	unsigned line;
	char *err;
	size_t err_len;
	char *word[WORDS];
	unsigned words;
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct reader *r,
						       const char *fmt, ...)
{
	char what[LINE * 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(r->err, r->err_len, "topology, line %u: %s", r->line, what);
	return -EINVAL;
}

static int find_name(const struct rn_machine *m, const char *name)
{
	for (unsigned i = 0; i < m->parts; i++)
		if (!strcmp(m->part[i].name, name))
			return (int)i;
	return -1;
}

/* Reads "gpu3" or "nvme0". Returns the number, or -1 if it is none below @limit. */
static int read_unit(const char *word, const char *kind, unsigned limit)
{
	size_t len = strlen(kind);

	if (strncmp(word, kind, len) != 0 || word[len] < '0' || word[len] > '9' ||
	    word[len + 1] != '\0' || (unsigned)(word[len] - '0') >= limit)
		return -1;
	return word[len] - '0';
}

static int add_part(struct reader *r, enum rn_machine_kind kind, const char *name,
		    unsigned number)
{
	struct rn_machine_part *p = &r->m->part[r->m->parts];

	if (r->m->parts == RN_MACHINE_PARTS)
		return wrong(r, "more than %d parts", RN_MACHINE_PARTS);
	if (strlen(name) >= RN_MACHINE_NAME)
		return wrong(r, "\"%s\" is longer than %d bytes", name,
			     RN_MACHINE_NAME - 1);
	if (find_name(r->m, name) >= 0)
		return wrong(r, "\"%s\" stands twice", name);
	*p = (struct rn_machine_part){ .kind = kind, .parent = -1, .number = number };
	snprintf(p->name, sizeof(p->name), "%s", name);
	r->m->parts++;
	return 0;
}

/* Reads "under PARENT" from word 2 on, for the part that was added last. */
static int read_parent(struct reader *r)
{
	struct rn_machine_part *p = &r->m->part[r->m->parts - 1];
	int parent = r->words >= 4 && !strcmp(r->word[2], "under")
			     ? find_name(r->m, r->word[3])
			     : -1;

	if (r->words < 4 || strcmp(r->word[2], "under") != 0)
		return wrong(r,
			     "\"%s %s\" wants \"under\" and the name of a root or a "
			     "switch",
			     r->word[0], r->word[1]);
	if (parent < 0 ||
	    (r->m->part[parent].kind != RN_MACHINE_ROOT &&
	     r->m->part[parent].kind != RN_MACHINE_SWITCH) ||
	    &r->m->part[parent] == p)
		return wrong(r, "there is no root or switch \"%s\" in the lines before",
			     r->word[3]);
	p->parent = parent;
	return 0;
}

static int read_root(struct reader *r)
{
	char rest;
	unsigned node = 0;

	if (r->words == 4 && (strcmp(r->word[2], "numa") != 0 ||
			      sscanf(r->word[3], "%2u%c", &node, &rest) != 1))
		return wrong(r, "\"%s %s\" is not like numa 0", r->word[2], r->word[3]);
	if (r->words != 2 && r->words != 4)
		return wrong(r, "a root is \"root NAME\" or \"root NAME numa N\"");
	return add_part(r, RN_MACHINE_ROOT, r->word[1], node);
}

static int read_device(struct reader *r)
{
	static const struct {
		const char *word;
		enum rn_machine_kind kind;
		unsigned limit; /* of numbers; 0: it has a name */
	} kinds[] = {
		{ "switch", RN_MACHINE_SWITCH, 0 },
		{ "nic", RN_MACHINE_NIC, 0 },
		{ "gpu", RN_MACHINE_GPU, RN_MACHINE_GPUS },
		{ "nvme", RN_MACHINE_NVME, RN_MACHINE_DRIVES },
	};
	char name[RN_MACHINE_NAME * 2];
	unsigned k = 0;
	int number = 0, err;

	while (k < RN_ARRAY_SIZE(kinds) && strcmp(r->word[0], kinds[k].word) != 0)
		k++;
	if (k == RN_ARRAY_SIZE(kinds))
		return wrong(r, "\"%s\" is none of root, switch, gpu, nvme, nic, nvlink",
			     r->word[0]);
	if (r->words < 2 || strlen(r->word[1]) >= RN_MACHINE_NAME)
		return wrong(r, "\"%s\" wants a name of less than %d bytes", r->word[0],
			     RN_MACHINE_NAME);
	snprintf(name, sizeof(name), "%s%s", kinds[k].limit > 0 ? kinds[k].word : "",
		 r->word[1]);
	if (kinds[k].limit > 0) {
		number = read_unit(name, kinds[k].word, kinds[k].limit);
		if (number < 0)
			return wrong(r, "\"%s\" is no number of a %s, 0 to %u",
				     r->word[1], kinds[k].word, kinds[k].limit - 1);
	}
	err = add_part(r, kinds[k].kind, name, (unsigned)number);
	return err ? err : read_parent(r);
}

/* Reads what may follow "under PARENT": of a drive "path DIR". */
static int read_rest(struct reader *r)
{
	struct rn_machine_part *p = &r->m->part[r->m->parts - 1];

	if (r->words == 4)
		return 0;
	if (p->kind != RN_MACHINE_NVME || r->words != 6 ||
	    strcmp(r->word[4], "path") != 0)
		return wrong(r, "\"%s\" is not expected here", r->word[4]);
	if (r->word[5][0] != '/' || strlen(r->word[5]) >= RN_MACHINE_PATH ||
	    strpbrk(r->word[5], ",="))
		return wrong(r,
			     "\"%s\" is no absolute path without comma and equals sign",
			     r->word[5]);
	snprintf(p->path, sizeof(p->path), "%s", r->word[5]);
	return 0;
}

static int read_link(struct reader *r)
{
	struct rn_machine_link *l = &r->m->link[r->m->links];
	int a = r->words >= 3 ? read_unit(r->word[1], "gpu", RN_MACHINE_GPUS) : -1;
	int b = r->words >= 3 ? read_unit(r->word[2], "gpu", RN_MACHINE_GPUS) : -1;
	unsigned lanes = 1;
	char rest;

	if (a < 0 || b < 0 || a == b || r->words > 4 ||
	    (r->words == 4 &&
	     (sscanf(r->word[3], "x%2u%c", &lanes, &rest) != 1 || lanes == 0)))
		return wrong(r, "an NVLink is \"nvlink gpu0 gpu1\", and x18 behind it if "
				"there are 18");
	if (find_name(r->m, r->word[1]) < 0 || find_name(r->m, r->word[2]) < 0)
		return wrong(r, "there is no %s in the lines before",
			     find_name(r->m, r->word[1]) < 0 ? r->word[1] : r->word[2]);
	if (r->m->links == RN_MACHINE_LINKS)
		return wrong(r, "more than %d NVLinks", RN_MACHINE_LINKS);
	*l = (struct rn_machine_link){ (unsigned)a, (unsigned)b, lanes };
	r->m->links++;
	return 0;
}

static int read_line(struct reader *r, char *line)
{
	char *save = NULL;
	int err;

	line[strcspn(line, "#")] = '\0';
	r->words = 0;
	for (char *w = strtok_r(line, " \t\r", &save); w;
	     w = strtok_r(NULL, " \t\r", &save)) {
		if (r->words == WORDS)
			return wrong(r, "more than %d words", WORDS);
		r->word[r->words++] = w;
	}
	if (r->words == 0)
		return 0;
	if (!strcmp(r->word[0], "root"))
		return r->words < 2 ? wrong(r, "a root wants a name") : read_root(r);
	if (!strcmp(r->word[0], "nvlink"))
		return read_link(r);
	err = read_device(r);
	return err ? err : read_rest(r);
}

int rn_machine_parse(struct rn_machine *m, const char *text, char *err, size_t err_len)
{
	struct reader r = { .m = m, .err = err, .err_len = err_len };
	char line[LINE];
	int rc = 0;

	memset(m, 0, sizeof(*m));
	while (*text != '\0' && !rc) {
		size_t len = strcspn(text, "\n");

		r.line++;
		if (len >= sizeof(line))
			return wrong(&r, "a line of more than %d bytes", LINE - 1);
		memcpy(line, text, len);
		line[len] = '\0';
		rc = read_line(&r, line);
		text += len + (text[len] == '\n');
	}
	if (!rc && m->parts == 0)
		return wrong(&r, "nothing is there");
	return rc;
}

int rn_machine_read(struct rn_machine *m, const char *path, char *err, size_t err_len)
{
	char *text = calloc(1, FILE_MAX);
	int fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got = fd < 0 ? -1 : read(fd, text, FILE_MAX);
	int rc = !text ? -ENOMEM : got < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (rc)
		snprintf(err, err_len, "topology %s: %s", path, strerror(-rc));
	else if (got == FILE_MAX || (text && memchr(text, '\0', (size_t)got)))
		rc = -EINVAL;
	if (rc == -EINVAL)
		snprintf(err, err_len, "topology %s: no text of less than %d bytes", path,
			 FILE_MAX);
	if (!rc)
		rc = rn_machine_parse(m, text, err, err_len);
	free(text);
	return rc;
}
