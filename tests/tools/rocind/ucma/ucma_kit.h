/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ucma_kit.h - two hosts with programs that write rdma_cm commands; the packets between
 * them are delivered at once.
 */
#ifndef UCMA_KIT_H
#define UCMA_KIT_H

#include "rocin/netdev.h"
#include "tools/rocind/ucma/ucma.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "tools/rocind/ucma/id.h"

enum {
	SHOWN_MAX = 64,
};

struct kept; /* a copy that a successor would have */

struct host {
	struct rnd_ucma *ucma;
	struct rn_cm *cm;
	struct kept *kept;
	bool is_dying;		 /* what it does has no effect on copies and board */
	uint64_t seed, channels; /* number of channels opened so far */
	struct rn_netdev nd;
	const struct rn_gid *route_src; /* where all routes lead from; NULL: gid[0] */
	const struct rn_gid
		*elsewhere; /* an address that something else holds, or NULL */
	unsigned held, ready;
	struct {
		bool is_there;
		void *user; /* of its channel */
		struct rn_cm_answers answers;
	} shown[SHOWN_MAX]; /* by number of the id */
	struct {
		bool is_there;
		void *user;
		struct rn_cm_life life;
	} lives[RN_CM_KINDS][SHOWN_MAX];
};

struct net {
	struct host host[2];
	rn_ns now;
};

/* With ROCIN_TEST_SUCCESSION in the environment, each host has a successor after each
 * command: everything is restored from the copies of what has changed.
 */

/* Set up and tear down a struct net; in the end nothing may be left. */
int ucma_kit_setup(void **state);
int ucma_kit_teardown(void **state);

struct rnd_ucma_channel *open_channel(struct net *net, unsigned i);
void deliver(struct net *net);

/* ---- A program ---- */

/* A command whose answer the program has got. */
int command(struct net *net, struct rnd_ucma_channel *ch, uint32_t cmd, const void *in,
	    size_t in_len, void *out, size_t out_len);

#define COMMAND(net, ch, cmd, in, out) \
	command(net, ch, RDMA_USER_CM_CMD_##cmd, &(in), sizeof(in), &(out), sizeof(out))
#define ORDER(net, ch, cmd, in) \
	command(net, ch, RDMA_USER_CM_CMD_##cmd, &(in), sizeof(in), NULL, 0)

uint32_t create_id(struct net *net, struct rnd_ucma_channel *ch, uint64_t uid,
		   uint16_t ps);
uint32_t destroy_id(struct net *net, struct rnd_ucma_channel *ch, uint32_t id);
struct sockaddr_in6 ip(uint8_t a, uint8_t d, uint16_t port);
int bind_ip(struct net *net, struct rnd_ucma_channel *ch, uint32_t id,
	    struct sockaddr_in6 addr);
int resolve_ip(struct net *net, struct rnd_ucma_channel *ch, uint32_t id,
	       struct sockaddr_in6 dst);
int resolve_route(struct net *net, struct rnd_ucma_channel *ch, uint32_t id);
int listen_on(struct net *net, struct rnd_ucma_channel *ch, uint32_t id,
	      uint32_t backlog);
int set_option(struct net *net, struct rnd_ucma_channel *ch, uint32_t id, uint32_t level,
	       uint32_t name, const void *value, size_t len);
struct rdma_ucm_event_resp event(struct net *net, struct rnd_ucma_channel *ch,
				 uint32_t type);
void no_event(struct net *net, struct rnd_ucma_channel *ch);
struct ib_uverbs_qp_attr qp_attr(struct net *net, struct rnd_ucma_channel *ch,
				 uint32_t id, uint32_t state);

/* ---- A server on host 1 and a client on host 0 ---- */

enum {
	SERVER_UID = 0x51,
	CHILD_UID = 0x52,
	CLIENT_UID = 0xc1,
	TCP_PORT = 7471,
};

struct pair {
	struct rnd_ucma_channel *client, *server;
	uint32_t client_id, server_id, child_id;
	uint32_t qpn; /* the client's; 0: 0x1234 */
};

void start_server(struct net *net, struct pair *p, uint16_t ps);
void start_client(struct net *net, struct pair *p, uint16_t ps);
int connect_to(struct net *net, const struct pair *p, const char *text);
int accept_it(struct net *net, const struct pair *p);
void establish(struct net *net, struct pair *p);
void end(struct net *net, struct pair *p);

#endif /* UCMA_KIT_H */
