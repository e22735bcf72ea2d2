/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server_kit.h - rocind's parts in the process of the test, which says when they
 * are served.
 */
#ifndef SERVER_KIT_H
#define SERVER_KIT_H

#include "tools/rocind/server/server.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "transport/io/rocind/ctl_socket.h"

extern struct rnd_server server;

/* For cmocka_unit_test_setup_teardown(): a server that listens to nobody yet, and
 * its end.
 */
int server_setup(void **state);
int server_teardown(void **state);

/* Gives the server a lock, and a listening socket to which nobody connects. */
void server_listens(void);

/* As rnd_server_run(), until nothing is left to do. Return: events that there were. */
unsigned serve(void);

/* Descriptors of this process, those of the server among them. */
unsigned open_descriptors(void);

/* 127.128.0.0/10, where no other test is: 14 bits of the process id, 8 for the test. */
struct rn_gid server_gid(unsigned n);

/* ---- Clients, by pairs of sockets ---- */

struct guest {
	struct rnd_client *client;
	int sock; /* its end */
};

/* One that has connected, and one that has been greeted. */
struct guest come_in(void);
struct guest come_and_greet(void);

/* Close its end and have that seen. */
void go(struct guest *guest);

/* Send a request, with @fd if that is not -1, and have it served. */
void request(const struct guest *guest, const void *msg, int fd);

/* The next message to it, which is of this type; the test fails if there is none. */
union rn_ctl_msg hear(const struct guest *guest, enum rn_ctl_type type);

/* The same, with the descriptors that came with it. */
struct rn_ctl_packet hear_all(const struct guest *guest, enum rn_ctl_type type);

bool hears_nothing(const struct guest *guest);

/* So that nothing more can be said to it. */
void stop_listening(const struct guest *guest);

/* ATTACH on lo with @count addresses, server_gid(@first) and those behind. */
struct rn_ctl_attach attach_request(unsigned first, unsigned count);

/* Have a device with those, and @stats as its statistics page or -1. */
void attach(const struct guest *guest, const struct rn_ctl_attach *rq, int stats);

#endif /* SERVER_KIT_H */
