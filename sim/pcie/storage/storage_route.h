/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_route.h - which way a transfer takes between drive and memory, and why.
 *
 * Pure functions: no state, no locks.
 */
#ifndef RN_STORAGE_ROUTE_H
#define RN_STORAGE_ROUTE_H

#include "rocin/pcie.h"
#include "rocin/storage.h"
#include "sim/pcie/model/tlp.h"

#define RN_STORAGE_POLICY_DEFAULT "direct,gpu,host"

struct rn_storage_policy {
	uint8_t way[RN_STORAGE_WAY_COUNT]; /* enum rn_storage_way, the best first */
	uint8_t count;
};

/* GPUs below the switch of each drive, one bit each. */
struct rn_storage_near {
	uint8_t gpus[RN_NVME_MAX];
};

/* 0, or -EINVAL with a sentence that names the word; the struct is unchanged then. */
int rn_storage_policy_parse(struct rn_storage_policy *policy, const char *text, char *err,
			    size_t err_len);
int rn_storage_near_parse(struct rn_storage_near *near, const char *text, char *err,
			  size_t err_len);

/* As rn_storage_policy_parse() reads it. Return: as snprintf(). */
int rn_storage_policy_format(const struct rn_storage_policy *policy, char *buf,
			     size_t len);

/* What is known of a transfer. */
struct rn_storage_facts {
	unsigned drive;
	int gpu;	    /* that the memory belongs to; -1: host memory */
	enum rn_p2p p2p;    /* knob */
	uint8_t near_gpus;  /* of the drive */
	uint8_t other_gpus; /* that could take a bounce */
	bool is_registered, is_aligned, is_beyond_bar;
};

/**
 * rn_storage_route_choose() - First way of @policy that is open
 *
 * @route->reason says why the first word of the policy was not taken. A transfer that no
 * drive can do by itself takes RN_STORAGE_HOST whatever the policy says.
 *
 * Return: 0, -EHOSTUNREACH: no way is left (route->reason says why not the first).
 */
int rn_storage_route_choose(const struct rn_storage_policy *policy,
			    const struct rn_storage_facts *facts,
			    struct rn_storage_route *route);

#endif /* RN_STORAGE_ROUTE_H */
