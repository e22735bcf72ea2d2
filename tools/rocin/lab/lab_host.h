/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_host.h - the hosts of a lab, each held by a process that sleeps: its keeper. */
#ifndef RN_LAB_HOST_H
#define RN_LAB_HOST_H

#include "lab.h"

/**
 * rn_lab_hosts_make() - Make all hosts and the network between them
 * @by:		Out: what does to packets what the link is to do; RN_LAB_BY_...
 *
 * In the lab's own process, which must have had no child before. Return: 0 or -errno with
 * a sentence.
 */
int rn_lab_hosts_make(const struct rn_lab_args *args, unsigned *by, char *err,
		      size_t err_len);

/* Let rocind of each host do by rules what no kernel does. Return: as above. */
int rn_lab_hosts_rules(const struct rn_lab_args *args, char *err, size_t err_len);

/* In a child: become a process of @host. Return: 0 or -errno with a sentence. */
int rn_lab_host_become(const struct rn_lab_args *args, unsigned host, char *err,
		       size_t err_len);

/* The variables of the programs on a host, from those that this process has. */
int rn_lab_host_setenv(unsigned host, unsigned hosts);

#endif /* RN_LAB_HOST_H */
