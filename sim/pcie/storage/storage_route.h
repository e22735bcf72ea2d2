/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_route.h - chooses the route of a transfer between drive and memory.
 *
 * The functions have no state and need no lock.
 */
#ifndef RN_STORAGE_ROUTE_H
#define RN_STORAGE_ROUTE_H

#include "rocin/pcie.h"
#include "rocin/storage.h"
#include "sim/pcie/model/tlp.h"

#define RN_STORAGE_POLICY_DEFAULT "direct,gpu,host"

struct rn_storage_policy {
	/* Values of enum rn_storage_way, the preferred route first. */
	uint8_t way[RN_STORAGE_WAY_COUNT];
	uint8_t count;
};

/* For each drive, the GPUs below the same switch, as a bit mask of GPU numbers. */
struct rn_storage_near {
	uint8_t gpus[RN_NVME_MAX];
};

/* For each GPU, the GPUs to which it has an NVLink, as a bit mask of GPU numbers. */
struct rn_storage_nvlinks {
	uint8_t gpus[RN_GPU_MAX];
};

/* Parse the texts of the settings ROCIN_STORAGE_POLICY, ROCIN_STORAGE_NEAR and
 * ROCIN_STORAGE_NVLINK. Return 0, or -EINVAL with an error text in @err that quotes the
 * wrong word; the struct is unchanged then.
 */
int rn_storage_policy_parse(struct rn_storage_policy *policy, const char *text, char *err,
			    size_t err_len);
int rn_storage_near_parse(struct rn_storage_near *near, const char *text, char *err,
			  size_t err_len);
int rn_storage_nvlinks_parse(struct rn_storage_nvlinks *links, const char *text,
			     char *err, size_t err_len);

/* Writes the policy in the form that rn_storage_policy_parse() reads. Returns what
 * snprintf() does.
 */
int rn_storage_policy_format(const struct rn_storage_policy *policy, char *buf,
			     size_t len);

/* Returns the drive whose directory in @paths, the text of ROCIN_STORAGE_PATHS, contains
 * the file @path: that of the longest directory. 0 if there is none; entries that are not
 * understood are left out.
 */
unsigned rn_storage_drive_of(const char *paths, const char *path);

/* The facts on which the choice of a route depends. */
struct rn_storage_facts {
	unsigned drive;
	int gpu;	   /* GPU that owns the memory; -1: host memory */
	enum rn_p2p p2p;   /* value of the knob rc.p2p */
	uint8_t near_gpus; /* GPUs below the switch of the drive, as a bit mask */
	/* GPUs that exist, as a bit mask. The bounce buffer could be in the memory of any
	 * of them.
	 */
	uint8_t other_gpus;
	uint8_t nvlinks; /* GPUs with an NVLink to the GPU `gpu', as a bit mask */
	bool is_registered, is_aligned, is_beyond_bar;
};

/**
 * rn_storage_route_choose() - Choose the first possible route of @policy
 *
 * @route->reason says why the route is not the first one of the policy. Memory that a
 * drive cannot access directly (not registered, not aligned) gets the route
 * RN_STORAGE_HOST, whatever the policy says.
 *
 * Return: 0, or -EHOSTUNREACH if no route of the policy is possible.
 */
int rn_storage_route_choose(const struct rn_storage_policy *policy,
			    const struct rn_storage_facts *facts,
			    struct rn_storage_route *route);

#endif /* RN_STORAGE_ROUTE_H */
