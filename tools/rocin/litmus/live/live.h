/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live.h - declarations shared by the files of rocin-litmus, which runs litmus tests by
 * calls of libibverbs.
 *
 * main.c	requests and responses, processes
 * place.c	layout of locations in memory; tests that cannot run on devices
 * device.c	devices, memory, queue pairs, the simulated PCIe layer
 * player.c	a thread of the test, its work requests, its DMA engines
 * bell.c	doorbells and send queues that the test writes itself
 * rounds.c	all runs of a test, counting of final states
 * witness.c	the steps of one run
 *
 * A thread of the process executes each thread of a test, and an ibverbs device stands
 * for each NIC of a node. Either one process runs all nodes, or each node has a process
 * of its own (option --processes); these processes synchronise in shared memory. Queue
 * pairs are connected once per test and used for all runs.
 *
 * Such a process is called a worker. The worker that runs the first node is the lead: it
 * counts the final states.
 */
#ifndef RN_LIVE_H
#define RN_LIVE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>

#include "rocin/gpu.h"
#include "rocin/pcie.h"
#include "rocin/storage.h"
#include "wire.h"

/* ---- The library librocin-gpu.so ---- */
/* Functions of librocin-gpu.so. The library is loaded by dlopen(), so that rocin-litmus
 * also works if the library is not installed.
 */

/* Calls X(function) for each of these functions; the library must have all of them. */
#define RN_LIVE_LIB_FUNCTIONS(X)        \
	X(rn_pcie_set_knobs)            \
	X(rn_pcie_seed)                 \
	X(rn_pcie_drain)                \
	X(rn_pcie_trace_start)          \
	X(rn_pcie_trace_read)           \
	X(rn_pcie_queue_name)           \
	X(rn_pcie_agent_name)           \
	X(rn_pcie_nic)                  \
	X(rn_pcie_ring)                 \
	X(rn_pcie_fetch)                \
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
	void *handle; /* handle of the library; NULL: the library is not installed */
	RN_LIVE_LIB_FUNCTIONS(RN_LIVE_LIB_MEMBER)
};

/* Loads librocin-gpu.so from the directory of this program. Returns 0, even if the
 * library does not exist. Returns -1 with an error text in @err if the library lacks a
 * function.
 */
int rn_live_lib_open(struct rn_live_lib *lib, char *err, size_t err_len);

enum {
	RN_LIVE_NICS = RN_NIC_MAX,
	RN_LIVE_MEMORIES = RN_LITMUS_NODES + RN_GPU_MAX + RN_NIC_MAX,
	/* Size in bytes of a node's host memory, and of a GPU's memory. */
	RN_LIVE_ARENA = 1 << 20,
	/* Offset in a node's host memory of the area from which inline data are sent. */
	RN_LIVE_STAGE = 256 << 10,
	RN_LIVE_PAGE = 4096,
	/* Size in bytes of the memory of a NIC, and its logarithm. The memory is aligned
	 * to its size.
	 */
	RN_LIVE_DM_LOG = 14,
	RN_LIVE_DM = 1 << RN_LIVE_DM_LOG,
	RN_LIVE_QUEUES = RN_LITMUS_QPS + RN_LITMUS_RQS,
	RN_LIVE_MOVES = 4096, /* maximum number of TLP moves in a trace */
	/* Depth of queues: greater than the number of work requests in any test. */
	RN_LIVE_DEPTH = 64,
};

/* Returns CLOCK_MONOTONIC in ns. */
uint64_t rn_live_now(void);

/* ---- Simulated PCIe layer ---- */

struct rn_live;

/* Sets the PCIe knobs of the simulated hierarchy for the next run, whose seed is
 * l->shared->seed. Does nothing if PCIe is not simulated. Returns 0, or -1 after
 * rn_live_fail().
 */
int rn_live_set_layer(struct rn_live *l);

/* ---- Layout in memory ---- */

/* One of the memories in a test: host memory of a node, or memory of a GPU or NIC. */
struct rn_live_memory {
	uint8_t node, agent;
	/* if the agent is a GPU: number of the simulated GPU of this process that stands
	 * for it
	 */
	uint8_t gpu;
};

struct rn_live_place {
	uint8_t memory;
	uint32_t offset;
	/* Length of the location in bytes; used if no other element is in the message. */
	uint32_t bytes;
};

/* A NIC of the test. Its index in rn_live_map.nic is also the number of the device that
 * stands for it.
 */
struct rn_live_nic_name {
	uint8_t node, agent;
};

struct rn_live_map {
	struct rn_live_memory memory[RN_LIVE_MEMORIES];
	struct rn_live_place place[RN_LITMUS_LOCATIONS];
	struct rn_live_nic_name nic[RN_LIVE_NICS];
	unsigned memories, nics;
	/* Length in bytes of each location in a message of several elements. */
	uint32_t element;
};

/**
 * rn_live_map() - Lay out the locations of a test in memory
 *
 * The remote elements of one message are placed side by side, each in its own granule.
 *
 * Return: true with @map filled in, or false with the reason in @why if the test cannot
 * run on devices.
 */
bool rn_live_map(const struct rn_litmus_test *t, uint32_t granule,
		 struct rn_live_map *map, char *why, size_t why_len);

unsigned rn_live_find_nic(const struct rn_live_map *map, unsigned node, unsigned agent);

/* ---- Memory shared by the workers ---- */

struct rn_live_end {
	union ibv_gid gid;
	uint32_t qpn, psn;
	uint16_t lid;
	uint8_t mtu;
};

/* When an instruction began and ended (rn_live_now()), and the value that it read or
 * wrote.
 */
struct rn_live_mark {
	uint64_t began, ended;
	int64_t value;
};

struct rn_live_thread_result {
	int64_t reg[RN_LITMUS_REGS];
	bool is_done;
	uint8_t executed; /* number of instructions executed */
	struct rn_live_mark mark[RN_LITMUS_INSTRS];
};

struct rn_live_shared {
	/* Barrier at which all workers wait (the processes of the test), and those
	 * threads of the test that run from the beginning. Threads that other threads
	 * launch as kernels do not wait at it.
	 */
	pthread_barrier_t all;
	pthread_barrier_t workers; /* barrier for workers only */
	/* The lead (the worker that counts final states) writes this member and the
	 * following ones before a barrier. The other workers read them after it.
	 */
	uint64_t seed; /* seed of the next run */
	/* Time at which the threads of the next run give up waiting for values or
	 * completions.
	 */
	uint64_t deadline;
	bool is_last; /* there is no next run, so threads end */
	/* Number of workers (processes) that have polled all completions of this run on
	 * their CQs.
	 */
	_Atomic unsigned emptied;
	/* QPNs and addresses of each QP: requester, responder. */
	struct rn_live_end end[RN_LITMUS_QPS][2];
	/* Address of each memory for use in work requests. */
	uint64_t address[RN_LIVE_MEMORIES];
	/* R_Keys for strict ordering ([0]) and for relaxed ordering ([1]). */
	uint32_t rkey[RN_LIVE_NICS][RN_LIVE_MEMORIES][2];
	struct rn_live_thread_result thread[RN_LITMUS_THREADS];
	/* Counts for this run. @sends: messages of each QP that consume a receive.
	 * @receives: receives that the test's own instructions have posted to each
	 * receive queue. @has_bad_receive: one of these names no valid buffer.
	 */
	_Atomic unsigned sends[RN_LITMUS_QPS], receives[RN_LITMUS_RQS];
	_Atomic bool has_bad_receive;
	/* Completions of the test that no thread had polled when the threads ended: for
	 * each CQ, and for the DMA engines.
	 */
	_Atomic unsigned left[RN_LITMUS_CQS], left_dma;
	int64_t final[RN_LITMUS_LOCATIONS];
	/* The first failure of any worker (process): the worker that fails first sets
	 * @has_failed, so that no other worker writes @why. It writes the text @why, and
	 * then sets @failed.
	 */
	atomic_flag has_failed;
	_Atomic bool failed;
	/* the failure may be due to packet loss, which the back end `live' has requested
	 */
	_Atomic bool is_lost;
	char why[160];
	_Alignas(RN_LIVE_PAGE) uint8_t host[RN_LITMUS_NODES][RN_LIVE_ARENA];
};

/* ---- A device that serves as a NIC ---- */

struct rn_live_device {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint16_t lid;
	uint8_t gid_index;
	bool is_ethernet;
	uint8_t rd_atomic; /* maximum number of outstanding READs and atomics, 1 .. 16 */
	uint8_t mtu;	   /* path MTU as an enum ibv_mtu */
	uint32_t max_inline;
	/* Access flag that memory must have for FLUSH when it is registered. 0 if the
	 * device does not support FLUSH.
	 */
	unsigned flush_access;
};

void rn_live_close_devices(struct rn_live *l);

/* ---- A worker ---- */

struct rn_live_qp {
	/* The QPs of the requester and of the responder, in this order. NULL: the QP
	 * belongs to another process.
	 */
	struct ibv_qp *side[2];
	/* Number of receives that are posted for each run. Not used if instructions of
	 * the test post the receives.
	 */
	unsigned recvs;
};

struct rn_live {
	struct rn_live_lib lib;
	struct rn_live_shared *shared;
	const struct rn_live_request *request;
	const struct rn_litmus_test *test;
	uint32_t nodes; /* one bit for each node that this worker runs */
	bool is_lead;
	unsigned workers;
	struct ibv_device **list;
	int list_len;
	struct rn_live_device device[RN_LIVE_NICS];
	/* memory of GPUs, which is allocated once for all tests */
	struct rn_gpu_buffer gpu_memory[RN_GPU_MAX];
	bool has_trace;

	/* The fields from here on are reset for each test. */
	struct rn_live_map map;
	struct ibv_dm *dm[RN_LIVE_MEMORIES]; /* memory on a NIC; NULL for other memory */
	/* Address by which the CPU accesses the memory. NULL: memory on a NIC, which the
	 * CPU cannot address.
	 */
	uint8_t *memory[RN_LIVE_MEMORIES];
	/* Address by which kernels access the memory; for host memory it equals @memory.
	 */
	uint8_t *device_memory[RN_LIVE_MEMORIES];
	struct ibv_mr *mr[RN_LIVE_NICS][RN_LIVE_MEMORIES][2];
	struct ibv_cq *cq[RN_LITMUS_CQS];
	/* number of CQEs of receives that were polled in this run */
	_Atomic unsigned recv_seen[RN_LITMUS_CQS];
	struct rn_live_qp qp[RN_LITMUS_QPS];
	/* NULL: the queue belongs to one QP, or to another process */
	struct ibv_srq *srq[RN_LITMUS_RQS];
	/* Queues whose doorbells the test rings: first the send queues, in the order of
	 * QP numbers, then the receive queues. NULL: the test rings no doorbell of this
	 * queue, or the queue belongs to another process.
	 */
	struct rn_live_queue *queue[RN_LIVE_QUEUES];
	struct rn_live_drive *drive;
	/* times at which the threads of the last run began and ended */
	uint64_t began, ended;
};

static inline bool rn_live_plays(const struct rn_live *l, unsigned node)
{
	return (l->nodes >> node & 1) != 0;
}

/* Stores the reason of a failure, unless an earlier failure has stored its reason.
 * Returns -1.
 */
int rn_live_fail(struct rn_live *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- Memory and queue pairs ---- */

/* Makes the objects that l->test needs: memory, QPs, CQs and so on. Returns 0, or -1
 * after rn_live_fail().
 */
int rn_live_connect(struct rn_live *l);
void rn_live_disconnect(struct rn_live *l);

/* How a location is accessed: rn_live_address() returns its address for the CPU,
 * rn_live_name() its address in work requests, and rn_live_mr() the MR of this process
 * through which NIC @nic accesses it.
 */
uint8_t *rn_live_address(const struct rn_live *l, unsigned loc);
uint64_t rn_live_name(const struct rn_live *l, unsigned loc);
struct ibv_mr *rn_live_mr(const struct rn_live *l, unsigned nic, unsigned loc);
bool rn_live_is_relaxed(const struct rn_live *l, unsigned loc);

/* ---- Memory on NICs ---- */

/* Opens the devices, and returns true if each has as much device memory (ibv_alloc_dm())
 * as the test needs. With several processes it always returns true, because a process
 * opens only its own devices.
 */
bool rn_live_has_dm(struct rn_live *l);

/* Returns true if the location is in device memory on a NIC. */
bool rn_live_is_dm(const struct rn_live *l, unsigned loc);
/* Access device memory on a NIC. rn_live_dm_load() returns the value that all words of
 * the location have, or RN_LIVE_TORN if they differ. rn_live_dm_store() writes @value to
 * one word.
 */
int64_t rn_live_dm_load(struct rn_live *l, unsigned loc);
void rn_live_dm_store(struct rn_live *l, unsigned loc, int64_t value);
/* Sets a location in device memory on a NIC to its initial value. */
void rn_live_dm_reset(struct rn_live *l, unsigned loc);

/* ---- Work requests ---- */

enum {
	RN_LIVE_QUIET_WR = 1 << 20, /* wr_id of the SEND that ends a run, on each QP */
};

/* Posts the receives that QP @qp needs for one run, and one more for the SEND that ends
 * the run. Returns 0, or -1 after rn_live_fail().
 */
int rn_live_post_receives(struct rn_live *l, unsigned qp);
/* Ends a run on QP @qp: posts one SEND for each of the @unused receives that no message
 * has consumed, and then the SEND that ends the run. Returns 0, or -1 after
 * rn_live_fail().
 */
int rn_live_post_quiet(struct rn_live *l, unsigned qp, unsigned unused);
/* Posts a SEND without data and without a completion. */
int rn_live_post_unsignaled(struct rn_live *l, unsigned qp);

/* Polls for one CQE. Returns 1 if there is one, 0 if not, -1 after rn_live_fail(). */
int rn_live_poll(struct rn_live *l, unsigned cq, struct ibv_wc *wc);

/* ---- Doorbells ---- */

/* Posts the WRITE of instruction @in to the real device. In a test with doorbells, WQEs
 * and doorbells are at first only words in the simulated PCIe hierarchy: once a thread
 * has rung the doorbell and the simulated NIC has fetched the data, the real request is
 * posted. @word: the @words words that were fetched; if the WRITE is longer, the last
 * word is repeated. Returns 0, or -1 after rn_live_fail().
 */
typedef int rn_live_post_fn(struct rn_live *l, const struct rn_litmus_instr *in,
			    const int64_t *word, unsigned words);
rn_live_post_fn rn_live_post_fetched; /* defined in player.c */

/* Posts a receive to receive queue @rq, whose doorbells the test rings. @loc: the
 * location that is its buffer. RN_LITMUS_NONE: the buffer is outside of all locations,
 * for a message that would otherwise wait for ever. Returns 0, or -1 after
 * rn_live_fail().
 */
typedef int rn_live_receive_fn(struct rn_live *l, unsigned rq, unsigned loc);
rn_live_receive_fn rn_live_post_receive;

/* Starts an engine (a thread that serves doorbells) for each queue of this process whose
 * doorbells the test rings. When the engine has fetched the WQE of a request, it calls
 * @post; when it has fetched that of a receive, it calls @receive. Returns 0, or -1 after
 * rn_live_fail().
 */
int rn_live_queues_open(struct rn_live *l, rn_live_post_fn *post,
			rn_live_receive_fn *receive);
void rn_live_queues_close(struct rn_live *l);
/* Rings the doorbell of instruction @in. @wqe: the WQE, if the doorbell carries one
 * (BlueFlame).
 */
int rn_live_ring(struct rn_live *l, const struct rn_litmus_instr *in, int64_t wqe);
/* Waits until the engines have served all doorbells of a run. Must be called after the
 * threads of the run have ended. Returns 0, or -1 if something has failed.
 */
int rn_live_queues_finish(struct rn_live *l);

/* ---- DMA engines ---- */

/* Prepares the DMA engines (simulated drives) if the test has some on nodes of this
 * process. Returns 0, or -1 after rn_live_fail().
 */
int rn_live_drive_open(struct rn_live *l);
void rn_live_drive_close(struct rn_live *l);
/* Waits until all transfers of the DMA engines in a run have ended. Drops the completions
 * that no thread has polled. Returns 0, or -1 after rn_live_fail().
 */
int rn_live_drive_finish(struct rn_live *l);

/* ---- Threads of a test ---- */

enum {
	/* value of a load if the words of the location differ; the model has the same
	 * constant
	 */
	RN_LIVE_TORN = -999999999,
};

struct rn_live_player {
	struct rn_live *l;
	uint8_t number; /* number of the thread in the test */
	uint64_t rng;
	/* For a thread that another thread launches as a kernel: number of the kernel. 0:
	 * the kernel was not launched in this run.
	 */
	int64_t kernel;
	pthread_t thread;
	struct rn_live_player *all; /* array of players, by number of thread */
};

/* Returns the simulated GPU for thread number @thread of the test, which is a kernel. */
struct rn_gpu *rn_live_gpu(const struct rn_live *l, unsigned thread);

/* Executes the thread's instructions in one run. */
void rn_live_play(struct rn_live_player *p);

/* ---- Runs of a test ---- */

struct rn_live_results {
	uint64_t runs;
	double seconds;
	uint32_t states;
	struct rn_live_state state[RN_LIVE_STATES];
	struct rn_live_step *step[RN_LIVE_STATES];
};

/* Repeats the test as often as l->request demands. @results: filled in by the lead (the
 * worker that counts final states); other workers pass NULL. Returns 0, or -1 after
 * rn_live_fail().
 */
int rn_live_rounds(struct rn_live *l, struct rn_live_results *results);

/* Returns the steps of the last run, sorted by time, as an array that the caller must
 * free. Sets *@count to their number. Returns NULL if the steps are not known, or if
 * there is no memory.
 */
struct rn_live_step *rn_live_witness(struct rn_live *l, uint32_t *count);

#endif /* RN_LIVE_H */
