/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer_kit.h - an engine in this process and one in another process, with a real rocind.
 */
#ifndef RNP_PEER_KIT_H
#define RNP_PEER_KIT_H

#include <sys/types.h>

#include "engine_kit.h"

/* The end in this process. peer_addr: the address of the other process's buffer. */
extern struct kit_end end;
extern uint64_t peer_addr;

/* Setup and teardown of each test: rocind with a runtime directory of its own, and the
 * end in this process. @base: as for kit_environment().
 */
int peer_setup(unsigned base);
int peer_teardown(void **state);
void start_rocind(void);
void stop_rocind(void);

/* Forks a child process that runs @body. Sets *@sock to a socket to it; the child gets
 * the other end.
 */
pid_t start(void (*body)(int sock), int *sock);
void await_child(pid_t pid);

/* Opens device @n with a queue pair, and connects it to that of the other process. */
void meet(struct kit_end *k, unsigned n, int sock);
void attach(struct kit_end *k);

/* Waits until both processes have called this function. */
void barrier(int sock);

/* Called when both ends have finished: ends the other process, and closes this device. */
void finish(pid_t pid, int sock);

/* Returns the number of local wires of @end. */
unsigned wires(void);

/* Waits until this end has a local wire, which the first message has requested. */
void await_wire(void);

#endif /* RNP_PEER_KIT_H */
