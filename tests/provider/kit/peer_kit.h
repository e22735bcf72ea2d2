/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer_kit.h - an engine here and one in a process of its own, with a real rocind. */
#ifndef RNP_PEER_KIT_H
#define RNP_PEER_KIT_H

#include <sys/types.h>

#include "engine_kit.h"

/* The end of this process, and where the other's buffer is there. */
extern struct kit_end end;
extern uint64_t peer_addr;

/* For each test: a rocind with a runtime directory of its own, and its end. @base: as
 * of kit_environment().
 */
int peer_setup(unsigned base);
int peer_teardown(void **state);
void start_rocind(void);
void stop_rocind(void);

/* A child that runs @body with the other end of *@sock. */
pid_t start(void (*body)(int sock), int *sock);
void await_child(pid_t pid);

/* Open device @n with a queue pair, and connect it to the process at the other end. */
void meet(struct kit_end *k, unsigned n, int sock);
void attach(struct kit_end *k);

/* Both processes have come here. */
void barrier(int sock);

/* Both ends are through: the other's process ends, and this device. */
void finish(pid_t pid, int sock);

/* Local wires of @end. */
unsigned wires(void);

/* The first message has asked for one: until it is there at this end. */
void await_wire(void);

#endif /* RNP_PEER_KIT_H */
