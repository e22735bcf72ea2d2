/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* writes.c - so many WRITEs of 4 KiB, one after the other, for counting instructions.
 *
 * usage: writes COUNT [ask|END]
 * ask: says the number of its queue pair and waits for a line before it begins
 * END: how the program ends, with the device open: exit, _exit, abort, kill
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "loop.h"

enum {
	LEN = 4096
};

static void end(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	_exit(0);
}

static void ask(const struct loop *l)
{
	printf("qp %u\n", l->qp[0]->qp_num);
	EXPECT(!fflush(stdout));
	(void)getchar();
}

int main(int argc, char **argv)
{
	static uint8_t buf[2][LEN];
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	struct loop_request r = { .opcode = IBV_WR_RDMA_WRITE, .len = LEN };
	bool is_asked = argc > 2 && !strcmp(argv[2], "ask");
	struct ibv_mr *mr;
	struct loop l;

	EXPECT(count > 0);
	loop_open(&l);
	mr = ibv_reg_mr(l.pd, buf, sizeof(buf),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	EXPECT(mr);
	r.local = buf[0];
	r.remote = buf[1];
	r.lkey = mr->lkey;
	r.rkey = mr->rkey;
	if (is_asked)
		ask(&l);
	for (unsigned long i = 0; i < count; i++)
		EXPECT(loop_run(&l, &r, NULL) == IBV_WC_SUCCESS);
	if (argc > 2 && !is_asked)
		end(argv[2]);
	EXPECT(!ibv_dereg_mr(mr));
	loop_close(&l);
	return 0;
}
