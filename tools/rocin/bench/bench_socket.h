/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_socket.h - sockets on 127.0.0.1 at ports that the kernel chooses. */
#ifndef RN_BENCH_SOCKET_H
#define RN_BENCH_SOCKET_H

#include <netinet/in.h>

#include "bench.h"

/* A socket of @type bound to 127.0.0.1. Return: descriptor, or -1 after rn_bench_fail().
 */
int rn_bench_socket(struct rn_bench_end *end, int type, struct sockaddr_in *addr);

#endif /* RN_BENCH_SOCKET_H */
