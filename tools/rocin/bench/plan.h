/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan.h - the measurements of `rocin bench`, and the options that select among them.
 *
 * An item is a kind of measurement, such as write_bw, the bandwidth of RDMA WRITE. A cell
 * is an item with all its parameters. Its text is
 *
 * 	ITEM[:SIZE][:qps=N][:processes=N[:packed]][:threads=N[:td | :shared]]
 *	    [:rcvbuf=BYTES][:local | :beside]
 *
 * such as write_bw, write_bw:64K, burst_rate:qps=1000, send_lat:processes=4:local. The
 * defaults are the size in the table of items, one QP, two processes, each on a processor
 * of its own, one thread in each, the receive buffer that the kernel grants, and UDP.
 */
#ifndef RN_BENCH_PLAN_H
#define RN_BENCH_PLAN_H

#include <stddef.h>

#include "rocin/types.h"

enum rn_bench_kind {
	RN_BENCH_BW,  /* bandwidth in GB/s, that is 10^9 bytes of payload per second */
	RN_BENCH_LAT, /* latency in us: mean round trip time in a time slice */
	RN_BENCH_RATE /* message rate in millions per second */
};

enum rn_bench_family {
	RN_BENCH_VERBS,
	RN_BENCH_TCP,
	RN_BENCH_UDP,
	RN_BENCH_MEMORY
};

/* clang-format off */
/*    symbol       name           what                                     kind  family  bytes    most */
#define RN_BENCH_ITEMS(X) \
	X(WRITE_BW,    "write_bw",    "RDMA WRITE",                             BW,   VERBS,  1 << 20, 8 << 20) \
	X(READ_BW,     "read_bw",     "RDMA READ",                              BW,   VERBS,  1 << 20, 8 << 20) \
	X(SEND_BW,     "send_bw",     "SEND",                                   BW,   VERBS,  1 << 20, 8 << 20) \
	X(TCP_BW,      "tcp_bw",      "TCP, blocking",                          BW,   TCP,    1 << 20, 8 << 20) \
	X(TCP_POLL_BW, "tcp_poll_bw", "TCP, both ends polling",                 BW,   TCP,    1 << 20, 8 << 20) \
	X(UDP_BW,      "udp_bw",      "raw UDP with GSO and GRO, polling",      BW,   UDP,    1 << 20, 8 << 20) \
	X(UDP_MMSG_BW, "udp_mmsg_bw", "raw UDP, sendmmsg of 32, polling",       BW,   UDP,    1 << 20, 8 << 20) \
	X(UDP_CRC_BW,  "udp_crc_bw",  "raw UDP with GSO, a copy and a CRC a side", BW,   UDP,    1 << 20, 8 << 20) \
	X(RING_BW,     "ring_bw",     "a bare ring, a copy and a CRC a side",   BW,   MEMORY, 1 << 20, 8 << 20) \
	X(MEMCPY_BW,   "memcpy_bw",   "memcpy",                                 BW,   MEMORY, 1 << 20, 8 << 20) \
	X(SEND_LAT,    "send_lat",    "SEND ping-pong, polling",                LAT,  VERBS,  64,      8 << 20) \
	X(EVENT_LAT,   "event_lat",   "SEND ping-pong, completion events",      LAT,  VERBS,  64,      8 << 20) \
	X(WRITE_LAT,   "write_lat",   "WRITE ping-pong, both spin on memory",   LAT,  VERBS,  8,       8 << 20) \
	X(READ_LAT,    "read_lat",    "RDMA READ, one at a time, polling",      LAT,  VERBS,  8,       8 << 20) \
	X(ATOMIC_LAT,  "atomic_lat",  "fetch and add, one at a time, polling",  LAT,  VERBS,  8,       8)       \
	X(UDP_LAT,     "udp_lat",     "raw UDP ping-pong, polling",             LAT,  UDP,    64,      32 << 10) \
	X(LINE_LAT,    "line_lat",    "a cache line, there and back",           LAT,  MEMORY, 8,       8)       \
	X(TCP_LAT,     "tcp_lat",     "TCP ping-pong, blocking",                LAT,  TCP,    64,      8 << 20) \
	X(TCP_POLL_LAT, "tcp_poll_lat", "TCP ping-pong, polling",               LAT,  TCP,    64,      8 << 20) \
	X(SEND_RATE,   "send_rate",   "SEND, posted one by one",                RATE, VERBS,  64,      64 << 10) \
	X(WRITE_RATE,  "write_rate",  "RDMA WRITE, posted one by one",          RATE, VERBS,  64,      64 << 10) \
	X(ATOMIC_RATE, "atomic_rate", "fetch and add, posted one by one",       RATE, VERBS,  8,       8)       \
	X(BURST_RATE,  "burst_rate",  "SEND, 32 at a time to each QP in turn",  RATE, VERBS,  64,      4096)    \
	X(UDP_RATE,    "udp_rate",    "raw UDP, sendmmsg of 32, polling",       RATE, UDP,    64,      64 << 10) \
	X(UDP_WINDOW_RATE, "udp_window_rate", "the same, 128 and then an answer", RATE, UDP,  64,      64 << 10)

enum rn_bench_item {
#define X(sym, name, what, kind, family, len, most) RN_BENCH_##sym,
	RN_BENCH_ITEMS(X)
#undef X
	RN_BENCH_ITEM_COUNT
};
/* clang-format on */

struct rn_bench_item_info {
	const char *name, *what;
	enum rn_bench_kind kind;
	enum rn_bench_family family;
	uint32_t len;	  /* default length of a message in bytes */
	uint32_t len_max; /* maximum length; equal to len if the length is fixed */
};
extern const struct rn_bench_item_info rn_bench_item_info[RN_BENCH_ITEM_COUNT];

/* Returns the CPU time that a unit costs, in rn_bench_cpu_unit(): of a GB, of a round
 * trip, of a message. @value: the result of the cell, @cores: the processors that it
 * kept busy.
 */
double rn_bench_cpu_each(enum rn_bench_kind kind, double value, double cores,
			 unsigned pairs);
const char *rn_bench_cpu_unit(enum rn_bench_kind kind);

/* rn_bench_unit() returns the unit of values of this kind; rn_bench_more_is_better()
 * returns true if greater values are better.
 */
const char *rn_bench_unit(enum rn_bench_kind kind);
bool rn_bench_more_is_better(enum rn_bench_kind kind);

enum rn_bench_wire {
	RN_BENCH_OVER_UDP,
	/* the local wire: a shared-memory link between two processes of a host */
	RN_BENCH_OVER_LOCAL,
	RN_BENCH_OVER_BESIDE, /* another device, for instance a device of the kernel */
	RN_BENCH_WIRE_COUNT
};

enum rn_bench_sharing {
	RN_BENCH_OWN_CQ,	/* each thread has a CQ of its own */
	RN_BENCH_THREAD_DOMAIN, /* the same, with its QP in a thread domain */
	RN_BENCH_SHARED_CQ,	/* all threads poll one CQ */
	RN_BENCH_SHARINGS
};

enum {
	RN_BENCH_COPIES_UNKNOWN = 0xff,
	RN_BENCH_LEN_MIN = 8,
	RN_BENCH_QPS_MAX = 10000,
	RN_BENCH_PAIRS_MAX = 16,
	RN_BENCH_THREADS_MAX = 32,
	RN_BENCH_RCVBUF_MIN = 65536,
	RN_BENCH_CELL_TEXT = 104 /* bytes that suffice for the text of any cell */
};

struct rn_bench_cell {
	enum rn_bench_item item;
	/* How packets are transferred; has an effect only on items that use verbs. */
	enum rn_bench_wire wire;
	uint32_t len; /* length of a message in bytes */
	/* number of QPs that share the messages; only for items that use verbs */
	uint32_t qps;
	uint32_t pairs; /* number of pairs of processes that work at the same time */
	/* all processes share two processors, however many there are */
	bool packed;
	/* Number of threads of each process, each with a QP of its own. 1: the process
	 * has no threads besides its first one. Only for streams over verbs.
	 */
	uint32_t threads;
	/* which queues the threads of a process share */
	enum rn_bench_sharing sharing;
	uint32_t rcvbuf; /* SO_RCVBUF of verbs and UDP; 0: as much as possible */
};

/* Returns how often processors copy each byte of payload on its way from memory to
 * memory; RN_BENCH_COPIES_UNKNOWN: not known, or there is no payload.
 */
unsigned rn_bench_copies(const struct rn_bench_cell *cell);

/**
 * rn_bench_cell_read() - Parse the text of a cell
 * @cell:	Out. Parameters that have no effect on the item have their defaults, so
 *	that equal cells compare equal
 * @err:	Out on failure: error text
 *
 * Return: 0 or -EINVAL.
 */
int rn_bench_cell_read(struct rn_bench_cell *cell, const char *text, char *err,
		       size_t err_len);

/* Writes the shortest text that rn_bench_cell_read() parses as @cell. */
void rn_bench_cell_write(const struct rn_bench_cell *cell, char text[RN_BENCH_CELL_TEXT]);

bool rn_bench_cell_equal(const struct rn_bench_cell *a, const struct rn_bench_cell *b);

/* Parses a number such as "64", "4K" or "1M", from @min to @max. Returns 0 or -EINVAL. */
int rn_bench_read_size(const char *text, uint32_t min, uint32_t max, uint32_t *size);
void rn_bench_write_size(uint32_t size, char text[16]);

/* ------------------------------------------------------ options of the command line */
/* The options of `rocin bench`.
 *
 * Two programs parse them: `rocin bench`, which checks the options and sets up the
 * environment, and rocin-bench, which is linked with libibverbs and which `rocin
 * bench` executes.
 */

enum rn_bench_set {
	RN_BENCH_STANDARD, /* all items with their default parameters */
	RN_BENCH_BARS,	   /* the ratios that Rocin should reach */
	RN_BENCH_SWEEP	   /* bandwidth and latency for many message sizes */
};

enum {
	RN_BENCH_ROUNDS_MAX = 1000,
	RN_BENCH_ONLY_MAX = 64,
	RN_BENCH_LIST_MAX = 32
};

struct rn_bench_list {
	uint32_t value[RN_BENCH_LIST_MAX];
	unsigned count; /* number of elements; 0: the option was not given */
};

struct rn_bench_args {
	enum rn_bench_set set;
	/* cells that the command line names; if there are any, @set has no effect */
	struct rn_bench_cell only[RN_BENCH_ONLY_MAX];
	unsigned only_count;
	struct rn_bench_list sizes, qps, processes, threads;
	/* which wires to measure; if none is set, the wire that each cell names */
	bool wire[RN_BENCH_WIRE_COUNT];
	unsigned rounds; /* number of rounds, 1 .. RN_BENCH_ROUNDS_MAX */
	/* Length of a time slice (the time for one measurement in a round) in ms, 1 ..
	 * 60000; 0: a default that depends on the set of cells.
	 */
	unsigned slice_ms;
	unsigned time_s; /* time limit in seconds for all slices together; 0: no limit */
	bool json;
	bool pin;
	/* setting of ROCIN_NETDEVS; NULL: that of the environment, else the default */
	const char *netdevs;
	/* Name of the device with which Rocin's is compared. NULL: the first one that is
	 * not Rocin's.
	 */
	const char *beside;
	const char *plot; /* name of a file for the picture, or NULL */
	const char *save; /* name of a file for the JSON, or NULL */
	/* name of a file that an earlier --save has written, or NULL */
	const char *baseline;
};

/* Parses the options into @args. As argp does, ends the process for --help and for wrong
 * options.
 */
void rn_bench_args_parse(int argc, char **argv, struct rn_bench_args *args);

/* ---------------------------------------------------------------- the plan of a run */
/* The plan: the cells that a run measures, and the pairs of cells that are compared.
 *
 * It depends only on the options and on the devices and wires of the machine.
 */

enum {
	RN_BENCH_CELLS_MAX = 512,
	RN_BENCH_RATIOS_MAX = 1536
};

enum {
	/* Number of cache line transfers between processors in a ping-pong through shared
	 * memory: in each direction one line for the packet, and one for the word that
	 * announces it.
	 */
	RN_BENCH_LINES = 4
};

enum rn_bench_measure {
	RN_BENCH_QUOTIENT,   /* value of cell @over divided by that of cell @under */
	RN_BENCH_TAIL_LATER, /* p99.9 of cell @over minus p99.9 of cell @under, in us */
	/* value of cell @over minus RN_BENCH_LINES times that of cell @under, in us */
	RN_BENCH_BEYOND_LINES
};

enum rn_bench_meant {
	RN_BENCH_NOTHING_MEANT,
	RN_BENCH_AT_LEAST,
	RN_BENCH_AT_MOST
};

struct rn_bench_ratio {
	/* description of the work if the ratio has a target; else NULL */
	const char *work;
	unsigned over, under; /* indices of the two cells; valid if why_not is NULL */
	/* The ratio is judged only if cell @only_if is at least as fast as cell @under.
	 * For instance, where raw UDP is slower than TCP, nothing over UDP can be as fast
	 * as TCP.
	 */
	bool has_condition;
	unsigned only_if;
	enum rn_bench_measure measure;
	enum rn_bench_meant meant;
	double bar;
	const char *why_not; /* reason why this row is not measured, or NULL */
};

struct rn_bench_plan {
	struct rn_bench_cell cell[RN_BENCH_CELLS_MAX];
	struct rn_bench_ratio ratio[RN_BENCH_RATIOS_MAX];
	unsigned cells, ratios;
	unsigned rounds, slice_ms;
};

/* What this machine can measure besides Rocin's device over UDP: the local wire (shared
 * memory), and another device.
 */
struct rn_bench_machine {
	bool local_wire;
	bool beside;
};

/**
 * rn_bench_plan_make() - Make the plan for these options
 * @plan:	Out: at least one cell
 * @err:	Out on failure: error text
 *
 * Cells that the machine cannot measure are left out, unless the user has named them.
 *
 * Return: 0; -ENODEV if a named cell cannot be measured; -E2BIG if there are too
 *	many cells.
 */
int rn_bench_plan_make(const struct rn_bench_args *args,
		       const struct rn_bench_machine *machine, struct rn_bench_plan *plan,
		       char *err, size_t err_len);

/* Writes a ratio as the texts of its two cells, such as "write_bw / tcp_bw". */
void rn_bench_ratio_write(const struct rn_bench_plan *plan,
			  const struct rn_bench_ratio *ratio, char *text, size_t len);

#endif /* RN_BENCH_PLAN_H */
