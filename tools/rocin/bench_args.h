/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_args.h - what `rocin bench` can measure, and its options.
 *
 * Two programs share this: `rocin bench`, which judges the options and makes the
 * environment, and rocin-bench, which it becomes and which is linked with libibverbs.
 */
#ifndef RN_BENCH_ARGS_H
#define RN_BENCH_ARGS_H

#include "rocin/types.h"

/* clang-format off */
/*    symbol      name          what                                              unit */
#define RN_BENCH_ITEMS(X) \
	X(WRITE_BW,   "write_bw",   "RDMA WRITE of 1 MiB, one RC QP, 8 outstanding",  "GB/s")  \
	X(READ_BW,    "read_bw",    "RDMA READ of 1 MiB, one RC QP, 8 outstanding",   "GB/s")  \
	X(SEND_BW,    "send_bw",    "SEND of 1 MiB, one RC QP, 8 outstanding",        "GB/s")  \
	X(TCP_BW,     "tcp_bw",     "TCP, blocking writes and reads of 1 MiB",        "GB/s")  \
	X(UDP_BW,     "udp_bw",     "raw UDP with GSO and GRO, packets of that size", "GB/s")  \
	X(MEMCPY_BW,  "memcpy_bw",  "memcpy of 1 MiB",                                "GB/s")  \
	X(SEND_LAT,   "send_lat",   "SEND of 64 B, ping-pong, polling",               "us")    \
	X(WRITE_LAT,  "write_lat",  "RDMA WRITE of 8 B, ping-pong, spin on memory",   "us")    \
	X(UDP_LAT,    "udp_lat",    "raw UDP of 80 B, ping-pong, polling",            "us")    \
	X(TCP_LAT,    "tcp_lat",    "TCP of 64 B, ping-pong, blocking",               "us")    \
	X(SEND_RATE,  "send_rate",  "SEND of 64 B, one RC QP, posted one by one",     "M/s")   \
	X(UDP_RATE,   "udp_rate",   "raw UDP of 80 B, sendmmsg and recvmmsg of 32",   "M/s")

enum rn_bench_item {
#define X(sym, name, what, unit) RN_BENCH_##sym,
	RN_BENCH_ITEMS(X)
#undef X
	RN_BENCH_ITEM_COUNT
};
/* clang-format on */

struct rn_bench_item_info {
	const char *name, *what;
	const char *unit; /* GB/s: 10^9 payload bytes; us: round trip; M/s: messages */
};
extern const struct rn_bench_item_info rn_bench_item_info[RN_BENCH_ITEM_COUNT];

enum {
	RN_BENCH_ROUNDS_MAX = 1000
};

struct rn_bench_args {
	unsigned rounds;   /* 1 .. RN_BENCH_ROUNDS_MAX */
	unsigned slice_ms; /* 1 .. 60000 */
	uint32_t items;	   /* bit i: item i; never 0 */
	bool json;
	bool pin;
	const char *netdevs; /* NULL: $ROCIN_NETDEVS, else the default */
};

/* Read the options; ends the process for --help and for wrong ones, as argp does. */
void rn_bench_args_parse(int argc, char **argv, struct rn_bench_args *args);

#endif /* RN_BENCH_ARGS_H */
