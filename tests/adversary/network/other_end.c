/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other_end.c - see other_end.h. */
#include "other_end.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum order_type {
	CREATE,
	CONNECT,
	DESTROY,
	POST,
	LOOK
};

struct order {
	enum order_type type;
	uint32_t value;
};

union answer {
	struct other_end end;
	struct other_sight sight;
};

static int line = -1;
static pid_t process;

/* ---- The process ---- */

static struct kit *k;
static struct ibv_qp *qp;

static bool is_in_error(void)
{
	struct ibv_qp_attr attr = { 0 };
	struct ibv_qp_init_attr init;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ||
	       attr.qp_state == IBV_QPS_ERR;
}

static void look(struct other_sight *sight)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(k->cq, 1, &wc) > 0)
		sight->is_received |= wc.status == IBV_WC_SUCCESS;
	sight->is_broken = is_in_error();
	sight->byte = *(volatile uint8_t *)k->buf;
}

static void obey(const struct order *o, union answer *answer)
{
	switch (o->type) {
	case CREATE:
		memset(k->buf, 0, OTHER_LEN);
		qp = kit_create_qp(k, (enum ibv_qp_type)o->value);
		kit_to_init(qp);
		answer->end =
			(struct other_end){ qp->qp_num, k->mr->rkey, (uintptr_t)k->buf };
		break;
	case CONNECT:
		kit_to_rts(k, qp, o->value);
		break;
	case DESTROY:
		assert_int_equal(ibv_destroy_qp(qp), 0);
		break;
	case POST:
		kit_post_recv(k, qp, 1, kit_sge(k, 0, 0, OTHER_LEN));
		break;
	case LOOK:
		look(&answer->sight);
		break;
	}
}

static _Noreturn void be_other_end(int sock)
{
	void *state = NULL;
	struct order o;

	if (kit_setup(&state))
		_exit(1);
	k = state;
	while (recv(sock, &o, sizeof(o), 0) == sizeof(o)) {
		union answer answer;

		memset(&answer, 0, sizeof(answer));
		obey(&o, &answer);
		if (send(sock, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			break;
	}
	exit(kit_teardown(&state)); /* a sanitizer wants to see the end */
}

/* ---- Who tells it what to do ---- */

int other_end_start(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	process = fork();
	if (process < 0)
		return -errno;
	if (process == 0) {
		close(pair[0]);
		be_other_end(pair[1]);
	}
	close(pair[1]);
	line = pair[0];
	return 0;
}

void other_end_stop(void)
{
	int status = -1;

	close(line);
	waitpid(process, &status, 0);
	if (status)
		abort();
}

static union answer tell(enum order_type type, uint32_t value)
{
	const struct order o = { type, value };
	union answer answer;

	assert_int_equal(send(line, &o, sizeof(o), MSG_NOSIGNAL), sizeof(o));
	assert_int_equal(recv(line, &answer, sizeof(answer), 0), sizeof(answer));
	return answer;
}

struct other_end other_end_create(enum ibv_qp_type type)
{
	return tell(CREATE, type).end;
}

void other_end_connect(uint32_t qpn)
{
	tell(CONNECT, qpn);
}

void other_end_destroy(void)
{
	tell(DESTROY, 0);
}

void other_end_post(void)
{
	tell(POST, 0);
}

struct other_sight other_end_look(void)
{
	return tell(LOOK, 0).sight;
}

void other_end_freeze(bool is_frozen)
{
	int status;

	assert_int_equal(kill(process, is_frozen ? SIGSTOP : SIGCONT), 0);
	if (is_frozen)
		assert_int_equal(waitpid(process, &status, WUNTRACED), process);
}
