/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* examples.h - what the examples of `rocin explain` name: objects of a program that are
 * there already, and functions of which the names say what they do.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/if_ether.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of <unistd.h>, whose read() is another one. */
int usleep(unsigned us);
unsigned sleep(unsigned seconds);
int fork(void);
int execl(const char *path, const char *arg, ...);

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MARK 1
enum {
	MESSAGE_MAX = 4096
};

/* What one end knows of the other, or a connection. */
struct end {
	union ibv_gid gid, other_gid;
	uint16_t lid;
	enum ibv_mtu mtu, active_mtu;
	uint32_t qpn, psn, rkey;
	uint8_t max_dest_rd_atomic;
	struct ibv_ah *ah;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
};

/* Parts of struct ibv_device_attr_ex. */
struct wide {
	struct ibv_odp_caps odp_caps;
	uint64_t max_dm_size;
	uint32_t max_wq_type_rq;
};

struct pool {
	struct ibv_mr *mr;
};

extern struct ibv_context *ctx;
extern struct ibv_pd *pd, *pd_a, *pd_b, *pd_of_storage, *pd_of_network;
extern struct ibv_cq *cq;
extern struct ibv_srq *srq;
extern struct ibv_wq *wq;
extern struct ibv_mw *mw;
extern struct ibv_dm *dm;
extern struct ibv_ah *ah, *group_ah, *ud_ah;
extern struct ibv_ah_attr group_attr;
extern struct ibv_counters *counters;
extern struct ibv_comp_channel *channel;
extern struct ibv_async_event event;
extern struct ibv_qp *rc_qp, *uc_qp, *uc_peer;
extern struct ibv_port_attr port;
extern struct ibv_gid_entry entries[256];
extern struct ibv_send_wr newer, goodbye;
extern struct ibv_recv_wr *bad_recv;
extern struct ibv_sge send_sge, recv_sge;
extern struct end *conn, *other;
extern struct pool *pool;
extern union ibv_gid group;
struct place {
	uint64_t addr;
	uint32_t len, rkey;
};
extern struct place remote;

extern int i, n, gid_index, fd, mask, outstanding, my_rank, depth, connections,
	max_connections;
extern int spins, credits, max_recv_wr, amount, needs_read, counts_itself, interrupted,
	scope;
extern bool failed;
extern uint32_t my_psn, lkey, part, at;
extern uint64_t a, base;
extern size_t len;
extern pid_t pid;
extern char waste[4096], *slots, *slot[1000], *const argv[], **environ;
extern const char *command;
extern volatile int *flag_of_running_kernel;
extern int target;

void to_init(struct ibv_qp *qp);
void to_rtr(struct ibv_qp *qp);
void to_rts(struct ibv_qp *qp);
void wait_for(struct ibv_cq *cq);
void barrier(int socket);
void fill(void *what);
void die(const char *what);
void handle(const struct ibv_wc *wc);
void read_to(char *buf);
void send_from(); /* with flags or without */
void post();	  /* a buffer, or a QP and its AH */
void read_into(char *buf);
void send_rkey(struct end *peer, uint32_t rkey);
void ask_owner(struct end *peer, int amount);
void post_and_wait(struct ibv_qp *qp, struct ibv_mr *mr);
char *take_from(struct pool *pool);
int reconnect(struct ibv_qp *qp, const char *why);
struct ibv_send_wr *next(const struct ibv_wc *wc);
bool is_ours(const union ibv_gid *gid);
uint8_t index_of_kind(const union ibv_gid *gid);
int cuFlushGPUDirectRDMAWrites(int target, int scope);
