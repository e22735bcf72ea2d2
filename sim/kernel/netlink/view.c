/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* view.c - reads devices from the tree, and asks rocind for what programs have. */
#include "view.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CLASS "sys/class/infiniband"

/* Reads a file of a device, without the newline at its end. Returns false if it cannot be
 * read.
 */
static bool read_file(const char *tree, unsigned number, const char *name, char *text,
		      size_t size)
{
	char path[PATH_MAX];
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/" CLASS "/rocin%u/%s", tree, number, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return len > 0;
}

/* Returns the number in text such as "061f:acdc:9e6d:62f2". */
static uint64_t parse_guid(const char *text)
{
	uint64_t guid = 0;

	for (; *text; text++) {
		unsigned c = (unsigned char)*text;

		if (isxdigit((int)c))
			guid = guid << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return guid;
}

static bool read_device(const char *tree, unsigned number, struct rnk_nl_device *dev)
{
	char text[64];

	*dev = (struct rnk_nl_device){ .index = number };
	if (!read_file(tree, number, "node_guid", text, sizeof(text)))
		return false;
	(void)snprintf(dev->name, sizeof(dev->name), "rocin%u", number);
	dev->node_guid = parse_guid(text);
	if (read_file(tree, number, "ports/1/state", text, sizeof(text)))
		dev->up = text[0] == '4'; /* "4: ACTIVE" */
	if (read_file(tree, number, "ports/1/gid_attrs/ndevs/0", dev->ifname,
		      sizeof(dev->ifname)))
		dev->ifindex = if_nametoindex(dev->ifname);
	return true;
}

static void gather_programs(struct rn_stats_list *list)
{
	struct rn_rocind *r = rn_rocind_connect_running(NULL, 0);

	if (r)
		(void)rn_stats_gather(r, list, NULL, 0);
	rn_rocind_close(r);
}

void rnk_nl_gather(struct rnk_nl_gathered *g, const char *tree, unsigned needs)
{
	unsigned count = 0;

	while (count < RN_ARRAY_SIZE(g->device) &&
	       read_device(tree, count, &g->device[count]))
		count++;
	g->programs = (struct rn_stats_list){ 0 };
	if (needs & RNK_NL_PROGRAMS)
		gather_programs(&g->programs);
	g->view = (struct rnk_nl_view){ .device = g->device,
					.device_count = count,
					.programs = &g->programs };
}

void rnk_nl_release(struct rnk_nl_gathered *g)
{
	rn_stats_list_free(&g->programs);
}
