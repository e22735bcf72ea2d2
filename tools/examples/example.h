/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* example.h - what the examples share: a machine with a sender and a receiver in it.
 *
 * Both are this process: two RC queue pairs of the first RDMA device, connected to each
 * other, each with a CQ of its own. Each example is run as it is, which fails, and with
 * --mended, which does not. Everything here is plain libibverbs; error handling is that
 * of examples.
 */
#ifndef RN_EXAMPLE_H
#define RN_EXAMPLE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SENDER,
	RECEIVER,
	LOOPBACK, /* a QP of the receiver that is connected to itself */
	QP_COUNT,
};

struct example {
	bool is_mended; /* --mended was given */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq[QP_COUNT];
	struct ibv_qp *qp[QP_COUNT];
};

bool example_is_mended(int argc, char **argv);

/* Look at the arguments, open the device, connect. Ends the program if it cannot. */
void example_open(struct example *e, int argc, char **argv);

/* End the program unless @ok, naming what failed. */
void example_need(bool ok, const char *what);

/* Registered memory; @mem NULL: @len zeroed bytes of host memory. */
struct ibv_mr *example_region(struct example *e, void *mem, size_t len);

/* Post a request of @len bytes: @local is here, @remote there (NULL: SEND). */
struct example_request {
	enum ibv_wr_opcode opcode;
	struct ibv_mr *local, *remote;
	size_t local_offset, remote_offset;
	uint32_t len;
	unsigned flags; /* IBV_SEND_*; signaled always */
};
void example_post(struct example *e, unsigned qp, struct example_request request);

/* A receive for a SEND (@mr) or for an immediate (NULL). */
void example_post_recv(struct example *e, unsigned qp, struct ibv_mr *mr, uint32_t len);

/* Poll until the next completion of @qp is there; it must be a success. */
void example_poll(struct example *e, unsigned qp);

/* Say what was seen and end the program: status 0 if it was right, else 1.
 *
 *	verdict: right - the kernel read all 4096 new bytes
 *	verdict: wrong - ...
 */
void example_end(bool is_right, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* ------------------------------------------------------------ with a GPU */
enum {
	DATA = 4096, /* bytes of payload */
	NEW = 0x5a,  /* what they are; before, 0 */
};

/* A kernel that waits for @flag in host memory to become 1 and then counts the bytes of
 * its buffer that are NEW.
 */
struct example_kernel {
	const uint8_t *data; /* as the kernel names it */
	uint32_t flag;	     /* in host memory; ignored by example_count() */
	unsigned new_bytes;  /* out */
};
void example_wait_and_count(void *kernel);
/* The same without waiting. */
void example_count(void *kernel);

/* Store to the flag. */
void example_raise(struct example_kernel *kernel);

/* Take DATA bytes of GPU 0. */
struct rn_gpu_buffer;
void example_gpu_memory(struct rn_gpu_buffer *buffer);

/* Wait for the kernels, judge what was counted, end the program. */
void example_end_kernel(const struct rn_gpu_buffer *buffer,
			const struct example_kernel *kernel) __attribute__((noreturn));

#endif /* RN_EXAMPLE_H */
