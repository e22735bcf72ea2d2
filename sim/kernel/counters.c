/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* counters.c - writes the counters of ports into the simulated sysfs; see counters.h. */
#include "counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netlink/view.h"
#include "port_counters.h"
#include "redirect.h"
#include "transport/io/host/runtime_dir.h"

/* Where a directory of counters is in the simulated sysfs, and which of its files are to
 * be written: all of them, or one.
 */
struct place {
	const char *dir; /* directory of the counters; dir_len bytes */
	size_t dir_len;
	const char *file; /* "": all files of the directory */
	bool of_hardware; /* the directory is hw_counters, not counters */
	char ibdev[32];
};

/* Copies the last component of a path of @len bytes to @name. */
static void copy_last(const char *path, size_t len, char *name, size_t size)
{
	size_t begin = len;

	while (begin && path[begin - 1] != '/')
		begin--;
	(void)snprintf(name, size, "%.*s", (int)(len - begin), path + begin);
}

/* Parses a path TREE/.../IBDEV/ports/1/[hw_]counters[/FILE]. Return: false if the path
 * has another form.
 */
static bool parse_path(const char *path, struct place *p)
{
	static const char port[] = "/ports/1/";
	const char *tree = rnk_tree();
	const char *at = tree ? strstr(path, port) : NULL;
	size_t len;

	if (!at || strncmp(path, tree, strlen(tree)) != 0)
		return false;
	copy_last(path, (size_t)(at - path), p->ibdev, sizeof(p->ibdev));
	at += sizeof(port) - 1;
	p->of_hardware = strncmp(at, "hw_", 3) == 0;
	if (p->of_hardware)
		at += 3;
	len = strcspn(at, "/");
	if (len != 8 || strncmp(at, "counters", len) != 0)
		return false;
	at += len;
	p->dir = path;
	p->dir_len = (size_t)(at - path);
	p->file = at + strspn(at, "/");
	return !strchr(p->file, '/');
}

/* Writes a number into a file of the directory, if the file exists. A reader never finds
 * the file empty meanwhile: it is overwritten, and then cut if the new number has fewer
 * digits.
 */
static void write_counter(const struct place *p, const char *name, uint64_t value)
{
	char path[PATH_MAX], text[32];
	int len = snprintf(path, sizeof(path), "%.*s/%s", (int)p->dir_len, p->dir, name);
	int fd = len < (int)sizeof(path) ? rn_open_plain(AT_FDCWD, path, O_WRONLY) : -1;

	if (fd < 0)
		return;
	len = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	if (pwrite(fd, text, (size_t)len, 0) == len)
		(void)!ftruncate(fd, len);
	close(fd);
}

static bool is_wanted(const struct place *p, const char *name)
{
	return !p->file[0] || strcmp(p->file, name) == 0;
}

static void write_hardware_counters(const struct place *p, const uint64_t *counter)
{
	static const char *const names[] = {
#define X(sym, name, report, help) [RN_STAT_##sym] = (name),
		RN_STATS(X)
#undef X
	};

	for (unsigned i = 0; i < RN_STAT_COUNT; i++)
		if (is_wanted(p, names[i]))
			write_counter(p, names[i], counter[i]);
}

static void write_port_counters(const struct place *p, const uint64_t *counter)
{
#define C(sym) counter[RN_STAT_##sym]
#define X(name, divisor, sum)    \
	if (is_wanted(p, #name)) \
		write_counter(p, #name, (sum) / (divisor));
	RNK_PORT_COUNTERS(X)
#undef X
#undef C
}

static void refresh(const struct place *p)
{
	uint64_t counter[RN_STAT_COUNT];

	rnk_nl_sum_counters(p->ibdev, counter);
	if (p->of_hardware)
		write_hardware_counters(p, counter);
	else
		write_port_counters(p, counter);
}

void rnk_counters_refresh(const char *path)
{
	int before, saved_errno = errno;
	struct place p;

	if (!path || !parse_path(path, &p))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	refresh(&p);
	pthread_setcancelstate(before, NULL);
	errno = saved_errno;
}
