/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hold_qp.c - creates queue pairs, then the file READY. Waits until the file DONE exists,
 * and then sends a message over the last queue pair.
 *
 * usage: hold_qp READY DONE [COUNT]
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop.h"

enum {
	WRS = 4,
	/* Time in ms after which this program ends even without the file DONE, because
	 * the test has failed to create it. It is longer than any test takes on a busy
	 * machine.
	 */
	FORGOTTEN = 3600 * 1000,
	LOOK_EVERY = 10, /* interval in ms for checking whether the file DONE exists */
};

/* Creates @count queue pairs in addition to those of @l. Each two of them are connected.
 */
static struct ibv_qp **make_more(struct loop *l, unsigned count)
{
	struct ibv_qp_init_attr init = { .send_cq = l->cq,
					 .recv_cq = l->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = WRS,
						  .max_recv_wr = WRS,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_qp **qp = calloc(count + 1, sizeof(struct ibv_qp *));

	EXPECT(qp && count % 2 == 0);
	for (unsigned i = 0; i < count; i++) {
		qp[i] = ibv_create_qp(l->pd, &init);
		EXPECT(qp[i]);
	}
	for (unsigned i = 0; i < count; i++)
		loop_connect(l, qp[i], qp[i ^ 1]->qp_num);
	return qp;
}

/* Sends a message from the last queue pair but one to the last one. */
static void send_over_last(struct loop *l, struct ibv_qp **qp, unsigned count)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;
	struct ibv_wc wc;

	EXPECT(!ibv_post_recv(qp[count - 1], &recv, &bad_recv));
	EXPECT(!ibv_post_send(qp[count - 2], &send, &bad_send));
	for (unsigned done = 0; done < 2;) {
		int n = ibv_poll_cq(l->cq, 1, &wc);

		EXPECT(n >= 0 && (n == 0 || wc.status == IBV_WC_SUCCESS));
		done += (unsigned)n;
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
	struct ibv_qp **qp;
	struct loop l;

	EXPECT(argc >= 3);
	loop_open(&l);
	qp = make_more(&l, count);
	close(open(argv[1], O_CREAT | O_WRONLY, 0600));
	for (unsigned i = 0; i < FORGOTTEN / LOOK_EVERY && access(argv[2], F_OK); i++)
		poll(NULL, 0, LOOK_EVERY);
	if (count)
		send_over_last(&l, qp, count);
	for (unsigned i = 0; i < count; i++)
		EXPECT(!ibv_destroy_qp(qp[i]));
	free(qp);
	loop_close(&l);
	return 0;
}
