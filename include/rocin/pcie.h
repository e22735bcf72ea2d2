/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcie.h - knobs of the simulated PCIe layer.
 *
 * Between a Rocin device and memory lies a model of PCIe: queues of TLPs, routes and an
 * ordering rule. The knobs say how weak the ordering is. A mode is a full set of knobs:
 *
 *   strict       placement like memcpy(); only RDMA itself is asynchronous
 *   ibta         what the specification's tables promise
 *   typical      a common server, NIC and GPU under one switch
 *   adversarial  the weakest reading of every text
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

/* place: how freely data writes of a NIC are reordered among each other. */
enum rn_place {
	RN_PLACE_NOW,  /* every TLP is performed when it is issued */
	RN_PLACE_PCIE, /* ordered by the ordering table of PCIe and nothing else */
	RN_PLACE_MSG,  /* also in any order within one message */
	RN_PLACE_ANY,  /* also in any order between different bytes */
};

/* rr: how a responder executes several READs of one QP. */
enum rn_read_order {
	RN_READS_SERIAL,
	RN_READS_PIPELINED
};

/* nic.queues: do the QPs of a NIC share the queue to the fabric? */
enum rn_nic_queues {
	RN_NIC_SHARED,
	RN_NIC_PERQP
};

/* rc.p2p: the route from a NIC to device memory. */
enum rn_p2p {
	RN_P2P_SHARED, /* below one switch, through the queue that the CPU uses too */
	RN_P2P_SPLIT,  /* through another root port: unordered against CPU traffic */
	RN_P2P_DENY,   /* not routed: access to device memory fails */
};

/* gpu.ordering: numbers as CUDA's GPU_DIRECT_RDMA_WRITES_ORDERING divided by 100. */
enum rn_gpu_ordering {
	RN_GPU_ORDER_NONE,
	RN_GPU_ORDER_OWNER,
	RN_GPU_ORDER_ALL
};

/* gpu.link: how CPU and GPU are connected. */
enum rn_gpu_link {
	RN_GPU_PCIE,
	RN_GPU_C2C
};

/* atomic: how a NIC performs atomics. */
enum rn_atomic_how {
	RN_ATOMIC_BY_NIC,  /* hca: read and write under a lock of the NIC */
	RN_ATOMIC_BY_PCIE, /* pcie: one AtomicOp TLP */
};

/* ack: when a responder acknowledges a WRITE or SEND. */
enum rn_ack_when {
	RN_ACK_EARLY,
	RN_ACK_PLACED
};

/* mr.relaxed: which data writes carry the relaxed-ordering attribute (RO). */
enum rn_relaxed {
	RN_RELAXED_REGISTERED,
	RN_RELAXED_FORCE,
	RN_RELAXED_IGNORE
};

/* driver: who chooses the next TLP among those that may move. */
enum rn_driver_kind {
	RN_DRIVER_RANDOM,
	RN_DRIVER_ADVERSARIAL,
	RN_DRIVER_REPLAY
};

/* cpu: memory model of the CPU; used by the explorer only. */
enum rn_cpu_model {
	RN_CPU_TSO,
	RN_CPU_SC
};

struct rn_pcie_knobs {
	enum rn_pcie_mode mode; /* the mode that the other knobs started from */
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
	bool ooo;	  /* nic.ooo: packets of WRITEs may be placed out of order */
	bool ido;	  /* ido: TLPs of the NIC carry ID-based ordering */
	uint32_t granule; /* bytes, power of two, 8 .. 4096: unit of visibility */
	/* Bytes, power of two, 128 .. 4096; TLPs never cross 4 KiB. */
	uint32_t max_payload;
	uint64_t bar_size; /* bytes of a GPU that peers can reach; 0: all */
	uint64_t seed;	   /* of the random driver */
	/* A TLP is held back no longer than the smaller of these two; 0: no bound. */
	uint64_t hold_ns;
	uint32_t hold_polls; /* number of empty polls */
	char replay[256];    /* driver=replay: file with the choices; else empty */
	char record[256];    /* file to which the choices are written; or empty */
};

/* Set all knobs to those of a mode. */
void rn_pcie_preset(struct rn_pcie_knobs *k, enum rn_pcie_mode mode);

/**
 * rn_pcie_parse() - Read knobs from text
 * @k:		In: where to start (rn_pcie_preset()); out: changed only on success
 * @text:	MODE[,KNOB=VALUE]... or @FILE; a mode word resets all knobs to it
 * @err:	Out on failure: one sentence that names the word (and file:line)
 *
 * Return: 0; -EINVAL: an unknown word, a value out of range, or knobs that contradict
 *	   each other, both named in @err; -errno of reading FILE, -EFBIG if it has more
 *	   than 16384 bytes. No words at all are no error.
 */
int rn_pcie_parse(struct rn_pcie_knobs *k, const char *text, char *err, size_t err_len);

/* Do the knobs agree with each other? Return: 0, or -EINVAL with a sentence in @err. */
int rn_pcie_check(const struct rn_pcie_knobs *k, char *err, size_t err_len);

/* The knobs as text that rn_pcie_parse() reads back: the mode, and the knobs that differ
 * from it. Return: bytes needed without the terminator, as snprintf().
 */
int rn_pcie_format(const struct rn_pcie_knobs *k, char *buf, size_t len);

/* "typical"; never NULL. */
const char *rn_pcie_mode_name(enum rn_pcie_mode mode);

/* One row per knob, for --help, the manual and tests. The last row has name == NULL. */
struct rn_pcie_knob {
	const char *name;   /* "gpu.ordering" */
	const char *alias;  /* short name in litmus files: "gpu"; or NULL */
	const char *values; /* "none|owner|all" */
	const char *help;   /* one line */
};
extern const struct rn_pcie_knob rn_pcie_knob_list[];

/* ------------------------------------------------- the hierarchy of this process
 * For tests and reports, from any thread; linked with librocin-gpu.so. In a forked child
 * they do nothing and answer 0.
 */

/* The knobs in force: those of ROCIN_PCIE, or the last of rn_pcie_set_knobs(); mode
 * strict if ROCIN_PCIE is not set or not understood.
 */
struct rn_pcie_knobs rn_pcie_live_knobs(void);

/**
 * rn_pcie_set_knobs() - Perform all TLPs on the way, then use other knobs
 *
 * A device chooses between plain memory and this layer when it is opened. So knobs other
 * than those of mode strict must be set before; they may then be changed at any time. No
 * other thread may cause traffic meanwhile.
 *
 * Return: 0; -EINVAL: rn_pcie_check() says why; -ENOMEM; -errno of reading replay=FILE
 *	   or opening record=FILE; -EPROTO: what replay=FILE names holds no choices, or
 *	   choices of a run with other knobs.
 */
int rn_pcie_set_knobs(const struct rn_pcie_knobs *k);

/* Perform all TLPs on the way, then let the random driver begin again from @seed. */
void rn_pcie_seed(uint64_t seed);

/* Perform all TLPs on the way. */
void rn_pcie_drain(void);

/* Let the driver make up to @moves choices, as it would in the course of time. */
void rn_pcie_step(unsigned moves);

/* Bytes of writes on their way into [@addr, @addr + @len); bytes of several writes
 * are counted several times.
 */
uint64_t rn_pcie_pending(const void *addr, size_t len);

struct rn_pcie_counters {
	uint64_t tlps;	/* TLPs issued */
	uint64_t moves; /* moves of a TLP from one queue to the next */
	/* Moves pushed by a read, CQE, doorbell, drain or a full queue. */
	uint64_t forced;
	uint64_t released;  /* TLPs released because the bound on holding was reached */
	uint64_t overtakes; /* moves past an earlier TLP of the same queue */
	uint64_t faults;    /* TLPs that found no memory */
	uint64_t held_max;  /* longest time in ns between issue and end of a TLP */
	uint32_t on_way;    /* TLPs on the way now */
	uint32_t on_way_max;
};
void rn_pcie_counters(struct rn_pcie_counters *out);

/* One move of a TLP, as recorded in the trace. */
struct rn_pcie_move {
	uint64_t seq; /* number of the TLP in the order of issue */
	/* Seq of the first TLP in this queue that it overtook; else its own seq. */
	uint64_t passed;
	uint64_t addr; /* address of its data */
	/* Times of issue and of this move: CLOCK_MONOTONIC in ns. */
	uint64_t issued, when;
	/* Rule that allowed the overtaking; NULL: it was the first of its queue. */
	const char *rule;
	uint32_t len, stream, msg;
	uint16_t index; /* its index in the table of TLPs, until it has ended */
	uint16_t queue; /* queue that it leaves; for rn_pcie_queue_name() */
	uint8_t kind;	/* 0 write, 1 read, 2 AtomicOp, 3 completion */
	uint8_t flags;	/* enum rn_tlp_flag */
	uint8_t requester, target;
};

/* Record the last @moves moves from now on; 0: stop, and forget them.
 * Return: 0 or -ENOMEM.
 */
int rn_pcie_trace_start(uint32_t moves);

/* Copy the newest moves, up to @max, oldest first. Return: their number. */
uint32_t rn_pcie_trace_read(struct rn_pcie_move *out, uint32_t max);

/* Name of a queue ("up:nic0", "dn:gpu0") or an agent ("nic0"), written to
 * @buf. Return: @buf.
 */
const char *rn_pcie_queue_name(unsigned queue, char *buf, size_t len);
const char *rn_pcie_agent_name(unsigned agent, char *buf, size_t len);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RN_PCIE_H */
