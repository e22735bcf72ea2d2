/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_resources.c - what `rocin stat --resources` shows of this process's objects. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	TEXT_MAX = 65536,
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
};

static struct ibv_qp *qp; /* rocind learns of this process only when it has a QP */

static int setup(void **state)
{
	int rc = kit_setup(state);

	if (!rc)
		qp = kit_create_qp(*state, IBV_QPT_RC);
	return rc;
}

static int teardown(void **state)
{
	assert_int_equal(ibv_destroy_qp(qp), 0);
	return kit_teardown(state);
}

/* Returns the listed objects of @kind. */
static const char *list(const char *kind)
{
	static char text[TEXT_MAX];
	char command[64];
	FILE *from;
	size_t n;

	snprintf(command, sizeof(command), "rocin stat --resources=%s", kind);
	from = popen(command, "r");
	assert_non_null(from);
	n = fread(text, 1, sizeof(text) - 1, from);
	text[n] = '\0';
	assert_int_equal(pclose(from), 0);
	return text;
}

/* Returns true if the list has a line with @fields, between the device's name and the
 * process.
 */
static bool is_listed(const struct kit *k, const char *kind, const char *fields)
{
	char line[512];

	snprintf(line, sizeof(line), "dev %s %s pid %d comm %s\n",
		 ibv_get_device_name(k->ctx->device), fields, getpid(),
		 program_invocation_short_name);
	return strstr(list(kind), line) != NULL;
}

static unsigned lines(const char *kind)
{
	unsigned count = 0;

	for (const char *at = list(kind); *at; at++)
		count += *at == '\n';
	return count;
}

/* Returns the number behind @name in the line that contains @with. */
static unsigned long number(const char *kind, const char *with, const char *name)
{
	const char *text = list(kind), *line = strstr(text, with), *at;

	if (!line)
		fail_msg("no %s in: %s", with, text);
	while (line > text && line[-1] != '\n')
		line--;
	at = strstr(line, name);
	assert_true(at && at < strchr(line, '\n'));
	return strtoul(at + strlen(name), NULL, 0);
}

static void mr_fields(const struct ibv_mr *mr, char *text, size_t size)
{
	snprintf(text, size,
		 "mrn %u rkey 0x%x lkey 0x%x iova 0x%" PRIxPTR " mrlen %zu pdn %u",
		 mr->handle, mr->rkey, mr->lkey, (uintptr_t)mr->addr, mr->length,
		 mr->pd->handle);
}

static void regions_are_listed_as_they_are_now(void **state)
{
	struct kit *k = *state;
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf + 64, 1000, RIGHTS);
	struct ibv_pd *other = ibv_alloc_pd(k->ctx);
	char fields[256];

	assert_int_equal(lines("mr"), 2);
	mr_fields(k->mr, fields, sizeof(fields));
	assert_true(is_listed(k, "mr", fields));
	mr_fields(mr, fields, sizeof(fields));
	assert_true(is_listed(k, "mr", fields));
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD,
			     other, k->buf, 2000, 0),
		0);
	assert_false(is_listed(k, "mr", fields));
	mr_fields(mr, fields, sizeof(fields));
	assert_true(is_listed(k, "mr", fields));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(lines("mr"), 1);
	/* an iova that differs from the address of the memory */
	mr = ibv_reg_mr_iova(other, k->buf, 64, (uintptr_t)k->buf + (UINT64_C(1) << 40),
			     RIGHTS);
	snprintf(fields, sizeof(fields), "iova 0x%" PRIxPTR " mrlen 64",
		 (uintptr_t)k->buf + (UINT64_C(1) << 40));
	assert_non_null(strstr(list("mr"), fields));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_alloc_null_mr(other);
	snprintf(fields, sizeof(fields),
		 "mrn %u rkey 0x%x lkey 0x%x iova 0x0 mrlen 0 pdn %u", mr->handle,
		 mr->rkey, mr->lkey, other->handle);
	assert_true(is_listed(k, "mr", fields));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void domains_are_listed_with_their_users(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	char fields[64];
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	assert_int_equal(lines("pd"), 2);
	snprintf(fields, sizeof(fields), "pdn %u ", pd->handle);
	assert_int_equal(number("pd", fields, "users "), 0);
	mr = ibv_reg_mr(pd, k->buf, 64, RIGHTS);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	assert_int_equal(number("pd", fields, "users "), 2);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(number("pd", fields, "users "), 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(lines("pd"), 1);
}

static void windows_are_listed(void **state)
{
	struct kit *k = *state;
	struct ibv_mw *mw = ibv_alloc_mw(k->pd, IBV_MW_TYPE_1);
	char fields[64];

	snprintf(fields, sizeof(fields), "mwn %u type 1 pdn %u", mw->handle,
		 k->pd->handle);
	assert_true(is_listed(k, "mw", fields));
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(lines("mw"), 0);
}

static void completion_queues_are_listed_with_their_users(void **state)
{
	struct kit *k = *state;
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 8192, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *user;

	assert_int_equal(lines("cq"), 2);
	assert_int_equal(number("cq", "cqe 8192 ", "users "), 0);
	user = ibv_create_qp(k->pd, &init);
	assert_non_null(user);
	assert_int_equal(number("cq", "cqe 8192 ", "users "), 1);
	assert_int_equal(ibv_destroy_qp(user), 0);
	assert_int_equal(number("cq", "cqe 8192 ", "users "), 0);
	assert_int_equal(ibv_resize_cq(cq, 16384), 0);
	assert_int_equal(number("cq", "cqe 16384 ", "users "), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(lines("cq"), 1);
}

static void shared_receive_queues_are_listed_with_their_users(void **state)
{
	struct kit *k = *state;
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(k->pd, &srq_init);
	struct ibv_qp_init_attr init = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.srq = srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *user;
	char fields[64];
	uint32_t srqn;

	assert_non_null(srq);
	srqn = srq->handle;
	snprintf(fields, sizeof(fields), "srqn %u type BASIC users 0 pdn %u", srqn,
		 k->pd->handle);
	assert_true(is_listed(k, "srq", fields));
	user = ibv_create_qp(k->pd, &init);
	assert_int_equal(number("srq", "type BASIC", "users "), 1);
	assert_int_equal(ibv_destroy_qp(user), 0);
	assert_true(is_listed(k, "srq", fields));
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(lines("srq"), 0);
}

static void queue_pairs_are_listed_with_their_domain(void **state)
{
	struct kit *k = *state;
	char line[256];

	snprintf(
		line, sizeof(line), "link %s/1 lqpn %u type RC state RESET pdn %u pid %d",
		ibv_get_device_name(k->ctx->device), qp->qp_num, k->pd->handle, getpid());
	if (!strstr(list("qp"), line))
		fail_msg("no %s in: %s", line, list("qp"));
}

static void objects_of_a_closed_context_are_gone(void **state)
{
	/* After the context is closed the test cannot destroy these objects. They stay
	 * reachable, so that the leak checker does not report them.
	 */
	static struct ibv_pd *pd;
	static struct ibv_cq *cq;
	static struct ibv_mw *mw;
	struct ibv_context *other = kit_open_device();

	(void)state;
	pd = ibv_alloc_pd(other);
	cq = ibv_create_cq(other, 8, NULL, NULL, 0);
	assert_non_null(cq);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	assert_non_null(mw);
	assert_int_equal(lines("pd"), 2);
	assert_int_equal(lines("cq"), 2);
	assert_int_equal(lines("mw"), 1);
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(lines("pd"), 1);
	assert_int_equal(lines("cq"), 1);
	assert_int_equal(lines("mw"), 0);
}

static void a_child_changes_nothing(void **state)
{
	struct kit *k = *state;
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, RIGHTS);
	unsigned long users = number("pd", "pdn ", "users ");
	pid_t child;
	int status;

	child = fork();
	if (child == 0) {
		ibv_dereg_mr(mr);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(lines("mr"), 2);
	assert_int_equal(number("pd", "pdn ", "users "), users);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

#define LISTED(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTED(regions_are_listed_as_they_are_now),
		LISTED(domains_are_listed_with_their_users),
		LISTED(windows_are_listed),
		LISTED(completion_queues_are_listed_with_their_users),
		LISTED(shared_receive_queues_are_listed_with_their_users),
		LISTED(queue_pairs_are_listed_with_their_domain),
		LISTED(objects_of_a_closed_context_are_gone),
		LISTED(a_child_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
