/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_devices.c - a program of librdmacm on a host with two devices.
 *
 * usage: cm_devices ADDRESS-OF-ROCIN0 ADDRESS-OF-ROCIN1 ADDRESS-OF-NO-DEVICE
 *
 * This program is both sides of each connection. It needs no queue pairs, because it
 * examines and rejects each connection request.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/kit/expect.h"

enum {
	REJECT_NO_LISTENER = 8, /* IBTA Vol 1, 12.6.7.2: invalid service ID */
	/* the reason if a program listens on this port at another address */
	REJECT_CONSUMER = 28,
	DEVICES = 2
};

static const char *address[DEVICES];
static struct rdma_event_channel *channel;

static struct sockaddr_in ip(const char *text, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	EXPECT(inet_pton(AF_INET, text, &sin.sin_addr) == 1);
	return sin;
}

static struct rdma_cm_id *new_id(void)
{
	struct rdma_cm_id *id;

	EXPECT(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
	return id;
}

static int bind_to(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	struct sockaddr_in sin = ip(text, port);

	return rdma_bind_addr(id, (struct sockaddr *)&sin);
}

static bool is_on(const struct rdma_cm_id *id, unsigned device)
{
	char name[16];

	snprintf(name, sizeof(name), "rocin%u", device);
	return id->verbs && strcmp(ibv_get_device_name(id->verbs->device), name) == 0;
}

static bool is_local(struct rdma_cm_id *id, const char *text)
{
	const struct sockaddr_in *sin = (struct sockaddr_in *)rdma_get_local_addr(id);

	return sin->sin_family == AF_INET &&
	       sin->sin_addr.s_addr == ip(text, 0).sin_addr.s_addr;
}

/* Takes the next event, which must be of this type. Returns its status, and sets *@id to
 * its id.
 */
static int next(enum rdma_cm_event_type type, struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	int status;

	EXPECT(rdma_get_cm_event(channel, &event) == 0);
	if (event->event != type)
		fprintf(stderr, "%s\n", rdma_event_str(event->event));
	EXPECT(event->event == type);
	status = event->status;
	if (id)
		*id = event->id;
	EXPECT(rdma_ack_cm_event(event) == 0);
	return status;
}

/* Sends a connection request. @from: source address, or NULL. */
static struct rdma_cm_id *ask(const char *from, const char *to, uint16_t port)
{
	struct sockaddr_in src = ip(from ? from : "0.0.0.0", 0), dst = ip(to, port);
	struct rdma_conn_param param = { .qp_num = 0x1234, .retry_count = 7 };
	struct rdma_cm_id *id = new_id();

	EXPECT(rdma_resolve_addr(id, from ? (struct sockaddr *)&src : NULL,
				 (struct sockaddr *)&dst, 60000) == 0);
	EXPECT(next(RDMA_CM_EVENT_ADDR_RESOLVED, NULL) == 0);
	EXPECT(id->verbs);
	EXPECT(rdma_resolve_route(id, 60000) == 0);
	EXPECT(next(RDMA_CM_EVENT_ROUTE_RESOLVED, NULL) == 0);
	EXPECT(rdma_connect(id, &param) == 0);
	return id;
}

static void arrives_on(unsigned device, const char *to, uint16_t port)
{
	struct rdma_cm_id *client = ask(NULL, to, port), *asked;

	EXPECT(next(RDMA_CM_EVENT_CONNECT_REQUEST, &asked) == 0);
	EXPECT(is_on(asked, device));
	EXPECT(is_local(asked, to));
	EXPECT(rdma_reject(asked, NULL, 0) == 0);
	EXPECT(next(RDMA_CM_EVENT_REJECTED, NULL) == REJECT_CONSUMER);
	EXPECT(rdma_destroy_id(asked) == 0);
	EXPECT(rdma_destroy_id(client) == 0);
}

static void both_are_there(void)
{
	struct ibv_context **list;
	int count;

	list = rdma_get_devices(&count);
	EXPECT(list && count == DEVICES);
	for (unsigned i = 0; i < DEVICES; i++) {
		struct rdma_cm_id *id = new_id();

		EXPECT(bind_to(id, address[i], 0) == 0);
		EXPECT(is_on(id, i));
		EXPECT(is_local(id, address[i]));
		EXPECT(rdma_get_src_port(id) != 0);
		EXPECT(id->verbs == list[0] || id->verbs == list[1]);
		EXPECT(rdma_destroy_id(id) == 0);
	}
	rdma_free_devices(list);
}

static void a_wildcard_takes_requests_to_both(void)
{
	struct rdma_cm_id *listener = new_id();
	uint16_t port;

	EXPECT(bind_to(listener, "0.0.0.0", 0) == 0);
	EXPECT(!listener->verbs);
	EXPECT(rdma_listen(listener, 4) == 0);
	port = ntohs(rdma_get_src_port(listener));
	for (unsigned i = 0; i < DEVICES; i++)
		arrives_on(i, address[i], port);
	EXPECT(rdma_destroy_id(listener) == 0);
}

static void a_listener_of_one_is_none_of_the_other(void)
{
	struct rdma_cm_id *listener = new_id(), *client;
	uint16_t port;

	EXPECT(bind_to(listener, address[1], 0) == 0);
	EXPECT(rdma_listen(listener, 4) == 0);
	port = ntohs(rdma_get_src_port(listener));
	arrives_on(1, address[1], port);
	client = ask(NULL, address[0], port);
	EXPECT(next(RDMA_CM_EVENT_REJECTED, NULL) == REJECT_CONSUMER);
	EXPECT(rdma_destroy_id(client) == 0);
	EXPECT(rdma_destroy_id(listener) == 0);
	client = ask(NULL, address[1], port);
	EXPECT(next(RDMA_CM_EVENT_REJECTED, NULL) == REJECT_NO_LISTENER);
	EXPECT(rdma_destroy_id(client) == 0);
}

static void the_source_address_chooses_the_device(void)
{
	struct rdma_cm_id *listener = new_id(), *client, *asked;
	uint16_t port;

	EXPECT(bind_to(listener, address[0], 0) == 0);
	EXPECT(rdma_listen(listener, 4) == 0);
	port = ntohs(rdma_get_src_port(listener));
	for (unsigned i = 0; i < DEVICES; i++) {
		client = ask(address[i], address[0], port);
		EXPECT(is_on(client, i));
		EXPECT(is_local(client, address[i]));
		EXPECT(next(RDMA_CM_EVENT_CONNECT_REQUEST, &asked) == 0);
		EXPECT(is_on(asked, 0));
		/* If the id of a request is destroyed, the request is rejected. */
		EXPECT(rdma_destroy_id(asked) == 0);
		EXPECT(next(RDMA_CM_EVENT_REJECTED, NULL) == REJECT_CONSUMER);
		EXPECT(rdma_destroy_id(client) == 0);
	}
	EXPECT(rdma_destroy_id(listener) == 0);
}

static void other_addresses_are_refused(const char *no_device)
{
	struct rdma_cm_id *id = new_id();

	EXPECT(bind_to(id, no_device, 0) == -1 && errno == ENODEV);
	EXPECT(bind_to(id, "192.0.2.1", 0) == -1 && errno == EADDRNOTAVAIL);
	EXPECT(bind_to(id, address[0], 0) == 0);
	EXPECT(rdma_destroy_id(id) == 0);
}

static void names_are_found(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE | RAI_NUMERICHOST,
				       .ai_port_space = RDMA_PS_UDP };
	struct rdma_addrinfo *found;
	struct rdma_cm_id *id;

	EXPECT(rdma_getaddrinfo(address[1], "7471", &hints, &found) == 0);
	EXPECT(found->ai_family == AF_INET && found->ai_port_space == RDMA_PS_UDP);
	EXPECT(found->ai_src_len == sizeof(struct sockaddr_in) && !found->ai_dst_len);
	rdma_freeaddrinfo(found);

	hints = (struct rdma_addrinfo){ .ai_flags = RAI_PASSIVE,
					.ai_port_space = RDMA_PS_TCP };
	EXPECT(rdma_getaddrinfo(address[1], NULL, &hints, &found) == 0);
	EXPECT(rdma_create_ep(&id, found, NULL, NULL) == 0);
	EXPECT(is_on(id, 1));
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(found);

	EXPECT(rdma_getaddrinfo(address[0], "7471", NULL, &found) == 0);
	EXPECT(found->ai_family == AF_INET && !found->ai_src_len);
	EXPECT(found->ai_dst_len == sizeof(struct sockaddr_in));
	EXPECT(((struct sockaddr_in *)found->ai_dst_addr)->sin_port == htons(7471));
	rdma_freeaddrinfo(found);
	EXPECT(rdma_getaddrinfo("not.an.address.invalid", NULL, &hints, &found) != 0);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr,
			"usage: cm_devices ADDRESS ADDRESS ADDRESS-OF-NO-DEVICE\n");
		return 64;
	}
	address[0] = argv[1];
	address[1] = argv[2];
	channel = rdma_create_event_channel();
	EXPECT(channel);
	both_are_there();
	a_wildcard_takes_requests_to_both();
	a_listener_of_one_is_none_of_the_other();
	the_source_address_chooses_the_device();
	other_addresses_are_refused(argv[3]);
	names_are_found();
	rdma_destroy_event_channel(channel);
	printf("ok\n");
	return 0;
}
