/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live.h - rocin-litmus: litmus tests on real devices, as far as libibverbs tells.
 *
 *	live_main.c	requests and responses, processes
 *	live_place.c	where locations lie; what cannot be observed here
 *	live_device.c	devices, memory, queue pairs, the layer between devices and memory
 *	live_player.c	a thread of the test, its work requests, its DMA engines
 *	live_rounds.c	all runs of a test, what they end in, and how one went
 *
 * Each thread of a test is a real thread, each NIC of a node a device of its own. All
 * nodes share the process, or each has one (`processes'); those meet in a block of
 * shared memory. Queue pairs are connected once per test and used for all its runs.
 *
 * A worker is a process with the nodes that it plays; the lead, which also counts what
 * runs ended in, plays the first node.
 */
#ifndef RN_LIVE_H
#define RN_LIVE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>

#include "live_wire.h"
#include "rocin/gpu.h"
#include "rocin/pcie.h"
#include "rocin/storage.h"

/* ---- The library ---- */
/* Librocin-gpu.so as rocin-litmus uses it: by dlopen(), so that the program
 * also runs where there is none.
 */

/* X(function): must be there. */
#define RN_LIVE_LIB_FUNCTIONS(X)        \
	X(rn_pcie_set_knobs)            \
	X(rn_pcie_seed)                 \
	X(rn_pcie_drain)                \
	X(rn_pcie_trace_start)          \
	X(rn_pcie_trace_read)           \
	X(rn_pcie_queue_name)           \
	X(rn_pcie_agent_name)           \
	X(rn_gpu_last_error)            \
	X(rn_gpu_count)                 \
	X(rn_gpu_open)                  \
	X(rn_gpu_alloc)                 \
	X(rn_gpu_free)                  \
	X(rn_gpu_launch)                \
	X(rn_gpu_wait_kernel)           \
	X(rn_gpu_become)                \
	X(rn_gpu_load)                  \
	X(rn_gpu_store)                 \
	X(rn_gpu_bar_load)              \
	X(rn_gpu_bar_store)             \
	X(rn_storage_driver_open)       \
	X(rn_storage_driver_close)      \
	X(rn_storage_set_policy)        \
	X(rn_storage_last_error)        \
	X(rn_storage_settle)            \
	X(rn_storage_handle_register)   \
	X(rn_storage_handle_deregister) \
	X(rn_storage_buffer_register)   \
	X(rn_storage_buffer_deregister) \
	X(rn_storage_batch_setup)       \
	X(rn_storage_batch_submit)      \
	X(rn_storage_batch_status)      \
	X(rn_storage_batch_destroy)

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name
#define RN_LIVE_LIB_MEMBER(f) __typeof__(&f) f;

struct rn_live_lib {
	void *handle; /* NULL: there is none */
	RN_LIVE_LIB_FUNCTIONS(RN_LIVE_LIB_MEMBER)
};

/* Load it from the folder of this program. Return: 0, also if there is none; -1 with a
 * sentence if it lacks a function.
 */
int rn_live_lib_open(struct rn_live_lib *lib, char *err, size_t err_len);

enum {
	RN_LIVE_NICS = RN_NIC_MAX,
	RN_LIVE_MEMORIES = RN_LITMUS_NODES + RN_GPU_MAX + RN_NIC_MAX,
	RN_LIVE_ARENA = 1 << 20,   /* bytes of a node's host memory, and of a GPU's */
	RN_LIVE_STAGE = 256 << 10, /* of an arena: from here on, sources of inline data */
	RN_LIVE_PAGE = 4096,
	/* Of memory on a NIC, which begins at a multiple of that. */
	RN_LIVE_DM_LOG = 14,
	RN_LIVE_DM = 1 << RN_LIVE_DM_LOG,
	RN_LIVE_MOVES = 4096, /* of a trace */
	RN_LIVE_DEPTH = 64,   /* of queues: more than a test has work requests */
};

/* Clock in ns. */
uint64_t rn_live_now(void);

/* ---- The layer ---- */

struct rn_live;

/* The layer between devices and memory, as it shall be in the run that l->shared->seed is
 * of. Does nothing if it is off.
 */
int rn_live_set_layer(struct rn_live *l);

/* ---- Places ---- */

/* A memory of the test: host memory of a node, a GPU's or a NIC's. */
struct rn_live_memory {
	uint8_t node, agent;
	uint8_t gpu; /* which of the process's GPUs plays it */
};

struct rn_live_place {
	uint8_t memory;
	uint32_t offset;
	uint32_t bytes; /* of an element of a message with one element */
};

/* NIC of the test: device number `index of the array' plays it. */
struct rn_live_nic_name {
	uint8_t node, agent;
};

struct rn_live_map {
	struct rn_live_memory memory[RN_LIVE_MEMORIES];
	struct rn_live_place place[RN_LITMUS_LOCATIONS];
	struct rn_live_nic_name nic[RN_LIVE_NICS];
	unsigned memories, nics;
	uint32_t element; /* bytes of an element of a message with several */
};

/**
 * rn_live_map() - Lay a test out in memory
 *
 * Remote elements of one message come to lie side by side, one granule each.
 *
 * Return: false with one sentence in @why if the test cannot run here.
 */
bool rn_live_map(const struct rn_litmus_test *t, uint32_t granule,
		 struct rn_live_map *map, char *why, size_t why_len);

unsigned rn_live_find_nic(const struct rn_live_map *map, unsigned node, unsigned agent);

/* ---- what workers share ---- */

struct rn_live_end {
	union ibv_gid gid;
	uint32_t qpn, psn;
	uint16_t lid;
	uint8_t mtu;
};

/* When an instruction began and ended (ns of the clock), and what it read or wrote. */
struct rn_live_mark {
	uint64_t began, ended;
	int64_t value;
};

struct rn_live_thread_result {
	int64_t reg[RN_LITMUS_REGS];
	bool is_done;
	uint8_t executed; /* instructions */
	struct rn_live_mark mark[RN_LITMUS_INSTRS];
};

struct rn_live_shared {
	pthread_barrier_t all;	   /* threads that are not launched, and workers */
	pthread_barrier_t workers; /* workers */
	/* Written by the lead before a barrier, read after it. */
	uint64_t seed;		  /* of this run */
	uint64_t deadline;	  /* of this run: who waits for longer gives up */
	bool is_last;		  /* no run follows: end */
	_Atomic unsigned emptied; /* workers that have all completions of this run */
	struct rn_live_end end[RN_LITMUS_QPS][2];	  /* requester, responder */
	uint64_t address[RN_LIVE_MEMORIES];		  /* as work requests name it */
	uint32_t rkey[RN_LIVE_NICS][RN_LIVE_MEMORIES][2]; /* by relaxed */
	struct rn_live_thread_result thread[RN_LITMUS_THREADS];
	int64_t final[RN_LITMUS_LOCATIONS];
	/* The first failure of any worker; the writer sets `failed' last. */
	atomic_flag has_failed;
	_Atomic bool failed;
	_Atomic bool is_lost; /* by the loss that was asked for */
	char why[160];
	_Alignas(RN_LIVE_PAGE) uint8_t host[RN_LITMUS_NODES][RN_LIVE_ARENA];
};

/* ---- Devices ---- */

struct rn_live_device {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint16_t lid;
	uint8_t gid_index;
	bool is_ethernet;
	uint8_t rd_atomic; /* READs and atomics at one time, 1 .. 16 */
	uint8_t mtu;	   /* enum ibv_mtu */
	uint32_t max_inline;
	unsigned flush_access; /* to register with for FLUSH; 0: the device has none */
};

void rn_live_close_devices(struct rn_live *l);

/* ---- one worker ---- */

struct rn_live_qp {
	struct ibv_qp *side[2]; /* requester, responder; NULL: another worker's */
	unsigned recvs;		/* receives posted for each run */
	_Atomic unsigned sends; /* messages of this run that took one */
};

struct rn_live {
	struct rn_live_lib lib;
	struct rn_live_shared *shared;
	const struct rn_live_request *request;
	const struct rn_litmus_test *test;
	uint32_t nodes; /* bit per node that this worker plays */
	bool is_lead;
	unsigned workers;
	struct ibv_device **list;
	int list_len;
	struct rn_live_device device[RN_LIVE_NICS];
	struct rn_gpu_buffer gpu_memory[RN_GPU_MAX]; /* taken once, kept */
	bool has_trace;

	/* Of the test. */
	struct rn_live_map map;
	struct ibv_dm *dm[RN_LIVE_MEMORIES]; /* memory on a NIC; else NULL */
	/* As the CPU names it; on a NIC, where it cannot: NULL. */
	uint8_t *memory[RN_LIVE_MEMORIES];
	uint8_t *device_memory[RN_LIVE_MEMORIES]; /* as kernels do; host: the same */
	struct ibv_mr *mr[RN_LIVE_NICS][RN_LIVE_MEMORIES][2];
	struct ibv_cq *cq[RN_LITMUS_CQS];
	_Atomic unsigned recv_seen[RN_LITMUS_CQS]; /* CQEs of receives in this run */
	struct rn_live_qp qp[RN_LITMUS_QPS];
	struct rn_live_drive *drive;
	uint64_t began, ended; /* the threads of the last run */
};

static inline bool rn_live_plays(const struct rn_live *l, unsigned node)
{
	return (l->nodes >> node & 1) != 0;
}

/* First failure wins. Return: -1. */
int rn_live_fail(struct rn_live *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- Memory and queue pairs ---- */

/* Everything that the runs of l->test need, or -1 after rn_live_fail(). */
int rn_live_connect(struct rn_live *l);
void rn_live_disconnect(struct rn_live *l);

/* Address of a location that the CPU can name, as work requests name it, and the MR of
 * this worker through which NIC @nic reaches it.
 */
uint8_t *rn_live_address(const struct rn_live *l, unsigned loc);
uint64_t rn_live_name(const struct rn_live *l, unsigned loc);
struct ibv_mr *rn_live_mr(const struct rn_live *l, unsigned nic, unsigned loc);
bool rn_live_is_relaxed(const struct rn_live *l, unsigned loc);

/* ---- Memory on NICs ---- */

/* Have devices the memory that the test wants of them? Opens them, unless there are to be
 * processes: then nobody knows.
 */
bool rn_live_has_dm(struct rn_live *l);

/* Is the location on a NIC? */
bool rn_live_is_dm(const struct rn_live *l, unsigned loc);
/* The number that all words of it hold, or RN_LIVE_TORN; and one word written. */
int64_t rn_live_dm_load(struct rn_live *l, unsigned loc);
void rn_live_dm_store(struct rn_live *l, unsigned loc, int64_t value);
/* The device memory of this location gets the contents that a run begins with. */
void rn_live_dm_reset(struct rn_live *l, unsigned loc);

/* ---- Work requests ---- */

enum {
	RN_LIVE_QUIET_WR = 1 << 20, /* wr_id of the SEND that ends a run */
};

/* Receives of one run, and one for the SEND that ends it. */
int rn_live_post_receives(struct rn_live *l, unsigned qp);
/* SENDs that use up what receives are left, then the one that ends the run. */
int rn_live_post_quiet(struct rn_live *l, unsigned qp, unsigned unused);
/* A SEND of no bytes and without a completion. */
int rn_live_post_unsignaled(struct rn_live *l, unsigned qp);

/* One CQE, if there is one: 1; 0; -1 after rn_live_fail(). */
int rn_live_poll(struct rn_live *l, unsigned cq, struct ibv_wc *wc);

/* ---- DMA engines ---- */

/* Does the test have DMA engines of a node that this worker plays? Then prepare. */
int rn_live_drive_open(struct rn_live *l);
void rn_live_drive_close(struct rn_live *l);
int rn_live_drive_reset(struct rn_live *l);

/* ---- Threads ---- */

enum {
	RN_LIVE_TORN = -999999999, /* as the model has it */
};

struct rn_live_player {
	struct rn_live *l;
	uint8_t number; /* of the thread in the test */
	uint64_t rng;
	int64_t kernel; /* that plays it, if it is launched; 0: none in this run */
	pthread_t thread;
	struct rn_live_player *all; /* players, by number of thread */
};

/* Plays one run. */
void rn_live_play(struct rn_live_player *p);

/* ---- Runs ---- */

struct rn_live_results {
	uint64_t runs;
	double seconds;
	uint32_t states;
	struct rn_live_state state[RN_LIVE_STATES];
	struct rn_live_step *step[RN_LIVE_STATES];
};

/* All runs. The lead fills @results, others get NULL. */
int rn_live_rounds(struct rn_live *l, struct rn_live_results *results);

#endif /* RN_LIVE_H */
