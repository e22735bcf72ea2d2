/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_board.c - queries about ids are answered without rocind, with the same answers. The
 * test stops rocind meanwhile. Queries about ids of other descriptors, and about ids that
 * were destroyed, must fail.
 *
 * usage: cm_board PID-OF-ROCIND ADDRESS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"
#include "ucm_order.h"

enum {
	SECONDS_MAX = 300,
	PORT = 7471,
};

static pid_t rocind;
static struct in_addr address; /* address of the device */

static void go_on(void)
{
	kill(rocind, SIGCONT);
}

#define ORDER(fd, cmd, in, out_len) \
	order(fd, RDMA_USER_CM_CMD_##cmd, &(in), sizeof(in), out_len)

static uint32_t create_id(int fd)
{
	struct rdma_ucm_create_id_resp resp;
	const struct rdma_ucm_create_id cmd = { .uid = 1,
						.ps = RDMA_PS_TCP,
						.response = (uintptr_t)&resp };

	EXPECT(ORDER(fd, CREATE_ID, cmd, sizeof(resp)) == 0);
	return resp.id;
}

static void take_event(int fd)
{
	struct rdma_ucm_event_resp resp;
	const struct rdma_ucm_get_event cmd = { .response = (uintptr_t)&resp };

	EXPECT(ORDER(fd, GET_EVENT, cmd, sizeof(resp)) == 0);
}

static void resolve(int fd, uint32_t id)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(PORT),
					.sin_addr = address };
	struct rdma_ucm_resolve_ip ip = { .id = id };
	const struct rdma_ucm_resolve_route route = { .id = id };

	memcpy(&ip.dst_addr, &to, sizeof(to));
	EXPECT(ORDER(fd, RESOLVE_IP, ip, 0) == 0);
	take_event(fd);
	EXPECT(ORDER(fd, RESOLVE_ROUTE, route, 0) == 0);
	take_event(fd);
}

static int query(int fd, uint32_t id, void *resp)
{
	const struct rdma_ucm_query cmd = { .id = id, .response = (uintptr_t)resp };

	return ORDER(fd, QUERY_ROUTE, cmd, sizeof(struct rdma_ucm_query_route_resp));
}

static int qp_attr(int fd, uint32_t id, struct ib_uverbs_qp_attr *resp)
{
	const struct rdma_ucm_init_qp_attr cmd = { .id = id,
						   .qp_state = IBV_QPS_INIT,
						   .response = (uintptr_t)resp };

	return ORDER(fd, INIT_QP_ATTR, cmd, sizeof(*resp));
}

static void set_tos(int fd, uint32_t id, uint8_t tos)
{
	const struct rdma_ucm_set_option cmd = { .optval = (uintptr_t)&tos,
						 .id = id,
						 .level = RDMA_OPTION_ID,
						 .optname = RDMA_OPTION_ID_TOS,
						 .optlen = sizeof(tos) };

	EXPECT(ORDER(fd, SET_OPTION, cmd, 0) == 0);
}

/* The query must give this answer, and must not change memory behind the answer. */
static void is_answered(int fd, uint32_t id, uint8_t tos)
{
	struct rdma_ucm_query_route_resp route = { .ibdev_index = 77 };
	const struct sockaddr_in *dst = (const struct sockaddr_in *)&route.dst_addr;
	struct ib_uverbs_qp_attr attr;

	EXPECT(query(fd, id, &route) == 0);
	EXPECT(dst->sin_port == htons(PORT) && route.num_paths == 1);
	EXPECT(route.ib_route[0].traffic_class == tos && route.ibdev_index == 77);
	EXPECT(qp_attr(fd, id, &attr) == 0);
	EXPECT(attr.qp_state == IBV_QPS_INIT && attr.port_num == 1);
}

static void migrate(int from, int to, uint32_t id)
{
	struct rdma_ucm_migrate_resp resp;
	const struct rdma_ucm_migrate_id cmd = { .id = id,
						 .fd = (uint32_t)from,
						 .response = (uintptr_t)&resp };

	EXPECT(ORDER(to, MIGRATE_ID, cmd, sizeof(resp)) == 0);
}

static void destroy(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp;
	const struct rdma_ucm_destroy_id cmd = { .id = id, .response = (uintptr_t)&resp };

	EXPECT(ORDER(fd, DESTROY_ID, cmd, sizeof(resp)) == 0);
	EXPECT(resp.events_reported == 2);
}

int main(int argc, char **argv)
{
	struct rdma_ucm_query_route_resp route;
	struct ib_uverbs_qp_attr attr;
	uint32_t id;
	int fd[2];

	EXPECT(argc == 3 && inet_pton(AF_INET, argv[2], &address) == 1);
	rocind = (pid_t)strtol(argv[1], NULL, 10);
	atexit(go_on);
	alarm(SECONDS_MAX);
	for (unsigned i = 0; i < 2; i++)
		EXPECT((fd[i] = open("/dev/infiniband/rdma_cm", O_RDWR)) >= 0);
	id = create_id(fd[0]);
	resolve(fd[0], id);
	set_tos(fd[0], id, 0x20);

	EXPECT(kill(rocind, SIGSTOP) == 0);
	is_answered(fd[0], id, 0x20);
	EXPECT(query(fd[0], id, (void *)16) == EFAULT);
	go_on();

	migrate(fd[0], fd[1], id);
	EXPECT(query(fd[0], id, &route) == EINVAL);
	EXPECT(qp_attr(fd[0], id, &attr) == EINVAL);
	set_tos(fd[1], id, 0x40);
	is_answered(fd[1], id, 0x40);
	destroy(fd[1], id);
	EXPECT(query(fd[1], id, &route) == ENOENT);
	EXPECT(qp_attr(fd[1], id, &attr) == ENOENT);
	printf("ok\n");
	return 0;
}
