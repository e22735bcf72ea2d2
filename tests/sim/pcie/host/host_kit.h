/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_kit.h - a NIC that a test plays, through the table that devices use. */
#ifndef RN_HOST_KIT_H
#define RN_HOST_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/pcie/host/host.h"

rn_host_api_fn rn_host_api;

enum {
	KIT_RESULTS = 256,
	KIT_QP = 0x100, /* a QPN */
	KIT_PAGE = 4096,
};

/* Nobody but the test moves anything. */
#define KIT_STILL ",hold=inf,hold.polls=inf"
#define KIT_STUCK "adversarial" KIT_STILL

/* Words of different granules. */
extern uint64_t kit_cell[64][8];

/* What is on its way arrives, and all cells are 0. kit_forget(): the same, as a set-up.
 */
void kit_clear(void);
int kit_forget(void **state);

/* Zeroed pages that munmap() takes. */
uint8_t *kit_map_pages(unsigned pages);

struct kit_nic {
	const struct rn_host_api *api;
	struct rn_host_nic *nic;
	_Atomic unsigned wakes;
	unsigned count; /* results collected */
	struct kit_result {
		uint64_t tag;
		enum rn_mem_result result;
	} result[KIT_RESULTS];
};

/* Knobs for all that follows, as text. */
void kit_host_knobs(const char *text);

const struct rn_host_api *kit_api(void);
void kit_attach(struct kit_nic *n);
void kit_detach(struct kit_nic *n);

/* Writes of @qpn, which must be accepted. */
void kit_write(struct kit_nic *n, uint32_t qpn, volatile void *dst, const void *src,
	       uint32_t len, uint32_t flags);
void kit_write64(struct kit_nic *n, uint32_t qpn, volatile uint64_t *dst, uint64_t value,
		 uint32_t flags);

enum rn_mem_result kit_read(struct kit_nic *n, uint32_t qpn, void *dst,
			    const volatile void *src, uint32_t len, uint64_t tag);
enum rn_mem_result kit_add(struct kit_nic *n, uint32_t qpn, volatile uint64_t *word,
			   uint64_t addend, uint64_t *found, uint64_t tag);

/* Fetch what has ended, to n->result[]; how many. */
unsigned kit_collect(struct kit_nic *n);

static inline rn_iova kit_iova(const volatile void *p)
{
	return (uintptr_t)p;
}

/* Memory that the engine stores to at any time. */
static inline uint64_t kit_load(const volatile uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Memory of a GPU without a GPU: [addr, addr + len) belongs to GPU 0 until unlinked. */
void kit_region_link(struct rn_host_region *r, volatile void *addr, uint64_t len);
void kit_region_unlink(struct rn_host_region *r);

/* Threads of this process. */
unsigned kit_threads(void);

#endif /* RN_HOST_KIT_H */
