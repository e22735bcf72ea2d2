/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcie.h - settings ("knobs") of the simulated PCIe hierarchy.
 *
 * Between a Rocin device and memory lies a model of PCIe: queues of TLPs, routes and an
 * ordering rule. The knobs determine how weak the ordering is. A mode is a full set
 * of knobs:
 *
 *   strict       data is written as by memcpy(); only RDMA itself is asynchronous
 *   ibta         the guarantees in the tables of the IBTA specification
 *   typical      a common server, NIC and GPU under one switch
 *   adversarial  the weakest behaviour that the specifications allow
 *
 * As text (ROCIN_PCIE, `rocin run --pcie`, litmus files):
 * MODE[,KNOB=VALUE]..., or @FILE with the same, one per line, where '#' begins
 * a comment. Later words override earlier ones.
 */
#ifndef RN_PCIE_H
#define RN_PCIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum rn_pcie_mode {
	RN_PCIE_STRICT,
	RN_PCIE_IBTA,
	RN_PCIE_TYPICAL,
	RN_PCIE_ADVERSARIAL,
	RN_PCIE_MODE_COUNT,
};

/* Knob place: how the data writes of a NIC may be reordered among each other. */
enum rn_place {
	RN_PLACE_NOW,  /* each TLP is performed when it is issued */
	RN_PLACE_PCIE, /* placed in any order that the ordering table of PCIe allows */
	/* as RN_PLACE_PCIE, but the bytes of one message may be placed in any order */
	RN_PLACE_MSG,
	/* as RN_PLACE_MSG, but writes to different bytes may be placed in any order */
	RN_PLACE_ANY,
};

/* Knob rr: how a responder executes several READs of one QP. */
enum rn_read_order {
	RN_READS_SERIAL,
	RN_READS_PIPELINED
};

/* Knob nic.queues: whether the QPs of a NIC share its queue towards the fabric. */
enum rn_nic_queues {
	RN_NIC_SHARED,
	RN_NIC_PERQP
};

/* Knob rc.p2p: the route from a NIC to device memory. */
enum rn_p2p {
	/* through the switch that both are below, in the same queue as accesses of
	 * the CPU
	 */
	RN_P2P_SHARED,
	RN_P2P_SPLIT, /* through another root port: no ordering with CPU traffic */
	RN_P2P_DENY,  /* there is no route: access to device memory fails */
};

/* Knob gpu.ordering. The numbers are those of CUDA's GPU_DIRECT_RDMA_WRITES_ORDERING,
 * divided by 100.
 */
enum rn_gpu_ordering {
	RN_GPU_ORDER_NONE,
	RN_GPU_ORDER_OWNER,
	RN_GPU_ORDER_ALL
};

/* Knob gpu.link: how CPU and GPU are connected. */
enum rn_gpu_link {
	RN_GPU_PCIE,
	RN_GPU_C2C
};

/* Knob atomic: how a NIC performs atomics. */
enum rn_atomic_how {
	RN_ATOMIC_BY_NIC,  /* "hca": by a read and a write, under a lock of the NIC */
	RN_ATOMIC_BY_PCIE, /* "pcie": by one AtomicOp TLP */
};

/* Knob ack: when a responder acknowledges a WRITE or SEND. */
enum rn_ack_when {
	RN_ACK_EARLY,
	RN_ACK_PLACED
};

/* Knob mr.relaxed: which data writes have the relaxed-ordering attribute (RO). */
enum rn_relaxed {
	RN_RELAXED_REGISTERED,
	RN_RELAXED_FORCE,
	RN_RELAXED_IGNORE
};

/* Knob driver: how the TLP that moves next is chosen among those that may move. */
enum rn_driver_kind {
	RN_DRIVER_RANDOM,
	RN_DRIVER_ADVERSARIAL,
	RN_DRIVER_REPLAY
};

/* Knob mtt.table: how a NIC finds the address translations (MTT entries) that it reads.
 */
enum rn_mtt_table {
	/* "flat": translations are in a table whose address the NIC knows */
	RN_TABLE_FLAT,
	/* "tree": translations are in many page tables, whose addresses are in another
	 * table in host memory
	 */
	RN_TABLE_TREE,
};

/* Knob nic.wqe: how a NIC gets the WQEs of a send queue. */
enum rn_nic_wqe {
	RN_WQE_GIVEN,	/* "given": the NIC gets them from the verbs call, without TLPs */
	RN_WQE_FETCHED, /* "fetched": the NIC reads them after a doorbell write */
	/* "blueflame": as "fetched", but a doorbell for one short WQE carries it */
	RN_WQE_BLUEFLAME,
};

/* Knob cpu: memory model of the CPU; only used to explore litmus tests. */
enum rn_cpu_model {
	/* stores become visible in order, but later loads may be executed before */
	RN_CPU_TSO,
	RN_CPU_SC, /* each store is visible at once */
	/* as RN_CPU_TSO, but stores to different locations are not ordered */
	RN_CPU_PSO,
};

/* Value of rn_pcie_knobs.hold_ns for hold=event: data is held back until an event that
 * the ordering rules name occurs, or until the program looks at the data again in a loop.
 * This value has its meaning only in a process that has got it from ROCIN_PCIE by `rocin
 * run`, and neither with record= nor with replay=. Elsewhere it means a limit of 2 ms.
 */
#define RN_PCIE_HOLD_EVENT UINT64_MAX

struct rn_pcie_knobs {
	enum rn_pcie_mode mode; /* mode that sets the defaults of the other knobs */
	enum rn_place place;
	enum rn_read_order reads;
	enum rn_nic_queues nic_queues;
	enum rn_p2p p2p;
	enum rn_gpu_ordering gpu_ordering;
	enum rn_gpu_link gpu_link;
	enum rn_atomic_how atomic;
	enum rn_ack_when ack;
	enum rn_relaxed relaxed;
	enum rn_driver_kind driver;
	enum rn_cpu_model cpu;
	enum rn_nic_wqe nic_wqe;
	/* Knob nic.ooo: packets of WRITEs may be written to memory out of order. */
	bool ooo;
	/* Knob ido: TLPs of the NIC have the ID-based ordering attribute. */
	bool ido;
	/* Number of bytes that become visible together, a power of two, 8 .. 4096. */
	uint32_t granule;
	/* Largest payload of a TLP in bytes, power of two, 128 .. 4096. TLPs never cross
	 * a boundary of 4 KiB.
	 */
	uint32_t max_payload;
	uint64_t bar_size; /* bytes of GPU memory that PCIe peers can access; 0: all */
	uint64_t seed;	   /* seed for RN_DRIVER_RANDOM */
	/* Longest time in ns for which a TLP is held back; 0: no limit. The TLP moves
	 * when this limit or hold_polls is reached. RN_PCIE_HOLD_EVENT: no limit for data
	 * that the program is seen to look at; for all other TLPs, the limit that the
	 * other modes have.
	 */
	uint64_t hold_ns;
	uint32_t hold_polls; /* limit as a number of empty polls; 0: no limit */
	/* Number of translations (pages of 4 KiB) that a NIC keeps; 0: all. */
	uint32_t mtt_cache;
	enum rn_mtt_table mtt_table; /* how a NIC finds the translations that it reads */
	uint64_t mtt_miss_ns; /* time in ns that a NIC takes to read one translation */
	/* driver=replay: file with the choices to be made; else empty. */
	char replay[256];
	char record[256]; /* file to which all choices are written; or empty */
};

/* Sets all knobs to those of a mode. */
void rn_pcie_preset(struct rn_pcie_knobs *k, enum rn_pcie_mode mode);

/**
 * rn_pcie_parse() - Read knobs from text
 * @k:		In: values to start with (see rn_pcie_preset()); out: the result, changed
 *		only on success
 * @text:	MODE[,KNOB=VALUE]... or @FILE; a mode sets all knobs
 * @err:	Out on failure: error text that names the wrong word (and file:line)
 *
 * Return: 0; -EINVAL: an unknown word, a value out of range, or knobs that contradict
 *	   each other (@err names both); -errno of reading FILE, -EFBIG if it has more
 *	   than 16384 bytes. Empty text is no error.
 */
int rn_pcie_parse(struct rn_pcie_knobs *k, const char *text, char *err, size_t err_len);

/* Checks that the knobs do not contradict each other. Return: 0, or -EINVAL with an error
 * text in @err.
 */
int rn_pcie_check(const struct rn_pcie_knobs *k, char *err, size_t err_len);

/* Writes the knobs as text that rn_pcie_parse() can read: the mode, and the knobs that
 * differ from it. Return: bytes needed without the terminator, as for snprintf().
 */
int rn_pcie_format(const struct rn_pcie_knobs *k, char *buf, size_t len);

/* Returns the name of a mode, such as "typical"; never NULL. */
const char *rn_pcie_mode_name(enum rn_pcie_mode mode);

/* Describes one knob, for --help, the manual and tests. The last element has name
 * == NULL.
 */
struct rn_pcie_knob {
	const char *name;   /* name, such as "gpu.ordering" */
	const char *alias;  /* short name in litmus files, such as "gpu"; or NULL */
	const char *values; /* values, such as "none|owner|all" */
	const char *help;   /* explanation in one line */
};
extern const struct rn_pcie_knob rn_pcie_knob_list[];

/* ---------------------------------------- the hierarchy of this process */
/* The functions below are for tests and reports, and may be called from any thread. They
 * are in librocin-gpu.so. In a forked child they do nothing and return 0.
 */

/* Returns the knobs in force: those of the last rn_pcie_set_knobs() or, if it was not
 * called, those of ROCIN_PCIE. If ROCIN_PCIE is not set or not understood, these are the
 * knobs of mode strict.
 */
struct rn_pcie_knobs rn_pcie_live_knobs(void);

/**
 * rn_pcie_set_knobs() - Perform all pending TLPs, then use other knobs
 *
 * When a device is opened, it chooses between plain memory and the simulated hierarchy.
 * So knobs of another mode than strict must be set before; later they may be changed at
 * any time. No other thread may cause traffic during this call.
 *
 * Return: 0; -EINVAL: rn_pcie_check() says why; -ENOMEM; -errno of reading replay=FILE
 *	   or opening record=FILE; -EPROTO: the file of replay=FILE contains no choices,
 *	   or choices of a run with other knobs.
 */
int rn_pcie_set_knobs(const struct rn_pcie_knobs *k);

/* Performs all pending TLPs, then restarts the random choices from @seed. */
void rn_pcie_seed(uint64_t seed);

/* Performs all pending TLPs. */
void rn_pcie_drain(void);

/* Moves up to @moves TLPs, which the driver (knob driver) chooses. TLPs also move,
 * without this call, as time passes.
 */
void rn_pcie_step(unsigned moves);

/* Returns the number of bytes in pending writes to [@addr, @addr + @len). A byte that
 * several writes cover is counted several times.
 */
uint64_t rn_pcie_pending(const void *addr, size_t len);

struct rn_pcie_counters {
	uint64_t tlps;	/* number of TLPs issued */
	uint64_t moves; /* number of moves of a TLP from one queue to the next */
	/* Number of moves forced by a read, CQE, doorbell, drain or full queue. */
	uint64_t forced;
	/* Number of TLPs that moved because a limit for holding them back was reached. */
	uint64_t released;
	uint64_t overtakes; /* number of moves past an earlier TLP of the same queue */
	uint64_t faults;    /* number of TLPs that hit an address without memory */
	/* Longest time in ns between the issue and the end of a TLP. */
	uint64_t held_max;
	uint32_t on_way; /* number of pending TLPs */
	uint32_t on_way_max;
	uint64_t doorbells; /* number of doorbells for send queues */
	uint64_t wqe_reads; /* number of reads of a WQE, 64 bytes each at most */
	/* Number of pages whose translation a NIC had already, and number of those whose
	 * translation it had to read.
	 */
	uint64_t mtt_hits, mtt_misses;
};
void rn_pcie_counters(struct rn_pcie_counters *out);

/* The purpose of a TLP in the trace. */
enum rn_pcie_purpose {
	/* data, completion entries, and all purposes that have no word of their own */
	RN_PCIE_DATA,
	RN_PCIE_LOCKED, /* read or write of an atomic that the NIC makes under its lock */
	RN_PCIE_DOORBELL,
	RN_PCIE_WQE,	     /* read of a WQE */
	RN_PCIE_TRANSLATION, /* read of a page's translation */
	RN_PCIE_TABLE,	     /* read of the address of a page table */
};

/* A move of a TLP from one queue to the next, as recorded in the trace. */
struct rn_pcie_move {
	uint64_t seq; /* number of the TLP, in the order of issue */
	/* Sequence number (seq) of the first TLP that this TLP has overtaken in this
	 * queue; its own seq if it has overtaken none.
	 */
	uint64_t passed;
	uint64_t addr; /* address of the data */
	/* Times of the TLP's issue and of this move: CLOCK_MONOTONIC in ns. */
	uint64_t issued, when;
	/* Rule that allowed the TLP to overtake another; NULL: the TLP was the first in
	 * its queue.
	 */
	const char *rule;
	uint32_t len, stream, msg;
	uint16_t index; /* index in the table of pending TLPs */
	/* number of the queue that the TLP leaves, see rn_pcie_queue_name() */
	uint16_t queue;
	uint8_t kind;  /* kind of the TLP: 0 write, 1 read, 2 AtomicOp, 3 completion */
	uint8_t flags; /* flags of the TLP, enum rn_tlp_flag */
	uint8_t requester, target;
	uint8_t purpose; /* enum rn_pcie_purpose */
};

/* Starts a trace of the last @moves moves; 0: ends the trace and discards it. Return: 0
 * or -ENOMEM.
 */
int rn_pcie_trace_start(uint32_t moves);

/* Copies the newest moves, at most @max, oldest first. Return: their number. */
uint32_t rn_pcie_trace_read(struct rn_pcie_move *out, uint32_t max);

/* Returns the number of the NIC that belongs to a device, such as "rocin0". Returns
 * -ENOENT if the PCIe hierarchy has no such NIC: the device was not opened, or in mode
 * strict, in which no hierarchy lies between the device and memory.
 */
int rn_pcie_nic(const char *device);

/* A function that is called when an asynchronous call of this header has ended; @result
 * is 0 or -EFAULT. Any thread may call it, perhaps before the asynchronous call has
 * returned. The function must not block, and must not call functions of this header.
 */
struct rn_pcie_end {
	void (*done)(void *arg, int result);
	void *arg;
};

/**
 * rn_pcie_ring() - Ring a doorbell: a posted write of the CPU to a register of a NIC
 * @len:	1 to 64; @bytes are copied
 * @end:	Called when the doorbell has arrived
 *
 * For programs that keep a send queue of their own, one layer below verbs.
 *
 * Return: 0; -EINVAL; -ENOMEM.
 */
int rn_pcie_ring(int nic, const void *bytes, uint32_t len, struct rn_pcie_end end);

/**
 * rn_pcie_fetch() - Let a NIC read memory, as it reads a WQE
 * @qpn:	QP for which it reads
 * @from:	host memory, or memory of a GPU by its BAR
 * @end:	Called when all reads have come back
 *
 * Each granule is a read of its own. @to must stay valid until @end is called.
 */
int rn_pcie_fetch(int nic, uint32_t qpn, const void *from, void *to, uint32_t len,
		  struct rn_pcie_end end);

/* Write the name of a queue ("up:nic0", "dn:gpu0") or of an agent ("nic0") to @buf.
 * Return: @buf.
 */
const char *rn_pcie_queue_name(unsigned queue, char *buf, size_t len);
const char *rn_pcie_agent_name(unsigned agent, char *buf, size_t len);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RN_PCIE_H */
