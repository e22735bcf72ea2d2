/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* path.h - the ways of a device: what the network carries now, which may be less than
 * when it was asked, and why a peer is silent, if its host says so by ICMP.
 */
#ifndef RNP_PATH_H
#define RNP_PATH_H

#include "rocin/work_request.h"

struct rn_netdev;

/**
 * rnp_port_mtu() - Path MTU that the interface of a device carries now
 *
 * Return: bytes, 256 .. 4096, never more than when the device was opened: its buffers are
 *	   made for that. The same if the interface cannot be asked.
 */
uint32_t rnp_port_mtu(const struct rn_netdev *dev);

/* Sockets that ask for the ways from each address of a device; zeros to begin with. The
 * engine lock guards them: no call waits.
 */
struct rnp_path_mtu {
	struct {
		struct rn_gid src; /* that it is bound to */
		int fd;		   /* 0: none yet */
	} way[RN_GID_MAX];
};

void rnp_path_mtu_close(struct rnp_path_mtu *p);

/**
 * rnp_path_carries() - Does the kernel send packets of a path MTU to an address?
 * @av:		Address vector of @dev
 * @path_mtu:	Bytes of payload
 *
 * The interface may have become narrower, the route may have an MTU of its own, or a
 * router may have said that it carries less. No packet is sent. Thousands of QPs ask by
 * one socket for each address of the device, which looks for the way anew each time.
 *
 * Return: false if it would refuse them; true if not, or if that cannot be found out.
 */
bool rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
		      const struct rn_av *av, uint32_t path_mtu);

struct rnp_engine;

/* The ICMP probe. Nothing of this happens before a queue pair has waited for its peer in
 * vain, twice in a row. Under the engine's lock.
 */
struct rnp_icmp_probe {
	int fd;		    /* of the last probe, while no answer has come; -1 */
	struct rn_gid peer; /* at whose port */
	struct rn_gid said; /* about whom something was logged last */
	rn_ns next;	    /* no other probe before that */
};

void rnp_icmp_probe_init(struct rnp_icmp_probe *k);
void rnp_icmp_probe_end(struct rnp_icmp_probe *k);

/* Timers have run out: is it about a silent peer? The answer to a probe is looked for at
 * once, as on loopback it has come, and when the next timer runs out.
 */
void rnp_icmp_probe_silent(struct rnp_engine *e, rn_ns now);

#endif /* RNP_PATH_H */
