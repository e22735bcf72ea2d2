/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_ids.c - what ids are told when the connection manager's daemon has gone. */
#include "sim/kernel/cm_ids.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	ADDR_RESOLVED = 0,
	CONNECT_REQUEST = 4,
	ESTABLISHED = 9,
	DEVICE_REMOVAL = 11,
	MULTICAST_JOIN = 12,
};

/* Each test has channels of its own: numbers are never used again. */
static uint64_t channel = 1;

static struct rnk_cm_deed deed(uint32_t cmd, const void *in, size_t in_len)
{
	return (struct rnk_cm_deed){
		.channel = channel, .cmd = cmd, .in = in, .in_len = in_len
	};
}
#define DEED(cmd, in) deed(RDMA_USER_CM_CMD_##cmd, &(in), sizeof(in))

static void note_create(uint32_t number, uint64_t uid)
{
	struct rdma_ucm_create_id cmd = { .uid = uid };
	struct rdma_ucm_create_id_resp resp = { .id = number };
	struct rnk_cm_deed d = DEED(CREATE_ID, cmd);

	d.out = &resp;
	d.out_len = sizeof(resp);
	rnk_cm_ids_note(&d);
}

static void note_bind(uint32_t number, uint32_t addr)
{
	struct rdma_ucm_bind_ip cmd = { .id = number };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = addr };
	struct rnk_cm_deed d = DEED(BIND_IP, cmd);

	memcpy(&cmd.addr, &sin, sizeof(sin));
	rnk_cm_ids_note(&d);
}

static void note_event(uint32_t type, uint32_t number, uint64_t uid, uint32_t about)
{
	struct rdma_ucm_get_event cmd = { 0 };
	struct rdma_ucm_event_resp resp = { .event = type, .id = number, .uid = uid };
	struct rnk_cm_deed d = DEED(GET_EVENT, cmd);

	d.out = &resp;
	d.out_len = sizeof(resp);
	d.about = about;
	rnk_cm_ids_note(&d);
}

static void note_join(uint32_t number, uint32_t group)
{
	struct rdma_ucm_join_mcast cmd = { .id = number };
	struct rdma_ucm_create_id_resp resp = { .id = group };
	struct rnk_cm_deed d = DEED(JOIN_MCAST, cmd);

	d.out = &resp;
	d.out_len = sizeof(resp);
	rnk_cm_ids_note(&d);
}

static int event(struct rdma_ucm_event_resp *resp)
{
	struct rdma_ucm_get_event cmd = { 0 };
	struct rnk_cm_deed d = DEED(GET_EVENT, cmd);

	d.out = resp;
	d.out_len = sizeof(*resp);
	return rnk_cm_ids_obey(&d);
}

static void assert_removed(uint32_t number, uint64_t uid)
{
	struct rdma_ucm_event_resp resp;

	assert_int_equal(event(&resp), 0);
	assert_int_equal(resp.event, DEVICE_REMOVAL);
	assert_int_equal(resp.id, number);
	assert_int_equal(resp.uid, uid);
	assert_int_equal(resp.status, 0);
}

static void assert_no_more(void)
{
	struct rdma_ucm_event_resp resp;

	assert_int_equal(event(&resp), -ENODEV);
}

/* Return: events reported, or -errno. */
static int end_of(uint32_t cmd, uint32_t number)
{
	struct rdma_ucm_destroy_id destroy = { .id = number };
	struct rdma_ucm_destroy_id_resp resp;
	struct rnk_cm_deed d = deed(cmd, &destroy, sizeof(destroy));
	int rc;

	d.out = &resp;
	d.out_len = sizeof(resp);
	rc = rnk_cm_ids_obey(&d);
	return rc ? rc : (int)resp.events_reported;
}

static void ids_that_were_bound_to_a_device_hear_of_its_end(void **state)
{
	(void)state;
	channel++;
	note_create(1, 0x11);
	note_create(2, 0x22);
	note_create(3, 0x33);
	note_create(4, 0x44);
	note_bind(1, htonl(0x7f000001));
	note_bind(2, htonl(INADDR_ANY)); /* of no device */
	note_event(ADDR_RESOLVED, 3, 0x33, 3);
	assert_removed(1, 0x11);
	assert_removed(3, 0x33);
	assert_no_more();
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 1), 1);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 2), 0);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 3), 2);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 3), -ENODEV);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 4), 0);
}

static void a_request_counts_for_its_listener(void **state)
{
	struct rdma_ucm_accept accept = { .id = 6, .uid = 0x66 };
	struct rnk_cm_deed d = DEED(ACCEPT, accept);

	(void)state;
	channel++;
	note_create(5, 0x55);
	note_event(CONNECT_REQUEST, 6, 0x55, 5);
	note_event(CONNECT_REQUEST, 7, 0x55, 5);
	accept.conn_param.valid = 1;
	d.channel = channel;
	rnk_cm_ids_note(&d);
	note_event(ESTABLISHED, 6, 0x66, 6);
	/* 7 was never accepted: the program does not know it by a uid. */
	assert_removed(6, 0x66);
	assert_no_more();
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 5), 2);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 6), 2);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 7), 0);
}

static void groups_can_be_left(void **state)
{
	(void)state;
	channel++;
	note_create(1, 0x11);
	note_bind(1, htonl(0x7f000001));
	note_join(1, 1);
	note_join(1, 2);
	note_event(MULTICAST_JOIN, 1, 0xa1, 1);
	assert_removed(1, 0x11);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_LEAVE_MCAST, 1), 1);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_LEAVE_MCAST, 2), 0);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_LEAVE_MCAST, 2), -ENODEV);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 1), 2);
}

static void an_id_that_moved_is_told_in_its_new_channel(void **state)
{
	struct rdma_ucm_migrate_id cmd = { .id = 1 };
	struct rnk_cm_deed d = DEED(MIGRATE_ID, cmd);

	(void)state;
	channel++;
	note_create(1, 0x11);
	note_bind(1, htonl(0x7f000001));
	note_join(1, 9);
	note_event(MULTICAST_JOIN, 9, 0xa9, 1);
	d.from = channel;
	d.channel = ++channel;
	rnk_cm_ids_note(&d);
	assert_removed(1, 0x11);
	assert_no_more();
	assert_int_equal(end_of(RDMA_USER_CM_CMD_LEAVE_MCAST, 9), 1);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 1), 2);
	channel--;
	assert_no_more();
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 1), -ENODEV);
	channel++;
}

static void other_commands_fail(void **state)
{
	struct rdma_ucm_listen listen_cmd = { .id = 1 };
	struct rdma_ucm_create_id create = { 0 };
	struct rdma_ucm_get_event get = { 0 };
	struct rnk_cm_deed d;

	(void)state;
	channel++;
	d = DEED(CREATE_ID, create);
	assert_int_equal(rnk_cm_ids_obey(&d), -ENODEV);
	d = DEED(LISTEN, listen_cmd);
	assert_int_equal(rnk_cm_ids_obey(&d), -ENODEV);
	note_create(1, 0x11);
	assert_int_equal(rnk_cm_ids_obey(&d), -ENODEV);
	note_bind(1, htonl(0x7f000001));
	assert_int_equal(rnk_cm_ids_obey(&d), -EIO);
	d = DEED(GET_EVENT, get);
	assert_int_equal(rnk_cm_ids_obey(&d), -ENOSPC);
	d.cmd = 1000;
	assert_int_equal(rnk_cm_ids_obey(&d), -ENODEV);
	assert_removed(1, 0x11);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 1), 1);
}

static void a_child_process_has_its_own(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	channel++;
	note_create(1, 0x11);
	note_bind(1, htonl(0x7f000001));
	pid = fork();
	if (pid == 0)
		_exit(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 1) != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_removed(1, 0x11);
	assert_int_equal(end_of(RDMA_USER_CM_CMD_DESTROY_ID, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_that_were_bound_to_a_device_hear_of_its_end),
		cmocka_unit_test(a_request_counts_for_its_listener),
		cmocka_unit_test(groups_can_be_left),
		cmocka_unit_test(an_id_that_moved_is_told_in_its_new_channel),
		cmocka_unit_test(other_commands_fail),
		cmocka_unit_test(a_child_process_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
