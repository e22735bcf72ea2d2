/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_route.c - chooses the route of a transfer between a drive and memory, by the
 * topology and the knobs.
 */
#include "storage_route.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const way_names[] = {
	[RN_STORAGE_DIRECT] = "direct", [RN_STORAGE_GPU] = "gpu",
	[RN_STORAGE_HOST] = "host",	[RN_STORAGE_P2P] = "p2p",
	[RN_STORAGE_NVLINK] = "nvlink",
};
static_assert(RN_ARRAY_SIZE(way_names) == RN_STORAGE_WAY_COUNT, "a name for each way");

static const char *const reasons[] = {
	[RN_STORAGE_PREFERRED] = "the policy prefers it",
	[RN_STORAGE_UNREGISTERED] = "the buffer is not registered",
	[RN_STORAGE_UNALIGNED] = "address, offset or length is not a multiple of 4096",
	[RN_STORAGE_BEYOND_BAR] = "device memory that peers cannot reach",
	[RN_STORAGE_ROOT_PORTS] = "drive and GPU are below different root ports",
	[RN_STORAGE_NOT_ROUTED] = "nothing is routed between drive and GPU",
	[RN_STORAGE_NO_OTHER_GPU] = "no other GPU below the drive's switch",
	[RN_STORAGE_NO_NVLINK] = "no GPU near the drive has an NVLink to the GPU",
};
static_assert(RN_ARRAY_SIZE(reasons) == RN_STORAGE_REASON_COUNT, "a text for each");

const char *rn_storage_way_name(enum rn_storage_way way)
{
	return (unsigned)way < RN_STORAGE_WAY_COUNT ? way_names[way] : "?";
}

const char *rn_storage_reason_text(enum rn_storage_reason reason)
{
	return (unsigned)reason < RN_STORAGE_REASON_COUNT ? reasons[reason] : "?";
}

/* ------------------------------------------------------ parsers of the settings */
static int find_way(const char *word, size_t len)
{
	for (int w = 0; w < RN_STORAGE_WAY_COUNT; w++)
		if (strlen(way_names[w]) == len && !memcmp(word, way_names[w], len))
			return w;
	return -1;
}

static bool has_way(const struct rn_storage_policy *p, int way)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->way[i] == way)
			return true;
	return false;
}

int rn_storage_policy_parse(struct rn_storage_policy *policy, const char *text, char *err,
			    size_t err_len)
{
	struct rn_storage_policy p = { .count = 0 };
	const char *word = text;

	for (;;) {
		size_t len = strcspn(word, ",");
		int way = find_way(word, len);

		if (way < 0) {
			snprintf(err, err_len,
				 "storage policy: \"%.*s\" is none of direct, gpu, host, "
				 "p2p, nvlink",
				 (int)len, word);
			return -EINVAL;
		}
		if (has_way(&p, way)) {
			snprintf(err, err_len, "storage policy: \"%s\" stands twice",
				 way_names[way]);
			return -EINVAL;
		}
		p.way[p.count++] = (uint8_t)way;
		if (word[len] == '\0')
			break;
		word += len + 1;
	}
	*policy = p;
	return 0;
}

int rn_storage_policy_format(const struct rn_storage_policy *policy, char *buf,
			     size_t len)
{
	size_t at = 0;

	if (len > 0)
		buf[0] = '\0';
	for (unsigned i = 0; i < policy->count; i++)
		at += (size_t)snprintf(at < len ? buf + at : NULL,
				       at < len ? len - at : 0, "%s%s", i > 0 ? "," : "",
				       way_names[policy->way[i]]);
	return (int)at;
}

/* Parses @name followed by one digit, and sets *@number to the digit, which must be less
 * than @limit. Returns the end of the text that was read, or NULL if @text is something
 * else.
 */
static const char *parse_unit(const char *text, const char *name, unsigned limit,
			      unsigned *number)
{
	size_t len = strlen(name);

	if (strncmp(text, name, len) != 0)
		return NULL;
	if (text[len] < '0' || text[len] > '9')
		return NULL;
	*number = (unsigned)(text[len] - '0');
	return *number < limit ? text + len + 1 : NULL;
}

/* Parses nvmeN=gpuN[+gpuN]... Returns the end of the text read, or NULL. */
static const char *parse_drive(const char *text, struct rn_storage_near *near)
{
	unsigned drive, gpu;
	const char *at = parse_unit(text, "nvme", RN_NVME_MAX, &drive);

	if (!at || *at != '=')
		return NULL;
	do {
		at = parse_unit(at + 1, "gpu", RN_GPU_MAX, &gpu);
		if (!at)
			return NULL;
		near->gpus[drive] |= (uint8_t)(1u << gpu);
	} while (*at == '+');
	return at;
}

int rn_storage_near_parse(struct rn_storage_near *near, const char *text, char *err,
			  size_t err_len)
{
	struct rn_storage_near n = { 0 };
	const char *at = text;

	while (*at != '\0') {
		const char *end = parse_drive(at, &n);

		if (!end || (*end != ',' && *end != '\0')) {
			snprintf(err, err_len,
				 "storage topology: \"%.*s\" is not like "
				 "nvme0=gpu1+gpu2 (drives 0 to %d, GPUs 0 to %d)",
				 (int)strcspn(at, ","), at, RN_NVME_MAX - 1,
				 RN_GPU_MAX - 1);
			return -EINVAL;
		}
		at = *end == ',' ? end + 1 : end;
	}
	*near = n;
	return 0;
}

int rn_storage_nvlinks_parse(struct rn_storage_nvlinks *links, const char *text,
			     char *err, size_t err_len)
{
	struct rn_storage_nvlinks l = { 0 };

	for (const char *at = text; *at != '\0';) {
		unsigned a, b;
		const char *end = parse_unit(at, "gpu", RN_GPU_MAX, &a);

		if (end)
			end = *end == '-' ? parse_unit(end + 1, "gpu", RN_GPU_MAX, &b)
					  : NULL;
		if (!end || a == b || (*end != ',' && *end != '\0')) {
			snprintf(err, err_len,
				 "NVLinks: \"%.*s\" is not like gpu0-gpu1 (two GPUs of 0 "
				 "to %d)",
				 (int)strcspn(at, ","), at, RN_GPU_MAX - 1);
			return -EINVAL;
		}
		l.gpus[a] |= (uint8_t)(1u << b);
		l.gpus[b] |= (uint8_t)(1u << a);
		at = *end == ',' ? end + 1 : end;
	}
	*links = l;
	return 0;
}

unsigned rn_storage_drive_of(const char *paths, const char *path)
{
	unsigned best = 0;
	size_t best_len = 0;

	while (*paths != '\0') {
		size_t entry = strcspn(paths, ","), len;
		unsigned drive;
		const char *dir = parse_unit(paths, "nvme", RN_NVME_MAX, &drive);

		if (dir && *dir == '=' && dir[1] == '/') {
			dir++;
			len = entry - (size_t)(dir - paths);
			while (len > 1 && dir[len - 1] == '/')
				len--;
			if (len > best_len && !strncmp(path, dir, len) &&
			    (len == 1 || path[len] == '/' || path[len] == '\0')) {
				best = drive;
				best_len = len;
			}
		}
		paths += entry + (paths[entry] == ',');
	}
	return best;
}

/* ------------------------------------------------------------ choice of a route */
/* Returns true if the memory is host memory, or GPU memory that the drive reaches as if
 * both were below one PCIe switch: the GPU is below the same switch as the drive
 * (near_gpus), or the knob rc.p2p is `shared'.
 */
static bool is_below_switch(const struct rn_storage_facts *f)
{
	return f->gpu < 0 || f->p2p == RN_P2P_SHARED || (f->near_gpus >> f->gpu & 1) != 0;
}

/* Returns the number of a GPU in whose memory a bounce buffer can lie: a GPU of @among
 * below the drive's switch that is not the GPU of the transfer itself. Returns -1 if
 * there is none.
 */
static int via_gpu(const struct rn_storage_facts *f, unsigned among)
{
	unsigned gpus = f->p2p == RN_P2P_SHARED ? among : among & f->near_gpus;

	for (int g = 0; g < RN_GPU_MAX; g++)
		if (g != f->gpu && (gpus >> g & 1) != 0)
			return g;
	return -1;
}

/* Examines whether the transfer can take the route @way. If so, fills in @route and
 * returns true. Otherwise sets *@why to the reason and returns false.
 */
static bool try_way(enum rn_storage_way way, const struct rn_storage_facts *f,
		    struct rn_storage_route *route, enum rn_storage_reason *why)
{
	route->way = way;
	switch (way) {
	case RN_STORAGE_P2P:
		if (is_below_switch(f))
			route->way = RN_STORAGE_DIRECT;
		*why = RN_STORAGE_NOT_ROUTED;
		return route->way == RN_STORAGE_DIRECT || f->p2p != RN_P2P_DENY;
	case RN_STORAGE_DIRECT:
		*why = f->p2p == RN_P2P_DENY ? RN_STORAGE_NOT_ROUTED
					     : RN_STORAGE_ROOT_PORTS;
		return is_below_switch(f);
	case RN_STORAGE_GPU:
		*why = RN_STORAGE_NO_OTHER_GPU;
		route->via_gpu = f->gpu < 0 ? -1 : via_gpu(f, f->other_gpus);
		return route->via_gpu >= 0;
	case RN_STORAGE_NVLINK:
		*why = RN_STORAGE_NO_NVLINK;
		route->via_gpu = f->gpu < 0 ? -1 : via_gpu(f, f->other_gpus & f->nvlinks);
		return route->via_gpu >= 0;
	case RN_STORAGE_HOST:
		return true;
	case RN_STORAGE_WAY_COUNT:
		break;
	}
	assert(!"a way of storage");
	return false;
}

int rn_storage_route_choose(const struct rn_storage_policy *policy,
			    const struct rn_storage_facts *f,
			    struct rn_storage_route *route)
{
	enum rn_storage_reason why = RN_STORAGE_PREFERRED;

	*route = (struct rn_storage_route){ .way = RN_STORAGE_HOST,
					    .reason = RN_STORAGE_PREFERRED,
					    .drive = f->drive,
					    .gpu = f->gpu,
					    .via_gpu = -1 };
	if (!f->is_registered)
		route->reason = RN_STORAGE_UNREGISTERED;
	else if (f->gpu >= 0 && f->is_beyond_bar)
		route->reason = RN_STORAGE_BEYOND_BAR;
	else if (!f->is_aligned)
		route->reason = RN_STORAGE_UNALIGNED;
	if (route->reason != RN_STORAGE_PREFERRED)
		return 0;

	for (unsigned i = 0; i < policy->count; i++) {
		if (try_way((enum rn_storage_way)policy->way[i], f, route, &why))
			return 0;
		if (i == 0)
			route->reason = why;
	}
	return -EHOSTUNREACH;
}

/* ---------------------------------------------------------------- route as text */
static const char *memory_name(int gpu, char *buf, size_t len)
{
	if (gpu < 0)
		return "host memory";
	snprintf(buf, len, "gpu%d", gpu);
	return buf;
}

int rn_storage_route_text(const struct rn_storage_route *route, char *buf, size_t len)
{
	char target[16], via[16];
	const char *stop = NULL;

	if (route->way == RN_STORAGE_HOST)
		stop = "host memory";
	else if (route->way == RN_STORAGE_GPU || route->way == RN_STORAGE_NVLINK)
		stop = memory_name(route->via_gpu, via, sizeof(via));
	return snprintf(
		buf, len, "nvme%u -> %s%s%s (%s): %s", route->drive, stop ? stop : "",
		stop ? " -> " : "", memory_name(route->gpu, target, sizeof(target)),
		rn_storage_way_name(route->way), rn_storage_reason_text(route->reason));
}
