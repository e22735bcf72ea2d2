/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ports.h - socket addresses as rdma_cm programs write them, and who has which port of
 * which port space.
 *
 * Source: drivers/infiniband/core/cma.c (cma_get_port()). The port spaces are the CM's
 * own: TCP ports of sockets are others.
 */
#ifndef RND_PORTS_H
#define RND_PORTS_H

#include "rocin/mad.h"
#include "transport/container/list.h"

/* ---- Addresses ---- */

struct rnd_address {
	uint16_t family;   /* AF_INET, AF_INET6, or 0: none yet */
	uint16_t port;	   /* host order */
	struct rn_gid gid; /* IPv4 mapped; of a wildcard all zero */
	uint32_t scope;	   /* interface of a link-local address */
	uint32_t flowinfo; /* as in the socket address */
};

enum {
	RND_SOCKADDR_MAX = 28 /* bytes of a struct sockaddr_in6 */
};

/* Bytes that a socket address of this family has; 0: the family is none of ours. */
size_t rnd_address_size(uint16_t family);

/**
 * rnd_address_read() - Take in a socket address
 * @sa:		Of @len bytes, any alignment
 *
 * Return: 0, -EAFNOSUPPORT, -EINVAL (too short).
 */
int rnd_address_read(struct rnd_address *a, const void *sa, size_t len);

/* Write it as a socket address; all zero if it has no family.
 * Return: rnd_address_size().
 */
size_t rnd_address_write(const struct rnd_address *a, uint8_t sa[RND_SOCKADDR_MAX]);

bool rnd_address_is_any(const struct rnd_address *a);
/* 127.0.0.1 or ::1 */
bool rnd_address_is_localhost(const struct rnd_address *a);

/* ---- Ports ---- */

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
