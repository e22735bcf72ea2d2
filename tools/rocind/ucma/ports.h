/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ports.h - socket addresses of rdma_cm programs, and the ports in use in each
 * port space.
 *
 * Source: drivers/infiniband/core/cma.c (cma_get_port()). The port spaces are those of
 * the CM. So the ports of RDMA_PS_TCP are independent of the TCP ports of sockets.
 */
#ifndef RND_PORTS_H
#define RND_PORTS_H

#include "rocin/mad.h"
#include "transport/container/list.h"

/* ---- Socket addresses ---- */

struct rnd_address {
	uint16_t family;   /* AF_INET, AF_INET6, or 0: no address yet */
	uint16_t port;	   /* port number in host byte order */
	struct rn_gid gid; /* IPv4 addresses are mapped; a wildcard is all zero */
	uint32_t scope;	   /* interface index of a link-local address, else 0 */
	uint32_t flowinfo; /* flow label, as in the socket address */
};

enum {
	/* bytes of a struct sockaddr_in6, the largest supported socket address */
	RND_SOCKADDR_MAX = 28
};

/* Returns the size in bytes of a socket address of this family; 0 if the family is not
 * supported.
 */
size_t rnd_address_size(uint16_t family);

/**
 * rnd_address_read() - Parse a socket address
 * @sa:	Socket address of @len bytes; need not be aligned
 *
 * Return: 0, -EAFNOSUPPORT, -EINVAL (too short).
 */
int rnd_address_read(struct rnd_address *a, const void *sa, size_t len);

/* Writes @a as a socket address to @sa. If @a has no family, writes zeros. Returns
 * rnd_address_size() of the family.
 */
size_t rnd_address_write(const struct rnd_address *a, uint8_t sa[RND_SOCKADDR_MAX]);

bool rnd_address_is_any(const struct rnd_address *a);
/* Returns true if the address is 127.0.0.1 or ::1. */
bool rnd_address_is_localhost(const struct rnd_address *a);

/* ---- Ports in use ---- */

/* The addresses of one rdma_cm id with their ports, and the id's entry in the table of
 * ports. The caller must fill in the address before it calls rnd_port_take().
 */
struct rnd_port_user {
	enum rn_cm_port_space ps;
	/* address that the rdma_cm id is bound to; port 0: any free port */
	struct rnd_address src;
	struct rnd_address dst; /* address of the peer; family 0: none */
	bool reuse;		/* value of the option RDMA_OPTION_ID_REUSEADDR */
	bool v6only;		/* value of the option RDMA_OPTION_ID_AFONLY */
	/* link in the table of ports; linked while the rdma_cm id holds the port src.port
	 */
	struct rn_list link;
};

enum {
	RND_PORT_BUCKETS = 256,
};

struct rnd_ports {
	uint16_t first, last; /* range of ephemeral ports */
	uint16_t free;	      /* lowest port that unprivileged users may bind */
	uint32_t count;
	struct rn_list bucket[RND_PORT_BUCKETS];
};

void rnd_ports_init(struct rnd_ports *p, uint16_t first, uint16_t last, uint16_t free);

/**
 * rnd_port_take() - Allocate a port
 * @u:	User of the port, whose @link is initialised
 * @random:	Determines the port at which the search for a free one begins
 *
 * Return: 0 with @u->src.port set, -EACCES (privileged port), -EADDRNOTAVAIL (it
 *	conflicts with a wildcard address, or no port is free), or -EADDRINUSE.
 */
int rnd_port_take(struct rnd_ports *p, struct rnd_port_user *u, uint32_t random);

/* Called before @u listens. Makes its port exclusive: no other rdma_cm id may have the
 * same address and port, even with REUSEADDR. Returns 0, or an error of rnd_port_take().
 */
int rnd_port_listen(struct rnd_ports *p, struct rnd_port_user *u);

/* Puts @u into the table with the port src.port, which an earlier rocind has given it. */
void rnd_port_restore(struct rnd_ports *p, struct rnd_port_user *u);

/* Frees the port of @u; does nothing if it has none. */
void rnd_port_release(struct rnd_ports *p, struct rnd_port_user *u);

#endif /* RND_PORTS_H */
