/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* source-reuse.c - when may the program write to the source buffer of a WRITE again?
 *
 * Without --mended, the program writes to it right after ibv_post_send(); with --mended,
 * after the completion of the WRITE.
 */
#include <string.h>

#include "example.h"

enum {
	MESSAGES = 2000,
	NEXT = 0x77, /* bytes of the next message, which is not posted yet */
};

static bool is_all_new(const uint8_t *data)
{
	for (unsigned i = 0; i < DATA; i++)
		if (data[i] != NEW)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct ibv_mr *from, *to;
	struct example e;

	example_open(&e, argc, argv);
	from = example_region(&e, NULL, DATA);
	to = example_region(&e, NULL, DATA);

	for (unsigned n = 0; n < MESSAGES; n++) {
		memset(from->addr, NEW, DATA);
		example_post_recv(&e, RECEIVER, NULL, 0);
		example_post(
			&e, SENDER,
			(struct example_request){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
						  .local = from,
						  .remote = to,
						  .len = DATA });
		if (e.is_mended)
			example_poll(&e, SENDER);
		memset(from->addr, NEXT, DATA);
		if (!e.is_mended)
			example_poll(&e, SENDER);
		example_poll(&e, RECEIVER);
		if (!is_all_new(to->addr))
			example_end(false, "bytes of the next message were sent");
	}
	example_end(true, "%d messages, none with bytes of the next", MESSAGES);
}
