/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device_events.c - say what happens to the device, and what its tables hold.
 *
 * Two contexts of one device. Events are read without waiting and printed as they come,
 * "event CONTEXT NAME ELEMENT"; lines on standard input are questions:
 *
 *	port	"port active", "port down"
 *	gids	a line "gid INDEX ADDRESS" for each GID, as all ways to query agree
 *	new	"new ERRNO": a QP more
 *	ask N	"asked N"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "tests/e2e/kit/loop.h"

enum {
	CONTEXTS = 2,
	GIDS_MAX = 64,
	PATIENCE_MS = 300000,
};

static void print_event(unsigned context, struct ibv_async_event *ev)
{
	printf("event %u %s %d\n", context, ibv_event_type_str(ev->event_type),
	       ev->element.port_num);
	ibv_ack_async_event(ev);
}

static void print_events(struct ibv_context *ctx, unsigned context)
{
	struct ibv_async_event ev;

	while (ibv_get_async_event(ctx, &ev) == 0)
		print_event(context, &ev);
	EXPECT(errno == EAGAIN);
}

static void print_port(struct ibv_context *ctx)
{
	struct ibv_port_attr port;

	EXPECT(ibv_query_port(ctx, 1, &port) == 0);
	printf("port %s\n", port.state == IBV_PORT_ACTIVE ? "active" : "down");
}

/* Reads the GID at @index by all functions for this. Returns true if all of them, and
 * @entry of the table that was read before, have the same GID. They may differ if the
 * address has changed in between.
 */
static bool is_same_gid(struct ibv_context *ctx, int index,
			const struct ibv_gid_entry *entry, union ibv_gid *gid)
{
	struct ibv_gid_entry one;

	EXPECT(ibv_query_gid(ctx, 1, index, gid) == 0);
	if (!entry)
		return ibv_query_gid_ex(ctx, 1, (uint32_t)index, &one, 0) != 0 &&
		       memcmp(gid, &(union ibv_gid){ 0 }, sizeof(*gid)) == 0;
	return ibv_query_gid_ex(ctx, 1, (uint32_t)index, &one, 0) == 0 &&
	       one.gid_type == IBV_GID_TYPE_ROCE_V2 &&
	       memcmp(&one.gid, gid, sizeof(*gid)) == 0 &&
	       memcmp(&entry->gid, gid, sizeof(*gid)) == 0;
}

/* Reads the GID table, and then each GID. Returns the number of GIDs in @table; -1: the
 * functions return different GIDs.
 */
static ssize_t read_gids(struct ibv_context *ctx, struct ibv_gid_entry *table)
{
	ssize_t count = ibv_query_gid_table(ctx, table, GIDS_MAX, 0);
	struct ibv_port_attr port;
	ssize_t used = 0;

	EXPECT(count >= 0);
	EXPECT(ibv_query_port(ctx, 1, &port) == 0);
	for (int i = 0; i < port.gid_tbl_len; i++) {
		bool is_used = used < count && table[used].gid_index == (uint32_t)i;
		union ibv_gid gid;

		if (!is_same_gid(ctx, i, is_used ? &table[used] : NULL, &gid))
			return -1;
		used += is_used;
	}
	return used == count ? count : -1;
}

static void print_gids(struct ibv_context *ctx)
{
	struct ibv_gid_entry table[GIDS_MAX];
	ssize_t count = -1;

	/* The test changes an address and reads the GIDs at once, so the reading may have
	 * to be repeated.
	 */
	for (unsigned ms = 0; count < 0; ms++) {
		EXPECT(ms < PATIENCE_MS);
		count = read_gids(ctx, table);
		if (count < 0)
			poll(NULL, 0, 1);
	}
	for (ssize_t i = 0; i < count; i++) {
		char text[INET6_ADDRSTRLEN];

		printf("gid %u %s\n", table[i].gid_index,
		       inet_ntop(AF_INET6, &table[i].gid, text, sizeof(text)));
	}
}

static void print_new_qp(const struct loop *l)
{
	struct ibv_qp_init_attr attr = { .send_cq = l->cq,
					 .recv_cq = l->cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_UD };
	struct ibv_qp *qp = ibv_create_qp(l->pd, &attr);

	printf("new %d\n", qp ? 0 : errno);
	if (qp)
		EXPECT(ibv_destroy_qp(qp) == 0);
}

/* Answers a question. Returns false at the end of the input. */
static bool answer(const struct loop *l)
{
	char line[64];

	if (!fgets(line, sizeof(line), stdin))
		return false;
	if (!strcmp(line, "port\n"))
		print_port(l->ctx);
	else if (!strcmp(line, "gids\n"))
		print_gids(l->ctx);
	else if (!strcmp(line, "new\n"))
		print_new_qp(l);
	else
		printf("asked %s", line);
	return true;
}

int main(void)
{
	struct pollfd p[CONTEXTS + 1] = { { .fd = 0, .events = POLLIN } };
	struct ibv_context *ctx[CONTEXTS];
	struct loop l = { .ctx = NULL };
	struct ibv_qp *qp;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		ctx[i] = loop_open_device();
		EXPECT(fcntl(ctx[i]->async_fd, F_SETFL, O_NONBLOCK) == 0);
		p[1 + i] = (struct pollfd){ .fd = ctx[i]->async_fd, .events = POLLIN };
	}
	l.ctx = ctx[0];
	l.pd = ibv_alloc_pd(l.ctx);
	l.cq = ibv_create_cq(l.ctx, 16, NULL, NULL, 0);
	EXPECT(l.pd && l.cq);
	qp = loop_create_qp(&l); /* from here on, the device is in use */
	printf("ready\n");
	for (;;) {
		EXPECT(poll(p, CONTEXTS + 1, -1) > 0);
		for (unsigned i = 0; i < CONTEXTS; i++)
			print_events(ctx[i], i);
		if (p[0].revents && !answer(&l))
			break;
	}
	EXPECT(ibv_destroy_qp(qp) == 0);
	EXPECT(ibv_destroy_cq(l.cq) == 0);
	EXPECT(ibv_dealloc_pd(l.pd) == 0);
	for (unsigned i = 0; i < CONTEXTS; i++)
		EXPECT(ibv_close_device(ctx[i]) == 0);
	printf("closed\n");
	return 0;
}
