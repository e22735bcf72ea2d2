/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ports.h - who has which port of which port space.
 *
 * Source: drivers/infiniband/core/cma.c (cma_get_port()). The port spaces are the CM's
 * own: TCP ports of sockets are others.
 */
#ifndef RND_PORTS_H
#define RND_PORTS_H

#include "address.h"
#include "rocin/mad.h"
#include "transport/container/list.h"

/* The ends of one id, and its entry in the table; its owner fills in the first part
 * before rnd_port_take().
 */
struct rnd_port_user {
	enum rn_cm_port_space ps;
	struct rnd_address src; /* port 0: any that is free */
	struct rnd_address dst; /* family 0: none */
	bool reuse;		/* REUSEADDR */
	bool v6only;		/* AFONLY */
	struct rn_list link;	/* linked: it has the port src.port */
};

enum {
	RND_PORT_BUCKETS = 256,
};

struct rnd_ports {
	uint16_t first, last; /* ephemeral */
	uint16_t free;	      /* lowest that anyone may have */
	uint32_t count;
	struct rn_list bucket[RND_PORT_BUCKETS];
};

void rnd_ports_init(struct rnd_ports *p, uint16_t first, uint16_t last, uint16_t free);

/**
 * rnd_port_take() - Give a port
 * @u:		Initialised link
 * @random:	Where to begin to look for a free one
 *
 * Return: 0 with @u->src.port set, -EACCES (privileged), -EADDRNOTAVAIL (a wildcard
 *	   stands against it, or none is free), -EADDRINUSE.
 */
int rnd_port_take(struct rnd_ports *p, struct rnd_port_user *u, uint32_t random);

/* It is going to listen: nobody else may have the address any more, reuse or not.
 * Return: 0, or as rnd_port_take().
 */
int rnd_port_listen(struct rnd_ports *p, struct rnd_port_user *u);

/* Give it back; nothing if there is none. */
void rnd_port_release(struct rnd_ports *p, struct rnd_port_user *u);

#endif /* RND_PORTS_H */
