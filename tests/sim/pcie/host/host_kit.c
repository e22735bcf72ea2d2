/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_kit.c - see host_kit.h */
#include "host_kit.h"
#include "tests/kit/apart.h"

#include <dirent.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

uint64_t kit_cell[64][8] __attribute__((aligned(64)));

void kit_clear(void)
{
	rn_pcie_drain();
	memset(kit_cell, 0, sizeof(kit_cell));
}

int kit_forget(void **state)
{
	(void)state;
	kit_clear();
	return 0;
}

uint8_t *kit_map_pages(unsigned pages)
{
	void *p = map_apart((size_t)pages * KIT_PAGE, PROT_READ | PROT_WRITE);

	assert_non_null(p);
	return p;
}

void kit_host_knobs(const char *text)
{
	struct rn_pcie_knobs knobs;
	char err[256] = "";

	rn_pcie_preset(&knobs, RN_PCIE_STRICT);
	if (rn_pcie_parse(&knobs, text, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(rn_pcie_set_knobs(&knobs), 0);
}

const struct rn_host_api *kit_api(void)
{
	char err[256] = "";
	const struct rn_host_api *api =
		rn_host_api(RN_HOST_API_VERSION, err, sizeof(err));

	if (!api)
		fail_msg("%s", err);
	return api;
}

static void count_wake(void *arg)
{
	struct kit_nic *n = arg;

	atomic_fetch_add(&n->wakes, 1);
}

void kit_attach(struct kit_nic *n)
{
	struct rn_host_nic_cfg cfg = { .name = "kit", .wake = count_wake, .arg = n };

	memset(n, 0, sizeof(*n));
	n->api = kit_api();
	n->nic = n->api->attach(&cfg);
	assert_non_null(n->nic);
}

void kit_detach(struct kit_nic *n)
{
	n->api->detach(n->nic);
	n->nic = NULL;
}

void kit_write(struct kit_nic *n, uint32_t qpn, volatile void *dst, const void *src,
	       uint32_t len, uint32_t flags)
{
	struct rn_mem_attr attr = { .qpn = qpn, .flags = flags, .msg = 1 };

	assert_int_equal(n->api->mem->write(n->nic, kit_iova(dst), src, len, attr),
			 RN_MEM_DONE);
}

void kit_write64(struct kit_nic *n, uint32_t qpn, volatile uint64_t *dst, uint64_t value,
		 uint32_t flags)
{
	kit_write(n, qpn, dst, &value, sizeof(value), flags);
}

enum rn_mem_result kit_read(struct kit_nic *n, uint32_t qpn, void *dst,
			    const volatile void *src, uint32_t len, uint64_t tag)
{
	struct rn_mem_attr attr = { .qpn = qpn };

	return n->api->mem->read(n->nic, dst, kit_iova(src), len, attr, tag);
}

enum rn_mem_result kit_add(struct kit_nic *n, uint32_t qpn, volatile uint64_t *word,
			   uint64_t addend, uint64_t *found, uint64_t tag)
{
	struct rn_mem_attr attr = { .qpn = qpn };
	struct rn_mem_atomic_req req = {
		.op = RN_MEM_FETCH_ADD,
		.dst = kit_iova(word),
		.operand = addend,
	};

	return n->api->mem->atomic(n->nic, &req, found, attr, tag);
}

static void take_result(void *arg, uint64_t tag, enum rn_mem_result result)
{
	struct kit_nic *n = arg;

	assert_true(n->count < KIT_RESULTS);
	n->result[n->count++] = (struct kit_result){ tag, result };
}

unsigned kit_collect(struct kit_nic *n)
{
	n->count = 0;
	return n->api->collect(n->nic, take_result, n);
}

void kit_region_link(struct rn_host_region *r, volatile void *addr, uint64_t len)
{
	struct rn_host *h = rn_host_get();

	*r = (struct rn_host_region){ .addr = kit_iova(addr),
				      .len = len,
				      .target = RN_AGENT_GPU };
	rn_host_lock(h);
	rn_host_region_link(h, r);
	rn_host_unlock(h);
}

void kit_region_unlink(struct rn_host_region *r)
{
	struct rn_host *h = rn_host_get();

	rn_host_lock(h);
	rn_host_force_all(h);
	rn_host_region_unlink(h, r);
	rn_host_unlock(h);
}

unsigned kit_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] != '.')
			n++;
	closedir(dir);
	return n;
}
