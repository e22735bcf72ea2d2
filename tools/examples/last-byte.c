/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* last-byte.c - polls the first and the last byte of a WRITE to host memory.
 *
 * When the receiver sees both new bytes, it may still see old bytes between them. With
 * --mended, the receiver polls the completion of a WRITE WITH IMMEDIATE instead.
 */
#include <string.h>

#include "example.h"

enum {
	MESSAGES = 500
};

static bool is_new(const uint8_t *byte)
{
	return __atomic_load_n(byte, __ATOMIC_ACQUIRE) == NEW;
}

/* Waits for one message. Returns false if some of its bytes are old. */
static bool await_message(struct example *e, const uint8_t *data)
{
	if (e->is_mended) {
		example_poll(e, RECEIVER);
	} else {
		while (!is_new(&data[0]) || !is_new(&data[DATA - 1]))
			;
	}
	for (unsigned i = 0; i < DATA; i++)
		if (!is_new(&data[i]))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct ibv_mr *from, *to;
	struct example e;

	example_open(&e, argc, argv);
	from = example_region(&e, NULL, DATA);
	memset(from->addr, NEW, DATA);
	to = example_region(&e, NULL, DATA);

	for (unsigned n = 0; n < MESSAGES; n++) {
		memset(to->addr, 0, DATA);
		if (e.is_mended)
			example_post_recv(&e, RECEIVER, NULL, 0);
		example_post(&e, SENDER,
			     (struct example_request){
				     .opcode = e.is_mended ? IBV_WR_RDMA_WRITE_WITH_IMM
							   : IBV_WR_RDMA_WRITE,
				     .local = from,
				     .remote = to,
				     .len = DATA });
		if (!await_message(&e, to->addr))
			example_end(false, "first and last byte were new, others old");
		example_poll(&e, SENDER);
	}
	example_end(true, "%d messages, all bytes new", MESSAGES);
}
