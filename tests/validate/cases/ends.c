/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ends.c - two ends of a connection that do not agree, each in a process of its own:
 * cases of rules that have another case, with both ends in one process, in the file of
 * their category.
 *
 * usage of the other process: validate_cases --peer
 * It reads what its end is to be like, makes it, says where it is, and waits for the end
 * of its input.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

enum {
	MR_LEN = 4096,
	FAR_AWAY = 0xfffff0, /* a QPN that nobody has */
};

/* What the peer is told, and what it says. */
struct order {
	uint32_t qpn;
	struct val_end end;
	unsigned mr_access;
	bool stays_in_init;
	unsigned receives;	/* that it posts before it says where it is */
	unsigned late_receives; /* that it posts at the end of its input */
	/* Rights that it gives the QP when it has been told to, before it says so. */
	unsigned late_access;
};

struct answer {
	uint32_t qpn, rkey;
	uint64_t addr;
};

/* ---------------------------------------------------------------- the other process */
static void post_receives(struct kit *k, struct ibv_qp *qp, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		kit_post_recv(k, qp, i, kit_sge(k, 1, 0, 64));
}

static void give_late(struct ibv_qp *qp, unsigned access)
{
	struct ibv_qp_attr attr = { .qp_access_flags = access };
	char word;

	assert_int_equal(read(STDIN_FILENO, &word, 1), 1);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	assert_int_equal(write(STDOUT_FILENO, &word, 1), 1);
}

static void be_peer(struct kit *k)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, KIT_WR, KIT_WR);
	struct ibv_mr *mr;
	struct order o;
	char end;

	assert_int_equal(read(STDIN_FILENO, &o, sizeof(o)), sizeof(o));
	mr = ibv_reg_mr(k->pd, k->buf, MR_LEN, o.mr_access);
	assert_non_null(mr);
	if (o.stays_in_init)
		kit_to_init(qp);
	else
		val_connect(k, qp, o.qpn, &o.end);
	post_receives(k, qp, o.receives);
	assert_int_equal(write(STDOUT_FILENO,
			       &(struct answer){ .qpn = qp->qp_num,
						 .rkey = mr->rkey,
						 .addr = (uintptr_t)k->buf },
			       sizeof(struct answer)),
			 sizeof(struct answer));
	if (o.late_access)
		give_late(qp, o.late_access);
	assert_int_equal(read(STDIN_FILENO, &end, 1), 0);
	post_receives(k, qp, o.late_receives);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

int val_peer_main(void)
{
	void *k;

	/* Where there is no test, cmocka ends the process. */
	assert_int_equal(kit_setup(&k), 0);
	be_peer(k);
	return kit_teardown(&k);
}

/* ------------------------------------------------------------------------ this one */
struct peer {
	pid_t pid;
	int to, from;
};

extern char **environ;

/* @env: its environment */
static struct peer start_peer(char **env)
{
	char *argv[] = { (char[]){ "validate_cases" }, (char[]){ "--peer" }, NULL };
	posix_spawn_file_actions_t actions;
	int to[2], from[2];
	struct peer p;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
	assert_int_equal(posix_spawn(&p.pid, "/proc/self/exe", &actions, NULL, argv, env),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	p.to = to[1];
	p.from = from[0];
	return p;
}

static void end_peer(struct peer *p)
{
	int status;

	close(p->to);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	close(p->from);
	assert_int_equal(status, 0);
}

/* What one end writes or reads at the other. */
struct use {
	enum ibv_wr_opcode opcode;
	uint32_t len, offset;
	bool has_wrong_rkey;
};

static void post(struct kit *k, struct ibv_qp *qp, const struct answer *a, struct use u)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, u.len);
	struct ibv_send_wr *bad,
		wr = { .opcode = u.opcode,
		       .send_flags = IBV_SEND_SIGNALED,
		       .sg_list = &sge,
		       .num_sge = 1,
		       .wr.rdma = { .remote_addr = a->addr + u.offset,
				    .rkey = a->rkey ^ (u.has_wrong_rkey ? 1U : 0) } };

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/* Connects a QP to one of another process, and uses its memory. @waits: for the
 * completion, which may be an error.
 */
static void meet(struct kit *k, struct val_end own, struct order o, struct use u,
		 bool waits)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, KIT_WR, KIT_WR);
	struct peer p = start_peer(environ);
	struct answer a;

	if (!o.qpn)
		o.qpn = qp->qp_num;
	assert_int_equal(write(p.to, &o, sizeof(o)), sizeof(o));
	assert_int_equal(read(p.from, &a, sizeof(a)), sizeof(a));
	val_connect(k, qp, a.qpn, &own);
	post(k, qp, &a, u);
	if (waits)
		(void)kit_wait(k->cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	end_peer(&p);
}

static struct order usual(const struct kit *k)
{
	return (struct order){ .end = val_end(k),
			       .mr_access = IBV_ACCESS_LOCAL_WRITE |
					    IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_REMOTE_READ };
}

static const struct use usual_use = { .opcode = IBV_WR_RDMA_WRITE, .len = 8 };

static void agree(struct kit *k)
{
	meet(k, val_end(k), usual(k), usual_use, true);
}

static void expect_other_psn(struct kit *k)
{
	struct order o = usual(k);

	o.end.rq_psn = 1000;
	meet(k, val_end(k), o, usual_use, false);
}

static void have_other_mtu(struct kit *k)
{
	struct order o = usual(k);

	o.end.mtu = o.end.mtu == IBV_MTU_256 ? IBV_MTU_512 : IBV_MTU_256;
	meet(k, val_end(k), o, usual_use, true);
}

static void be_connected_elsewhere(struct kit *k)
{
	struct order o = usual(k);

	o.qpn = FAR_AWAY;
	meet(k, val_end(k), o, usual_use, false);
}

static void send_too_early(struct kit *k)
{
	struct order o = usual(k);

	o.stays_in_init = true;
	meet(k, val_end(k), o, usual_use, false);
}

static void read_more_than_the_peer_allows(struct kit *k)
{
	struct order o = usual(k);

	o.end.dest_rd_atomic = 1;
	meet(k, val_end(k), o, (struct use){ .opcode = IBV_WR_RDMA_READ, .len = 8 },
	     true);
}

static void write_to_qp_without_right(struct kit *k)
{
	struct order o = usual(k);

	o.end.access = IBV_ACCESS_REMOTE_READ;
	meet(k, val_end(k), o, usual_use, true);
}

/* The peer gives the right when both have met, and says so. */
static void write_with_late_right(struct kit *k)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, KIT_WR, KIT_WR);
	struct peer p = start_peer(environ);
	struct val_end own = val_end(k);
	struct order o = usual(k);
	struct answer a;
	char word = 1;

	o.qpn = qp->qp_num;
	o.end.access = 0;
	o.receives = 1;
	o.late_access = IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(write(p.to, &o, sizeof(o)), sizeof(o));
	assert_int_equal(read(p.from, &a, sizeof(a)), sizeof(a));
	val_connect(k, qp, a.qpn, &own);
	assert_int_equal(val_send(k, qp, IBV_SEND_SIGNALED, 8), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(write(p.to, &word, 1), 1);
	assert_int_equal(read(p.from, &word, 1), 1);
	post(k, qp, &a, usual_use);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	end_peer(&p);
}

static void write_beyond_mr(struct kit *k)
{
	meet(k, val_end(k), usual(k),
	     (struct use){ .opcode = IBV_WR_RDMA_WRITE, .len = 8, .offset = MR_LEN - 4 },
	     true);
}

static void write_to_mr_without_right(struct kit *k)
{
	struct order o = usual(k);

	o.mr_access = IBV_ACCESS_REMOTE_READ;
	meet(k, val_end(k), o, usual_use, true);
}

static void write_at_unknown_rkey(struct kit *k)
{
	meet(k, val_end(k), usual(k),
	     (struct use){
		     .opcode = IBV_WR_RDMA_WRITE, .len = 8, .has_wrong_rkey = true },
	     true);
}

/* ------------------------------------------------------------------------ receives */
enum {
	MESSAGES = 3
};

/* Sends messages in one call to a peer that posts receives as @o says. */
static void send_to(struct kit *k, struct order o, char **env)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, KIT_WR, KIT_WR);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr *bad, wr[MESSAGES];
	struct val_end own = val_end(k);
	struct peer p = start_peer(env);
	struct answer a;

	o.qpn = qp->qp_num;
	own.rnr_retry = 0;
	assert_int_equal(write(p.to, &o, sizeof(o)), sizeof(o));
	assert_int_equal(read(p.from, &a, sizeof(a)), sizeof(a));
	val_connect(k, qp, a.qpn, &own);
	for (unsigned i = 0; i < MESSAGES; i++)
		wr[i] = (struct ibv_send_wr){ .wr_id = i,
					      .next = i + 1 < MESSAGES ? &wr[i + 1]
								       : NULL,
					      .opcode = IBV_WR_SEND,
					      .send_flags = IBV_SEND_SIGNALED,
					      .sg_list = &sge,
					      .num_sge = 1 };
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	for (unsigned i = 0; i < MESSAGES; i++)
		(void)kit_wait(k->cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	end_peer(&p);
}

static void send_to_enough_receives(struct kit *k)
{
	struct order o = usual(k);

	o.receives = MESSAGES;
	send_to(k, o, environ);
}

static void send_to_one_receive(struct kit *k)
{
	struct order o = usual(k);

	o.receives = 1;
	send_to(k, o, environ);
	assert_true(val_found("when 2 messages waited and as many receives were missing "
			      "(1 were carried out)"));
	assert_true(val_found(", which has posted 1 receives so far"));
	assert_false(val_found("has sent 1 RNR NAK"));
}

static void fail_without_receive(struct kit *k)
{
	send_to(k, usual(k), environ);
	assert_true(val_found("found no receive (rnr_retry 0) at QP "));
	assert_true(val_found(", which has posted 0 receives so far"));
}

/* The peer learns of it when it posts the receive that was missing. */
static void receive_too_late(struct kit *k)
{
	struct order o = usual(k);

	o.receives = 1;
	o.late_receives = 1;
	send_to(k, o, environ);
	assert_true(val_found("has sent 1 RNR NAK to QP "));
	assert_true(val_found("The 1 receives posted to it were taken, 1 of them by "
			      "messages that were not polled"));
}

/* A peer that is not validated is one of which as much is known as of another host. */
static char **without_validation(void)
{
	static char *env[256];
	unsigned n = 0;

	for (char **from = environ; *from && n + 1 < sizeof(env) / sizeof(*env); from++)
		if (strncmp(*from, "ROCIN_VALIDATE=", strlen("ROCIN_VALIDATE=")) != 0)
			env[n++] = *from;
	env[n] = NULL;
	return env;
}

/* Writes to a peer of which nothing is known. */
static void write_to_unknown(struct kit *k, uint32_t offset)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, KIT_WR, KIT_WR);
	struct val_end own = val_end(k);
	struct order o = usual(k);
	struct peer p = start_peer(without_validation());
	struct answer a;

	o.qpn = qp->qp_num;
	assert_int_equal(write(p.to, &o, sizeof(o)), sizeof(o));
	assert_int_equal(read(p.from, &a, sizeof(a)), sizeof(a));
	val_connect(k, qp, a.qpn, &own);
	post(k, qp, &a,
	     (struct use){ .opcode = IBV_WR_RDMA_WRITE, .len = 8, .offset = offset });
	(void)kit_wait(k->cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	end_peer(&p);
}

static void write_outside_unknown(struct kit *k)
{
	write_to_unknown(k, MR_LEN);
}

static void write_inside_unknown(struct kit *k)
{
	write_to_unknown(k, 0);
}

static void send_to_unknown(struct kit *k)
{
	send_to(k, usual(k), without_validation());
	assert_true(val_found("when 3 messages waited and as many receives were missing "
			      "(0 were carried out)"));
	assert_true(val_found("of which nothing else is known"));
}

static const struct val_case cases[] = {
	{ "state/psn-mismatch", expect_other_psn, agree, false },
	{ "state/mtu-mismatch", have_other_mtu, agree, false },
	{ "state/not-connected-back", be_connected_elsewhere, agree, false },
	{ "state/peer-not-ready", send_too_early, agree, false },
	{ "state/rd-atomic-mismatch", read_more_than_the_peer_allows, agree, false },
	{ "state/access-missing", write_to_qp_without_right, write_with_late_right,
	  false },
	{ "memory/remote-outside-mr", write_beyond_mr, agree, false },
	{ "memory/remote-right-missing", write_to_mr_without_right, agree, false },
	{ "memory/rkey-unknown", write_at_unknown_rkey, agree, false },
	{ "memory/remote-refused", write_outside_unknown, write_inside_unknown, false },
	{ "queues/receives-exhausted", send_to_one_receive, send_to_enough_receives,
	  false },
	{ "queues/receives-exhausted", receive_too_late, send_to_enough_receives, false },
	{ "queues/receives-exhausted", send_to_unknown, send_to_enough_receives, false },
	{ "queues/rnr-exceeded", fail_without_receive, send_to_enough_receives, false },
};
const struct val_cases ends_cases = VAL_CASES(cases);
