/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* view.c - reads devices from the tree, and asks rocind which objects the programs have.
 */
#include "view.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/io/host/runtime_dir.h"
#include "transport/io/rocind/ctl.h"
#include "transport/io/rocind/stats_ended.h"

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
	fd = rn_open_plain(AT_FDCWD, path, O_RDONLY);
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

/* Asks rocind for the statistics pages of the programs that use devices. If rocind is not
 * running, the list is empty.
 */
static void ask_rocind(struct rn_stats_list *list)
{
	struct rn_rocind *r = rn_rocind_connect_running(NULL, 0);

	*list = (struct rn_stats_list){ 0 };
	if (r)
		(void)rn_stats_gather(r, list, NULL, 0);
	rn_rocind_close(r);
}

/* A device whose counters are wanted, and where to store those of the programs that have
 * ended.
 */
struct wanted {
	const char *ibdev;
	uint64_t *ended; /* out: RN_STAT_COUNT counters */
};

static uint64_t read_ended(const char *dir, const struct wanted *wanted, unsigned count)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < count; i++)
		number = rn_stats_ended_read(dir, wanted[i].ibdev, wanted[i].ended);
	return number;
}

/* Gathers the statistics of the running programs, and the counters of those that have
 * ended. Starts again if a program ends meanwhile: its counters could have been counted
 * twice or not at all.
 */
static void gather_programs(struct rn_stats_list *list, const struct wanted *wanted,
			    unsigned count)
{
	char dir[RN_RUNTIME_PATH_MAX] = "";
	uint64_t before, after;

	(void)rn_runtime_dir(dir, sizeof(dir), NULL, 0);
	before = read_ended(dir, wanted, count);
	for (unsigned tries = 0; tries < 4; tries++) {
		ask_rocind(list);
		after = read_ended(dir, wanted, count);
		if (after == before || tries == 3)
			return;
		rn_stats_list_free(list);
		before = after;
	}
}

static void copy_cm_id(struct rnk_nl_cm_id *to, const struct rn_ctl_cm_id *from)
{
	*to = (struct rnk_nl_cm_id){ .pid = from->pid,
				     .number = from->number,
				     .port_space = from->port_space,
				     .qpn = from->qpn,
				     .qp_type = from->qp_type,
				     .state = from->state };
	memcpy(to->ibdev, from->ibdev, sizeof(to->ibdev));
	memcpy(&to->src, from->src, sizeof(from->src));
	memcpy(&to->dst, from->dst, sizeof(from->dst));
}

/* Asks rocind for the rdma_cm ids. If rocind is not running, there are none. */
static void gather_cm_ids(struct rnk_nl_gathered *g)
{
	struct rn_rocind *r = rn_rocind_connect_running(NULL, 0);
	struct rn_ctl_cm_id *ids = NULL;
	size_t count = 0;

	if (r && rn_rocind_list_cm_ids(r, &ids, &count, NULL, 0) == 0)
		g->cm_ids = calloc(count + 1, sizeof(*g->cm_ids));
	rn_rocind_close(r);
	for (size_t i = 0; g->cm_ids && i < count; i++)
		copy_cm_id(&g->cm_ids[i], &ids[i]);
	g->view.cm_id = g->cm_ids;
	g->view.cm_id_count = g->cm_ids ? count : 0;
	free(ids);
}

void rnk_nl_gather(struct rnk_nl_gathered *g, const char *tree, unsigned needs)
{
	struct wanted wanted[RN_NETDEV_MAX];
	unsigned count = 0;

	for (; count < RN_ARRAY_SIZE(g->device) &&
	       read_device(tree, count, &g->device[count]);
	     count++) {
		g->device[count].ended = g->ended[count];
		wanted[count] = (struct wanted){ g->device[count].name, g->ended[count] };
	}
	g->programs = (struct rn_stats_list){ 0 };
	if (needs & RNK_NL_PROGRAMS)
		gather_programs(&g->programs, wanted, count);
	g->view = (struct rnk_nl_view){ .device = g->device,
					.device_count = count,
					.programs = &g->programs };
	g->cm_ids = NULL;
	if (needs & RNK_NL_CM_IDS)
		gather_cm_ids(g);
}

void rnk_nl_release(struct rnk_nl_gathered *g)
{
	rn_stats_list_free(&g->programs);
	free(g->cm_ids);
}

void rnk_nl_sum_counters(const char *ibdev, uint64_t counter[RN_STAT_COUNT])
{
	uint64_t ended[RN_STAT_COUNT];
	const struct wanted wanted = { ibdev, ended };
	struct rn_stats_list programs;

	gather_programs(&programs, &wanted, 1);
	for (unsigned i = 0; i < RN_STAT_COUNT; i++)
		counter[i] = rnk_nl_counter(&programs, ibdev, ended, (enum rn_stat)i);
	rn_stats_list_free(&programs);
}
