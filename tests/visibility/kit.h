/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kit.h - what the programs of the bank share, so that each shows only its question.
 *
 * A program plays all hosts itself: a NIC is a device of Rocin with an address of its
 * own, and a host is whatever memory is registered with it. Messages that do not go by
 * RDMA are the program's order, or a socket between two processes. Nothing here waits for
 * a time, and what is read is thrown away: a program does the same whether it saw old or
 * new bytes. Every error ends the program with status 2.
 */
#ifndef RN_VISIBILITY_KIT_H
#define RN_VISIBILITY_KIT_H

#include <infiniband/verbs.h>
#include <rocin/gpu.h>
#include <rocin/storage.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	DATA = 4096, /* bytes of payload */
	NEW = 0x5a,  /* value of new bytes of payload; old ones are 0 */
};

/* Ends the program with a message about @what unless @ok. */
void vis_need(bool ok, const char *what);

/* -------------------------------------------------------------------------- NICs */
struct vis_nic {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
};

/* Opens device rocin0, rocin1 or rocin2. */
struct vis_nic *vis_open(unsigned number);

/* One end of a connection, with a CQ for each queue. */
struct vis_end {
	struct vis_nic *nic;
	struct ibv_qp *qp;
	struct ibv_cq *send_cq, *recv_cq;
};

/* Makes two RC queue pairs and connects them, or one that is connected to itself. */
void vis_connect(struct vis_end *a, struct vis_nic *nic_a, struct vis_end *b,
		 struct vis_nic *nic_b);
void vis_connect_loopback(struct vis_end *end, struct vis_nic *nic);

/* ----------------------------------------------------------------------- regions */
/* Register memory: any; DATA new bytes of host memory; DATA old ones; a word. The memory
 * that these allocate begins in the middle of a page.
 */
struct ibv_mr *vis_register(struct vis_nic *nic, void *mem, size_t len, unsigned access);
struct ibv_mr *vis_source(struct vis_nic *nic);
struct ibv_mr *vis_target(struct vis_nic *nic);
struct ibv_mr *vis_word(struct vis_nic *nic, uint64_t value);

/* ---------------------------------------------------------------------- requests */
enum {
	VIS_UNSIGNALED = 1 << 20, /* among the IBV_SEND_* flags: no completion */
};

/* Post requests for as many bytes as both regions have. */
void vis_write(struct vis_end *end, struct ibv_mr *from, struct ibv_mr *to, int flags);
void vis_write_imm(struct vis_end *end, struct ibv_mr *from, struct ibv_mr *to,
		   int flags);
void vis_read(struct vis_end *end, struct ibv_mr *to, struct ibv_mr *from, int flags);
void vis_send(struct vis_end *end, struct ibv_mr *from, int flags);
/* Adds 1 to the word @word; its old value goes to @old. */
void vis_fetch_add(struct vis_end *end, struct ibv_mr *old, struct ibv_mr *word,
		   int flags);

/* FLUSH of all bytes of a region, to global visibility; ATOMIC WRITE of a word. */
void vis_flush(struct vis_end *end, struct ibv_mr *target, int flags);
void vis_atomic_write(struct vis_end *end, struct ibv_mr *from, struct ibv_mr *word,
		      int flags);

/* Posts a receive into @mr; NULL: of no bytes, for an immediate. */
void vis_post_recv(struct vis_end *end, struct ibv_mr *mr);

/* Take one completion of a queue; it must be a success. */
void vis_poll_send(struct vis_end *end);
void vis_poll_recv(struct vis_end *end);

/* ------------------------------------------------------------------------- memory */
/* Reads all words of a region or of any memory by plain loads, none of which should be
 * old, that is 0.
 */
void vis_look(const struct ibv_mr *mr);
void vis_look_at(const volatile void *mem, size_t len);

/* Reads all words of a region, none of which should have eight times this byte. */
void vis_look_unless(const struct ibv_mr *mr, uint8_t byte);

/* Counts a word that should not have been seen; how many were. Any thread. */
void vis_see_wrong(void);
unsigned vis_wrong_seen(void);

/* Looks at one byte until it has the value. */
void vis_await_byte(const void *byte, uint8_t value);

/* ------------------------------------------------------------------- two processes */
struct vis_peer {
	int fd;	   /* of a socket to the other process */
	int child; /* process id of the child; 0 in the child */
};

/* Forks; to be called before a NIC is opened. Returns true in the child. */
bool vis_fork(struct vis_peer *peer);

/* Makes a queue pair and connects it with the one that the other process makes. */
void vis_connect_peer(const struct vis_peer *peer, struct vis_end *end,
		      struct vis_nic *nic);

/* Tell the other process of a region. Of a region that was taken, the address, the length
 * and the remote key are valid.
 */
void vis_give_region(const struct vis_peer *peer, const struct ibv_mr *mr);
struct ibv_mr *vis_take_region(const struct vis_peer *peer);

/* Send and await a message that does not go by RDMA. */
void vis_tell(const struct vis_peer *peer);
void vis_hear(const struct vis_peer *peer);

/* The last call of both: the parent waits for the child. Returns the exit status. */
int vis_join(const struct vis_peer *peer);

/* --------------------------------------------------------------------------- GPUs */
/* Allocates DATA bytes of memory of a GPU, and registers it. */
struct ibv_mr *vis_gpu_memory(struct rn_gpu_buffer *buffer, struct vis_nic *nic,
			      int number);

/* What the kernels below are given. */
struct vis_kernel {
	const void *data; /* device address of DATA bytes to read */
	uint64_t flag;	  /* in host memory, raised by the CPU */
};

/* Kernels: reads all bytes; waits for the flag in host memory, then reads all bytes. */
void vis_kernel_read(void *kernel);
void vis_kernel_wait_and_read(void *kernel);

/* Part of a kernel: reads all words of DATA bytes of device memory, as vis_look_at(). */
void vis_kernel_look_at(const void *dev);

/* Part of a kernel: stores NEW to all bytes of any GPU's memory. */
void vis_kernel_fill(void *dev);

void vis_launch(const struct rn_gpu_buffer *buffer, rn_gpu_kernel_fn *fn, void *arg);
void vis_raise(struct vis_kernel *kernel);
void vis_synchronize(const struct rn_gpu_buffer *buffer);

/* ------------------------------------------------------------------------- storage */
/* Makes a file of DATA new bytes on drive 0. Drives reach GPUs themselves. */
struct rn_storage_file *vis_file(void);

/* Registers DATA bytes for drives. */
void vis_storage_buffer(void *mem);

/* Reads the file into memory, as a call that waits, or as an operation of a stream. */
void vis_load(struct rn_storage_file *file, void *mem);
void vis_load_by_stream(struct rn_storage_file *file, void *mem,
			struct rn_storage_stream *stream);

#endif /* RN_VISIBILITY_KIT_H */
