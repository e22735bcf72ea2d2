/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooked.c - run one check, or all of a group: hooked paths|life|signals|NAME */
#include "hooked.h"

#include <stdint.h>
#include <sys/ioctl.h>

#define VERBS_IOCTL 0xc0181b01ul /* RDMA_VERBS_IOCTL */

struct attr {
	uint16_t id, len, flags, elem;
	uint64_t data;
};

struct request {
	uint16_t length, object, method, attr_count;
	uint64_t reserved1;
	uint32_t driver, reserved2;
	struct attr attr[2];
};

int verbs_probe(int fd)
{
	struct request req = { .length = 40,
			       .attr_count = 1,
			       .attr = { { .id = 2, .len = 8, .flags = 1, .data = 1 } } };

	return ioctl(fd, VERBS_IOCTL, &req) == 0 ? 0 : errno;
}

int verbs_comp_channel(int fd)
{
	uint32_t channel = 0;
	struct request req = {
		.length = 56,
		.attr_count = 2,
		.attr = { { .id = 2, .len = 8, .flags = 1, .data = 17 },
			  { .id = 1,
			    .len = 4,
			    .flags = 1,
			    .data = (uintptr_t)&channel } },
	};

	CHECK(ioctl(fd, VERBS_IOCTL, &req) == 0);
	return (int)channel;
}

static unsigned run(const struct check *checks, const char *group, const char *wanted)
{
	unsigned count = 0;

	for (; checks->name; checks++) {
		if (strcmp(wanted, group) && strcmp(wanted, checks->name))
			continue;
		checks->run();
		printf("ok %s\n", checks->name);
		fflush(stdout);
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	return run(path_checks, "paths", argv[1]) + run(life_checks, "life", argv[1]) +
			       run(signal_checks, "signals", argv[1])
		       ? 0
		       : 2;
}
