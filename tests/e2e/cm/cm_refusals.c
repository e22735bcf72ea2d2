/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_refusals.c - what librdmacm reports if a connection fails: no program listens, the
 * program rejects the request, the peer believes that the queue pair is connected
 * already, or there is no peer.
 *
 * usage: cm_refusals ADDRESS nobody|consumer|stale|unreachable
 */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PATIENCE_S = 1500, /* time limit in s; the peer gets 16 REQs, 6.4 s apart */
	RESOLVE_MS = 60000,
	QPN = 0x1234, /* number of a queue pair that does not exist */
	REJ_DATA = 148,
};

static struct rdma_event_channel *asker, *asked;

#define check(what, is_good)                                            \
	do {                                                            \
		if (!(is_good)) {                                       \
			printf("FAILED: %s (errno %d)\n", what, errno); \
			exit(1);                                        \
		}                                                       \
	} while (0)

/* Takes the next event, which must have this type and status. */
static struct rdma_cm_event *expect(struct rdma_event_channel *channel,
				    enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *ev = NULL;

	check("rdma_get_cm_event", rdma_get_cm_event(channel, &ev) == 0);
	if (ev->event == type && ev->status == status)
		return ev;
	printf("FAILED: %s with status %d, and not %s with %d\n",
	       rdma_event_str(ev->event), ev->status, rdma_event_str(type), status);
	exit(1);
}

static void take(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(expect(channel, type, 0));
}

static struct rdma_addrinfo *address_of(const char *name, const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *info = NULL;

	check("rdma_getaddrinfo",
	      rdma_getaddrinfo((char *)name, (char *)port, &hints, &info) == 0);
	return info;
}

/* Listens on a port that the system chooses, and writes its number to @port. */
static struct rdma_cm_id *listen_at(const char *name, char *port, size_t size)
{
	struct rdma_addrinfo *info = address_of(name, "0", RAI_PASSIVE);
	struct rdma_cm_id *id = NULL;

	check("rdma_create_id", rdma_create_id(asked, &id, NULL, RDMA_PS_TCP) == 0);
	check("rdma_bind_addr", rdma_bind_addr(id, info->ai_src_addr) == 0);
	check("rdma_listen", rdma_listen(id, 4) == 0);
	snprintf(port, size, "%u", (unsigned)be16toh(rdma_get_src_port(id)));
	rdma_freeaddrinfo(info);
	return id;
}

static struct rdma_cm_id *ask(const char *name, const char *port)
{
	struct rdma_addrinfo *info = address_of(name, port, 0);
	struct rdma_conn_param param = {
		.private_data = "hello",
		.private_data_len = 6,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = QPN,
	};
	struct rdma_cm_id *id = NULL;

	check("rdma_create_id", rdma_create_id(asker, &id, NULL, RDMA_PS_TCP) == 0);
	check("rdma_resolve_addr",
	      rdma_resolve_addr(id, NULL, info->ai_dst_addr, RESOLVE_MS) == 0);
	take(asker, RDMA_CM_EVENT_ADDR_RESOLVED);
	check("rdma_resolve_route", rdma_resolve_route(id, RESOLVE_MS) == 0);
	take(asker, RDMA_CM_EVENT_ROUTE_RESOLVED);
	check("rdma_connect", rdma_connect(id, &param) == 0);
	rdma_freeaddrinfo(info);
	return id;
}

/* Checks the private data: it has the length of the whole field in the message, with
 * zeros behind the given bytes.
 */
static void ask_nobody(const char *name)
{
	char port[8];
	struct rdma_cm_id *id;

	/* A port that was free a moment ago. */
	rdma_destroy_id(listen_at(name, port, sizeof(port)));
	id = ask(name, port);
	rdma_ack_cm_event(expect(asker, RDMA_CM_EVENT_REJECTED, 8));
	rdma_destroy_id(id);
}

static void be_refused(const char *name)
{
	static const char why[] = "not today";
	struct rdma_cm_event *ev;
	struct rdma_cm_id *listener, *id, *request;
	char port[8];

	listener = listen_at(name, port, sizeof(port));
	id = ask(name, port);
	ev = expect(asked, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	request = ev->id;
	check("the private data of the request",
	      ev->param.conn.private_data_len >= 6 &&
		      !memcmp(ev->param.conn.private_data, "hello", 6));
	check("the queue pair of the request", ev->param.conn.qp_num == QPN);
	rdma_ack_cm_event(ev);
	check("rdma_reject", rdma_reject(request, why, sizeof(why)) == 0);
	ev = expect(asker, RDMA_CM_EVENT_REJECTED, 28);
	check("the private data of the refusal",
	      ev->param.conn.private_data_len == REJ_DATA &&
		      !memcmp(ev->param.conn.private_data, why, sizeof(why)));
	rdma_ack_cm_event(ev);
	rdma_destroy_id(request);
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
}

/* A second connection of the same queue pair ends the first one, because its owner must
 * have lost the connection.
 */
static void be_stale(const char *name)
{
	struct rdma_conn_param param = { .qp_num = QPN + 1 };
	struct rdma_cm_event *ev;
	struct rdma_cm_id *listener, *first, *second, *request;
	char port[8];

	listener = listen_at(name, port, sizeof(port));
	first = ask(name, port);
	ev = expect(asked, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	request = ev->id;
	rdma_ack_cm_event(ev);
	check("rdma_accept", rdma_accept(request, &param) == 0);
	take(asker, RDMA_CM_EVENT_CONNECT_RESPONSE);
	check("rdma_establish", rdma_establish(first) == 0);
	take(asked, RDMA_CM_EVENT_ESTABLISHED);
	second = ask(name, port);
	/* The order of the two events is not specified. */
	check("rdma_get_cm_event", rdma_get_cm_event(asker, &ev) == 0);
	check("REJECTED with status 10 on the second",
	      ev->id == first ||
		      (ev->event == RDMA_CM_EVENT_REJECTED && ev->status == 10));
	check("DISCONNECTED on the first",
	      ev->id == second || ev->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_ack_cm_event(ev);
	check("rdma_get_cm_event", rdma_get_cm_event(asker, &ev) == 0);
	check("both events", ev->event == RDMA_CM_EVENT_REJECTED ||
				     ev->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_ack_cm_event(ev);
	rdma_destroy_id(second);
	rdma_destroy_id(first);
	rdma_destroy_id(request);
	rdma_destroy_id(listener);
}

/* Sends requests that are all lost. */
static void find_nobody(const char *name)
{
	struct rdma_cm_id *id = ask(name, "7174");

	rdma_ack_cm_event(expect(asker, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT));
	rdma_destroy_id(id);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *address);
	} tests[] = {
		{ "nobody", ask_nobody },
		{ "consumer", be_refused },
		{ "stale", be_stale },
		{ "unreachable", find_nobody },
	};

	alarm(PATIENCE_S);
	setvbuf(stdout, NULL, _IOLBF, 0);
	check("two arguments", argc == 3);
	asker = rdma_create_event_channel();
	asked = rdma_create_event_channel();
	check("rdma_create_event_channel", asker && asked);
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (strcmp(tests[i].name, argv[2]) != 0)
			continue;
		tests[i].run(argv[1]);
		printf("ok: %s\n", argv[2]);
		return 0;
	}
	check("a test of this name", false);
}
