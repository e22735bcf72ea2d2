/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* machine.h - which devices are below which switches and root ports of a machine.
 *
 * A topology file (rocin-topology(5)) describes it, one part in each line. The functions
 * are pure but for rn_machine_read(), and need no lock.
 */
#ifndef RN_MACHINE_H
#define RN_MACHINE_H

#include <stdio.h>

#include "rocin/types.h"

enum {
	RN_MACHINE_PARTS = 64,
	RN_MACHINE_LINKS = 16,
	RN_MACHINE_NAME = 32,
	RN_MACHINE_PATH = 256,
	RN_MACHINE_GPUS = 4,   /* GPUs of the simulated PCIe hierarchy */
	RN_MACHINE_DRIVES = 3, /* and its drives */
};

enum rn_machine_kind {
	RN_MACHINE_ROOT,   /* a root port */
	RN_MACHINE_SWITCH, /* a PCIe switch */
	RN_MACHINE_GPU,
	RN_MACHINE_NVME,
	RN_MACHINE_NIC,
};

struct rn_machine_part {
	enum rn_machine_kind kind;
	char name[RN_MACHINE_NAME]; /* "root0", "switch1", "gpu0", "nvme0", "rocin0" */
	int parent;		    /* index of the part above; -1 of a root port */
	unsigned number;	    /* of a GPU or a drive; NUMA node of a root port */
	char path[RN_MACHINE_PATH]; /* of a drive: directory of its files; "": none */
};

/* An NVLink between two GPUs. */
struct rn_machine_link {
	unsigned a, b, lanes;
};

struct rn_machine {
	unsigned parts, links;
	struct rn_machine_part part[RN_MACHINE_PARTS];
	struct rn_machine_link link[RN_MACHINE_LINKS];
};

/* Read a topology from a text or a file. Return: 0; -EINVAL or an error of the file, with
 * one sentence in @err that names the line.
 */
int rn_machine_parse(struct rn_machine *m, const char *text, char *err, size_t err_len);
int rn_machine_read(struct rn_machine *m, const char *path, char *err, size_t err_len);

/* How far two parts are from each other. */
enum rn_machine_distance {
	RN_MACHINE_SWITCHED, /* below one switch */
	RN_MACHINE_ROOTED,   /* below one root port, and no switch of it */
	RN_MACHINE_CROSSED,  /* below different root ports of one NUMA node */
	RN_MACHINE_FAR,	     /* below root ports of different NUMA nodes */
};
enum rn_machine_distance rn_machine_distance(const struct rn_machine *m, unsigned a,
					     unsigned b);
const char *rn_machine_distance_text(enum rn_machine_distance distance);

/* Returns the part of this kind and number, or -1. */
int rn_machine_find(const struct rn_machine *m, enum rn_machine_kind kind,
		    unsigned number);

/* Write a setting of storage (rocin/storage.h) that follows from the topology:
 * ROCIN_STORAGE_NEAR, ROCIN_STORAGE_NVLINK, ROCIN_STORAGE_PATHS.
 */
void rn_machine_near(const struct rn_machine *m, char *buf, size_t len);
void rn_machine_nvlinks(const struct rn_machine *m, char *buf, size_t len);
void rn_machine_paths(const struct rn_machine *m, char *buf, size_t len);

/* Returns the number of GPUs: the highest number of one, plus 1. */
unsigned rn_machine_gpus(const struct rn_machine *m);

/* Returns true if drives, NICs or GPUs are below more than one root port. */
bool rn_machine_has_roots(const struct rn_machine *m);

/* Prints the topology as a tree, and NVLinks below it. */
void rn_machine_print(const struct rn_machine *m, FILE *to);

#endif /* RN_MACHINE_H */
