/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_kit.h - a private runtime directory, addresses of one's own, and packets. */
#ifndef ROCIND_KIT_H
#define ROCIND_KIT_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/types.h>

#include "rocin/gid.h"
#include "rocin/netdev.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	KIT_WAIT_MS = 300000 /* longer than anything takes that is waited for */
};

/* For cmocka_unit_test_setup_teardown(): runtime directory made, ROCIN_* set, idle time
 * 60 s; and everything undone, with any daemon that the test left.
 */
int kit_setup(void **state);
/* The same for a rocind without a keeper, which has no successor when it is killed. */
int kit_setup_mortal(void **state);
int kit_teardown(void **state);

const char *kit_runtime_dir(void);

/* From now on use a runtime directory inside that one; undone by the next setup. */
void kit_use_inner_dir(const char *name);

/* 127.x.y.z that no other test uses meanwhile; @n from 0 to 7 gives different ones. */
struct rn_gid kit_gid(unsigned n);

/* Device "rocin0" on lo with the addresses kit_gid(0) .. kit_gid(gid_count - 1). */
struct rn_netdev kit_device(unsigned gid_count);

/* Connect, or fail the test with the sentence. */
struct rn_rocind *kit_connect(void);

/* Connect and attach, or fail the test. */
struct rn_rocind *kit_attach(const struct rn_netdev *dev, struct rn_attach *out);

void kit_close_socks(struct rn_attach *a);

/* Send @len bytes with a BTH that names @qpn (as far as @len reaches) to port 4791. */
void kit_send(const struct rn_gid *to, uint32_t qpn, size_t len);

/* The QPN of the packet that is waiting or arrives soon; fails the test if none does. */
uint32_t kit_receive(int sock);

/* True if no packet is waiting. */
bool kit_is_empty(int sock);

/* Wait for an event other than these; fails the test if none comes. */
struct rn_rocind_event kit_event(struct rn_rocind *r);

/* Wait until a process that is no child has ended; fails the test if it does not. */
void kit_await_end(pid_t pid);

/* Process id of the daemon at the other end. */
pid_t kit_daemon(struct rn_rocind *r);

#endif /* ROCIND_KIT_H */
