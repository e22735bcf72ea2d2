/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* example.h - functions that the examples share; they connect a sender and a receiver.
 *
 * The sender and the receiver are two RC queue pairs of this process on the first RDMA
 * device, connected to each other, each with a CQ of its own. Without options an example
 * shows the mistake and fails; with --mended it is correct and succeeds. The functions
 * use plain libibverbs; an error ends the program.
 */
#ifndef RN_EXAMPLE_H
#define RN_EXAMPLE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SENDER,
	RECEIVER,
	LOOPBACK, /* a second QP of the receiver, connected to itself */
	QP_COUNT,
};

struct example {
	bool is_mended; /* the program was started with --mended */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq[QP_COUNT];
	struct ibv_qp *qp[QP_COUNT];
};

bool example_is_mended(int argc, char **argv);

/* Parses the arguments, opens the device and connects the QPs. Ends the program
 * on failure.
 */
void example_open(struct example *e, int argc, char **argv);

/* If @ok is false, prints that @what has failed, and ends the program. */
void example_need(bool ok, const char *what);

/* Registers @len bytes of memory at @mem; NULL: allocates them as zeroed host memory. */
struct ibv_mr *example_region(struct example *e, void *mem, size_t len);

/* A request that transfers @len bytes between @local, memory of this side, and @remote,
 * memory of the other side (NULL for a SEND).
 */
struct example_request {
	enum ibv_wr_opcode opcode;
	struct ibv_mr *local, *remote;
	size_t local_offset, remote_offset;
	uint32_t len;
	unsigned flags; /* IBV_SEND_* flags; IBV_SEND_SIGNALED is added to them */
};
void example_post(struct example *e, unsigned qp, struct example_request request);

/* Posts a receive on queue pair @qp: for a SEND, whose data goes to @mr; or, if @mr is
 * NULL, for a WRITE WITH IMMEDIATE.
 */
void example_post_recv(struct example *e, unsigned qp, struct ibv_mr *mr, uint32_t len);

/* Polls the CQ of queue pair @qp until its next completion, which must be a success. */
void example_poll(struct example *e, unsigned qp);

/* Prints a line such as one of the following, and ends the program, with exit status 0 if
 * @is_right is true, otherwise 1:
 *
 * 	verdict: right - the kernel read all 4096 new bytes
 * 	verdict: wrong - ...
 */
void example_end(bool is_right, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* ------------------------------------------------------------ examples with a GPU */
enum {
	DATA = 4096, /* bytes of a payload */
	/* Value of payload bytes that have been written; all bytes are 0 at first. */
	NEW = 0x5a,
};

/* Argument of a kernel. The kernel waits until @flag in host memory is 1, and then counts
 * the bytes of its buffer that are NEW.
 */
struct example_kernel {
	const uint8_t *data; /* address of the payload, as the kernel uses it */
	/* flag in host memory, for which example_wait_and_count() waits; example_count()
	 * ignores it
	 */
	uint32_t flag;
	unsigned new_bytes; /* output: the number of bytes that are NEW */
};
void example_wait_and_count(void *kernel);
/* Counts the bytes that are NEW as example_wait_and_count() does, but does not wait for
 * the flag.
 */
void example_count(void *kernel);

/* Sets the flag of the kernel to 1. */
void example_raise(struct example_kernel *kernel);

/* Allocates DATA bytes of memory on GPU 0. */
struct rn_gpu_buffer;
struct rn_storage_file;
void example_gpu_memory(struct rn_gpu_buffer *buffer);

/* Waits until the kernels of the GPU have ended. Prints how many new bytes they have
 * found, and ends the program, with success if all bytes were new.
 */
void example_end_kernel(const struct rn_gpu_buffer *buffer,
			const struct example_kernel *kernel) __attribute__((noreturn));

/* Creates a file in memory that consists of DATA bytes with the value NEW, and registers
 * it for storage.
 */
struct rn_storage_file *example_file(void);

#endif /* RN_EXAMPLE_H */
