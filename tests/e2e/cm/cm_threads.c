/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_threads.c - threads and processes that share descriptors of rdma_cm write random
 * commands to them. There are two channels, and ids are moved from one to the other while
 * other threads use them. Each command must write its answer only to the thread that has
 * sent it. At the end, no objects remain.
 *
 * usage: cm_threads ADDRESS [SEED [COMMANDS]]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"
#include "ucm_order.h"

enum {
	CHANNELS = 2,
	THREADS = 4,
	SLOTS = 32,
	CONNECT_REQUEST = 4,
	PORT = 7470,
};

static int channel[CHANNELS];
/* The ids that threads may use: number of the id plus 1; 0: the slot is free. */
static _Atomic uint32_t slot[SLOTS];
static unsigned commands = 4000;
static uint64_t seed = 1;
static _Atomic unsigned long done, refused;

static uint32_t draw(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*random >> 33) % below;
}

#define ORDER(fd, cmd, in, out) \
	order(fd, RDMA_USER_CM_CMD_##cmd, &(in), sizeof(in), sizeof(out))

/* ---- Commands ---- */

static uint32_t create(int fd)
{
	struct rdma_ucm_create_id_resp resp = { .id = UINT32_MAX };
	struct rdma_ucm_create_id cmd = { .uid = 1, .ps = RDMA_PS_TCP };

	cmd.response = (uintptr_t)&resp;
	EXPECT(ORDER(fd, CREATE_ID, cmd, resp) == 0);
	EXPECT(resp.id != UINT32_MAX);
	return resp.id;
}

static int destroy(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp = { .events_reported = UINT32_MAX };
	struct rdma_ucm_destroy_id cmd = { .id = id };
	int rc;

	cmd.response = (uintptr_t)&resp;
	rc = ORDER(fd, DESTROY_ID, cmd, resp);
	/* A command that has failed must not have written an answer. */
	EXPECT((rc == 0) == (resp.events_reported != UINT32_MAX));
	return rc;
}

static struct in_addr address; /* address of the device */

static struct sockaddr_in6 own_address(uint16_t port)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr = address };
	struct sockaddr_in6 any = { 0 };

	memcpy(&any, &v4, sizeof(v4));
	return any;
}

/* Takes an event, if there is one. Destroys the ids that come with connection requests.
 */
static int take_event(int fd)
{
	struct rdma_ucm_event_resp resp = { .event = UINT32_MAX };
	struct rdma_ucm_get_event cmd = { .response = (uintptr_t)&resp };
	int rc = ORDER(fd, GET_EVENT, cmd, resp);

	EXPECT((rc == 0) == (resp.event != UINT32_MAX));
	if (rc == 0 && resp.event == CONNECT_REQUEST)
		destroy(fd, resp.id);
	return rc;
}

static int migrate(int from, int to, uint32_t id)
{
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_migrate_id cmd = { .id = id, .fd = (uint32_t)from };

	cmd.response = (uintptr_t)&resp;
	return ORDER(to, MIGRATE_ID, cmd, resp);
}

static int one_of_many(uint64_t *random, int fd, uint32_t id)
{
	struct rdma_ucm_bind_ip bind_cmd = { .id = id, .addr = own_address(0) };
	struct rdma_ucm_resolve_ip resolve = { .id = id, .dst_addr = own_address(PORT) };
	struct rdma_ucm_resolve_route route = { .id = id };
	struct rdma_ucm_listen listen_cmd = { .id = id, .backlog = 3 };
	struct rdma_ucm_connect connect_cmd = { .id = id, .conn_param = { .valid = 1 } };
	struct rdma_ucm_query_route_resp resp;
	struct rdma_ucm_query query = { .id = id, .response = (uintptr_t)&resp };
	uint8_t junk[64];

	switch (draw(random, 8)) {
	case 0:
		return ORDER(fd, BIND_IP, bind_cmd, (char[1]){ 0 });
	case 1:
		return ORDER(fd, RESOLVE_IP, resolve, (char[1]){ 0 });
	case 2:
		return ORDER(fd, RESOLVE_ROUTE, route, (char[1]){ 0 });
	case 3:
		return ORDER(fd, CONNECT, connect_cmd, (char[1]){ 0 });
	case 4:
		bind_cmd.addr = own_address(PORT);
		ORDER(fd, BIND_IP, bind_cmd, (char[1]){ 0 });
		return ORDER(fd, LISTEN, listen_cmd, (char[1]){ 0 });
	case 5:
		return ORDER(fd, QUERY_ROUTE, query, resp);
	case 6:
		return migrate(fd, channel[draw(random, CHANNELS)], id);
	default:
		memset(junk, (int)draw(random, 256), sizeof(junk));
		/* the command has no address for its answer */
		memset(junk, 0, sizeof(uint64_t));
		return order(fd, 30 + draw(random, 9), junk, sizeof(junk), 0);
	}
}

/* ---- Threads ---- */

static void step(uint64_t *random)
{
	uint32_t i = draw(random, SLOTS);
	int fd = channel[draw(random, CHANNELS)];
	uint32_t id = slot[i], expected = 0;
	int rc = 0;

	if (!id) {
		id = create(fd);
		if (!atomic_compare_exchange_strong(&slot[i], &expected, id + 1))
			rc = destroy(fd, id);
	} else if (draw(random, 6) == 0) {
		/* The id may be in either channel. */
		if (atomic_compare_exchange_strong(&slot[i], &id, 0))
			while (destroy(channel[0], id - 1) && destroy(channel[1], id - 1))
				;
	} else if (draw(random, 3) == 0) {
		rc = take_event(fd);
	} else {
		rc = one_of_many(random, fd, id - 1);
	}
	EXPECT(rc != ENODEV && rc != EFAULT && rc != ENOMEM && rc != EIO);
	atomic_fetch_add(rc ? &refused : &done, 1);
}

static void *run(void *arg)
{
	uint64_t random = seed * THREADS + (uintptr_t)arg;

	for (unsigned i = 0; i < commands; i++)
		step(&random);
	return NULL;
}

static void run_threads(void)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&thread[i], NULL, run, (void *)i) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* ---- At the end ---- */

static void destroy_all(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (slot[i])
			EXPECT(destroy(channel[0], slot[i] - 1) == 0 ||
			       destroy(channel[1], slot[i] - 1) == 0);
}

/* A descriptor must be readable only if there are events. */
static void expect_silence_and_an_event(void)
{
	struct rdma_ucm_bind_ip cmd = { .addr = own_address(0) };
	struct rdma_ucm_resolve_ip to = { .dst_addr = own_address(PORT) };

	for (unsigned i = 0; i < CHANNELS; i++) {
		struct pollfd p = { .fd = channel[i], .events = POLLIN };

		EXPECT(poll(&p, 1, 0) == 0);
		EXPECT(take_event(channel[i]) == EAGAIN);
		cmd.id = to.id = create(channel[i]);
		EXPECT(ORDER(channel[i], BIND_IP, cmd, (char[1]){ 0 }) == 0);
		EXPECT(ORDER(channel[i], RESOLVE_IP, to, (char[1]){ 0 }) == 0);
		EXPECT(poll(&p, 1, 300000) == 1);
		EXPECT(take_event(channel[i]) == 0);
		EXPECT(take_event(channel[i]) == EAGAIN);
		EXPECT(destroy(channel[i], cmd.id) == 0);
	}
}

/* Parent and child process write to the same descriptor. */
static void share_with_a_child(void)
{
	int status;
	pid_t pid = fork();

	EXPECT(pid >= 0);
	for (unsigned i = 0; i < 300; i++)
		EXPECT(destroy(channel[0], create(channel[0])) == 0);
	if (pid == 0)
		_exit(0);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	EXPECT(argc > 1 && inet_aton(argv[1], &address));
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		commands = (unsigned)strtoul(argv[3], NULL, 10);
	for (unsigned i = 0; i < CHANNELS; i++) {
		channel[i] =
			open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | O_NONBLOCK);
		EXPECT(channel[i] >= 0);
	}
	run_threads();
	destroy_all();
	expect_silence_and_an_event();
	share_with_a_child();
	expect_silence_and_an_event();
	printf("seed %llu: %lu commands done, %lu refused\n", (unsigned long long)seed,
	       done, refused);
	return 0;
}
