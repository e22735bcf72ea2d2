/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* misuse.c - a program that uses the device in wrong ways gets an errno or an error
 * completion, never crashes, and can go on using everything else.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"
#include "tests/kit/apart.h"

enum {
	LEN = 65536
};

static const unsigned int all_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct fixture {
	struct loop l;
	uint8_t *good; /* memory that stays mapped */
	struct ibv_mr *good_mr;
};

static void set_up(struct fixture *f)
{
	loop_open(&f->l);
	f->good = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	EXPECT(f->good != MAP_FAILED);
	memset(f->good, 0x5a, LEN);
	f->good_mr = ibv_reg_mr(f->l.pd, f->good, LEN, all_rights);
	EXPECT(f->good_mr);
}

static void tear_down(struct fixture *f)
{
	EXPECT(!ibv_dereg_mr(f->good_mr));
	munmap(f->good, LEN);
	loop_close(&f->l);
}

static struct loop_request request(struct fixture *f, enum ibv_wr_opcode op,
				   const void *remote, uint32_t rkey)
{
	return (struct loop_request){ .opcode = op,
				      .local = f->good,
				      .len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : LEN,
				      .lkey = f->good_mr->lkey,
				      .remote = remote,
				      .rkey = rkey };
}

/* A request of the peer accesses memory that was registered and then removed by
 * @take_away.
 */
static void gone_memory_fails_the_request(void (*take_away)(uint8_t *mem),
					  enum ibv_wr_opcode op)
{
	struct fixture f;
	struct ibv_mr *mr;
	struct ibv_wc recv_wc;
	struct loop_request r;
	enum ibv_wc_status status;
	FILE *file = tmpfile();
	uint8_t *mem;

	set_up(&f);
	EXPECT(file && !ftruncate(fileno(file), LEN));
	mem = map_apart(LEN, PROT_NONE);
	EXPECT(mem);
	EXPECT(mmap(mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    fileno(file), 0) == mem);
	mr = ibv_reg_mr(f.l.pd, mem, LEN, all_rights);
	EXPECT(mr);
	if (take_away)
		take_away(mem);
	else
		EXPECT(!ftruncate(fileno(file), 0));
	if (op == IBV_WR_SEND) {
		loop_post_recv(&f.l, mem, LEN, mr->lkey);
		r = request(&f, op, NULL, 0);
		status = loop_run(&f.l, &r, &recv_wc);
		EXPECT(status == IBV_WC_REM_OP_ERR);
		EXPECT(recv_wc.status == IBV_WC_LOC_PROT_ERR);
	} else {
		r = request(&f, op, mem, mr->rkey);
		status = loop_run(&f.l, &r, NULL);
		EXPECT(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR);
	}
	EXPECT(!ibv_dereg_mr(mr));
	if (!take_away)
		munmap(mem, LEN);
	fclose(file);
	tear_down(&f);
}

static void unmap(uint8_t *mem)
{
	munmap(mem, LEN);
}

static void gone_source_is_a_local_error(void)
{
	struct fixture f;
	struct loop_request r;
	struct ibv_mr *mr;
	uint8_t *mem;

	set_up(&f);
	mem = map_apart(LEN, PROT_READ | PROT_WRITE);
	EXPECT(mem);
	mr = ibv_reg_mr(f.l.pd, mem, LEN, all_rights);
	EXPECT(mr);
	munmap(mem, LEN);
	r = request(&f, IBV_WR_RDMA_WRITE, f.good, f.good_mr->rkey);
	r.local = mem;
	r.lkey = mr->lkey;
	EXPECT(loop_run(&f.l, &r, NULL) == IBV_WC_LOC_PROT_ERR);
	EXPECT(!ibv_dereg_mr(mr));
	tear_down(&f);
}

static void bad_keys_are_errors_of_the_right_side(void)
{
	struct fixture f;
	struct loop_request r;

	set_up(&f);
	r = request(&f, IBV_WR_RDMA_WRITE, f.good, f.good_mr->rkey ^ 1);
	EXPECT(loop_run(&f.l, &r, NULL) == IBV_WC_REM_ACCESS_ERR);
	tear_down(&f);

	set_up(&f);
	r = request(&f, IBV_WR_RDMA_WRITE, f.good, f.good_mr->rkey);
	r.lkey ^= 1;
	EXPECT(loop_run(&f.l, &r, NULL) == IBV_WC_LOC_PROT_ERR);
	tear_down(&f);

	set_up(&f);
	r = request(&f, IBV_WR_RDMA_WRITE, f.good + 1, f.good_mr->rkey);
	EXPECT(loop_run(&f.l, &r, NULL) == IBV_WC_REM_ACCESS_ERR);
	tear_down(&f);
}

static void posting_is_refused_in_the_wrong_state_or_shape(void)
{
	struct fixture f;
	struct ibv_sge sge[3] = { { 0 } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 3, .opcode = IBV_WR_SEND },
			   *bad = NULL;
	struct ibv_recv_wr rwr = { .sg_list = sge, .num_sge = 3 }, *rbad = NULL;
	struct ibv_qp *fresh;

	set_up(&f);
	EXPECT(ibv_post_send(f.l.qp[0], &wr, &bad) == EINVAL && bad == &wr);
	EXPECT(ibv_post_recv(f.l.qp[0], &rwr, &rbad) == EINVAL && rbad == &rwr);
	fresh = loop_create_qp(&f.l);
	EXPECT(fresh);
	wr.num_sge = rwr.num_sge = 0;
	EXPECT(ibv_post_send(fresh, &wr, &bad) == EINVAL);
	EXPECT(ibv_post_recv(fresh, &rwr, &rbad) == EINVAL);
	EXPECT(!ibv_destroy_qp(fresh));
	/* The queue has room for 16 requests, so the 17th fails. No receive is posted, so
	 * none of them completes.
	 */
	for (unsigned i = 0; i < 16; i++)
		EXPECT(!ibv_post_send(f.l.qp[0], &wr, &bad));
	EXPECT(ibv_post_send(f.l.qp[0], &wr, &bad) == ENOMEM);
	tear_down(&f);
}

static void registering_is_refused_as_the_man_page_says(void)
{
	struct fixture f;
	void *hole;

	set_up(&f);
	hole = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(hole != MAP_FAILED);
	errno = 0;
	EXPECT(!ibv_reg_mr(f.l.pd, hole, LEN, IBV_ACCESS_LOCAL_WRITE) && errno == EFAULT);
	errno = 0;
	EXPECT(!ibv_reg_mr(f.l.pd, f.good, LEN, IBV_ACCESS_REMOTE_WRITE) &&
	       errno == EINVAL);
	munmap(hole, LEN);
	tear_down(&f);
}

int main(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_SEND,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		gone_memory_fails_the_request(unmap, ops[i]);
		gone_memory_fails_the_request(NULL, ops[i]);
	}
	gone_source_is_a_local_error();
	bad_keys_are_errors_of_the_right_side();
	posting_is_refused_in_the_wrong_state_or_shape();
	registering_is_refused_as_the_man_page_says();
	puts("misuse: all as it should be");
	return 0;
}
