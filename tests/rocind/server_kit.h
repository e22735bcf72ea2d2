/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server_kit.h - rocind's parts in the process of the test, which says when they are
 * served.
 */
#ifndef SERVER_KIT_H
#define SERVER_KIT_H

#include "server.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern struct rnd_server server;

/* For cmocka_unit_test_setup_teardown(): a server that listens to nobody yet, and its
 * end.
 */
int server_setup(void **state);
int server_teardown(void **state);

/* As rnd_server_run(), until nothing is left to do. Return: events that there were. */
unsigned serve(void);

/* Descriptors of this process, those of the server among them. */
unsigned open_descriptors(void);

#endif /* SERVER_KIT_H */
