/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.c - implements the functions of rocin/device.h about the device itself, its
 * packets and its memory regions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device_internal.h"
#include "rocin/icrc.h"
#include "rocin/mem.h"

enum {
	FIRST_QPN = 17,
	COMPLETIONS = 4096,
	/* Defaults in bytes of the window of unacknowledged data (rn_dev_cfg), the same
	 * as in simulated worlds (sim/world).
	 */
	WINDOW_MIN = 8 << 10,
	WINDOW_START = 128 << 10,
	WINDOW_MAX = 1 << 20,
	READ_CHUNK = 64 << 10,
	READ_WINDOW = 1 << 20,
	/* interface index, needed for link-local addresses: there is one network */
	IFINDEX = 1,
	/* Low byte of the key of each region. The other bytes are the index of the
	 * region.
	 */
	KEY_BYTE = 0x5a,
};

static_assert((int)RN_DEVICE_PACKET_MAX >= RN_PACKET_MAX + RN_ICRC_LEN, "any packet");

/* ------------------------------------------------------------- access to memory */
static void *pointer(rn_iova addr)
{
	return (void *)(uintptr_t)addr; /* NOLINT(performance-no-int-to-ptr) */
}

static enum rn_mem_result write_memory(void *ctx, rn_iova dst, const void *src,
				       uint32_t len, struct rn_mem_attr attr)
{
	(void)ctx, (void)attr;
	memcpy(pointer(dst), src, len);
	return RN_MEM_DONE;
}

static enum rn_mem_result read_memory(void *ctx, void *dst, rn_iova src, uint32_t len,
				      struct rn_mem_attr attr, uint64_t tag)
{
	(void)ctx, (void)attr, (void)tag;
	memcpy(dst, pointer(src), len);
	return RN_MEM_DONE;
}

static enum rn_mem_result do_atomic(void *ctx, const struct rn_mem_atomic_req *req,
				    uint64_t *orig, struct rn_mem_attr attr, uint64_t tag)
{
	uint64_t value;

	(void)ctx, (void)attr, (void)tag;
	memcpy(orig, pointer(req->dst), sizeof(*orig));
	if (rn_mem_atomic_result(req, *orig, &value))
		memcpy(pointer(req->dst), &value, sizeof(value));
	return RN_MEM_DONE;
}

static const struct rn_mem_ops plain_memory = {
	.always_done = true,
	.write = write_memory,
	.read = read_memory,
	.atomic = do_atomic,
};

/* ------------------------------------------------------------------ the device */
static uint32_t power_of_two(uint32_t at_least)
{
	uint32_t n = 1;

	while (n < at_least)
		n *= 2;
	return n;
}

static bool is_address(const uint8_t address[16])
{
	static const struct rn_gid nobody;
	static const struct rn_gid any_ipv4 = { { [10] = 0xff, [11] = 0xff } };
	struct rn_gid gid;

	memcpy(gid.raw, address, sizeof(gid.raw));
	return memcmp(&gid, &nobody, sizeof(gid)) != 0 &&
	       memcmp(&gid, &any_ipv4, sizeof(gid)) != 0 && !rn_gid_is_multicast(&gid);
}

static bool are_sane(const struct rn_device_options *o)
{
	return rn_device_is_unused(o->reserved) && is_address(o->address) &&
	       o->completions <= RN_CQE_MAX && o->first_qpn != 1 &&
	       o->first_qpn <= 0xffffff && (unsigned)o->congestion <= RN_DEVICE_CC_ON;
}

static int init_device(struct rn_device *d, const struct rn_device_options *o)
{
	static const enum rn_cc_mode modes[] = {
		[RN_DEVICE_CC_OFF] = RN_CC_OFF,
		[RN_DEVICE_CC_OBSERVE] = RN_CC_OBSERVE,
		[RN_DEVICE_CC_ON] = RN_CC_ON,
	};
	struct rn_dev_cfg cfg = {
		.gid = { d->gid },
		.gid_count = 1,
		.ifindex = IFINDEX,
		.mtu_max = d->mtu,
		.credits = o->credits,
		.window_start = WINDOW_START,
		.window_min = WINDOW_MIN,
		.window_max = WINDOW_MAX,
		.read_window = READ_WINDOW,
		.read_chunk = READ_CHUNK,
		.cc = modes[o->congestion],
		.cc_line = o->line_kbps,
		.mem = &plain_memory,
		.stats = d->stats,
	};

	return rn_dev_init(d->dev, &cfg);
}

struct rn_device *rn_device_new(const struct rn_device_options *options)
{
	size_t size = (rn_dev_size() + 63) & ~(size_t)63;
	struct rn_device *d;
	uint32_t entries;

	if (!are_sane(options)) {
		errno = EINVAL;
		return NULL;
	}
	entries = power_of_two(rn_device_default(options->completions, COMPLETIONS));
	d = calloc(1, sizeof(*d));
	if (d) {
		d->dev = aligned_alloc(64, size);
		d->ring = calloc(entries, sizeof(*d->ring));
	}
	if (!d || !d->dev || !d->ring) {
		if (d) {
			free(d->dev);
			free(d->ring);
		}
		free(d);
		errno = ENOMEM;
		return NULL;
	}
	memcpy(d->gid.raw, options->address, sizeof(d->gid.raw));
	d->now = INT64_MIN;
	d->mtu = rn_device_default(options->mtu, RN_MTU_MAX);
	d->next_qpn = rn_device_default(options->first_qpn, FIRST_QPN);
	if (init_device(d, options)) {
		free(d->dev);
		free(d->ring);
		free(d);
		errno = EINVAL;
		return NULL;
	}
	rn_cq_init(&d->cq, (uintptr_t)d->ring, entries, d);
	return d;
}

static void free_region(struct rn_device *d, struct rn_device_region *region)
{
	rn_dev_remove_mr(d->dev, &region->mr);
	*region->link = region->next;
	if (region->next)
		region->next->link = region->link;
	free(region);
}

void rn_device_free(struct rn_device *device)
{
	if (!device)
		return;
	rn_device_free_queues(device);
	for (struct rn_device_region *next, *r = device->regions; r; r = next) {
		next = r->next;
		free_region(device, r);
	}
	rn_cq_fini(device->dev, &device->cq);
	rn_dev_fini(device->dev);
	free(device->dev);
	free(device->ring);
	free(device);
}

/* --------------------------------------------------------------------- packets */
void rn_device_receive(struct rn_device *device, int64_t now,
		       const struct rn_device_packet *packet)
{
	struct rn_flow flow = {
		.ifindex = IFINDEX,
		.sport = packet->source_port,
		.tclass = packet->traffic_class,
		.hop_limit = packet->hop_limit,
	};
	struct rn_rx rx = { .flow = &flow, .data = packet->bytes, .len = packet->len };

	if (packet->len > sizeof(packet->bytes))
		return;
	memcpy(flow.src.raw, packet->source, sizeof(flow.src.raw));
	memcpy(flow.dst.raw, packet->destination, sizeof(flow.dst.raw));
	rn_dev_receive(device->dev, rn_device_advance(device, now), &rx, 1);
}

bool rn_device_transmit(struct rn_device *device, int64_t now,
			struct rn_device_packet *packet)
{
	struct rn_tx tx;
	uint32_t len = rn_dev_transmit(device->dev, rn_device_advance(device, now),
				       RN_TX_ALL | RN_TX_SINGLY, packet->bytes,
				       RN_PACKET_MAX, &tx);

	if (!len)
		return false;
	rn_icrc_seal_with(tx.flow, 0, packet->bytes, len, &tx.part);
	packet->len = len + RN_ICRC_LEN;
	memcpy(packet->source, tx.flow->src.raw, sizeof(packet->source));
	memcpy(packet->destination, tx.flow->dst.raw, sizeof(packet->destination));
	packet->source_port = tx.flow->sport;
	packet->traffic_class = tx.flow->tclass;
	packet->hop_limit = tx.flow->hop_limit;
	return true;
}

int64_t rn_device_deadline(const struct rn_device *device)
{
	return rn_dev_deadline(device->dev);
}

void rn_device_expire(struct rn_device *device, int64_t now)
{
	rn_dev_expire(device->dev, rn_device_advance(device, now));
}

int rn_device_counter(const struct rn_device *device, const char *name, uint64_t *value)
{
	static const char *const names[RN_STAT_COUNT] = {
#define X(symbol, word, report, help) [RN_STAT_##symbol] = (word),
		RN_STATS(X)
#undef X
	};

	for (unsigned i = 0; i < RN_STAT_COUNT; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*value = device->stats[i];
		return 0;
	}
	return -ENOENT;
}

/* --------------------------------------------------------------- memory regions */
int rn_device_register(struct rn_device *device, void *memory, size_t len,
		       unsigned access, uint32_t *key)
{
	const unsigned known = RN_DEVICE_LOCAL_WRITE | RN_DEVICE_REMOTE_WRITE |
			       RN_DEVICE_REMOTE_READ | RN_DEVICE_REMOTE_ATOMIC;
	struct rn_device_region *region;
	struct rn_mr_attr attr = {
		.pd = RN_DEVICE_PD,
		.va = (uintptr_t)memory,
		.length = len,
		.iova_base = (uintptr_t)memory,
		.access = access,
	};

	if (!memory || !len || access & ~known)
		return -EINVAL;
	if (device->next_region >= RN_KEY_INDEX_MAX)
		return -ENOMEM;
	attr.key = (device->next_region + 1) << RN_KEY_INDEX_SHIFT | KEY_BYTE;
	region = calloc(1, sizeof(*region));
	if (!region)
		return -ENOMEM;
	if (rn_mr_init(&region->mr, &attr)) {
		free(region);
		return -EINVAL;
	}
	device->next_region++;
	rn_dev_add_mr(device->dev, &region->mr);
	region->next = device->regions;
	region->link = &device->regions;
	if (region->next)
		region->next->link = &region->next;
	device->regions = region;
	*key = attr.key;
	return 0;
}

int rn_device_deregister(struct rn_device *device, uint32_t key)
{
	struct rn_device_region *region = device->regions;

	while (region && region->mr.lkey != key)
		region = region->next;
	if (!region)
		return -ENOENT;
	free_region(device, region);
	return 0;
}
