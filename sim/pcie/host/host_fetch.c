/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_fetch.c - what a NIC reads on its own account: after a doorbell the WQEs (knob
 * nic.wqe), and translations of the addresses that it accesses (knob mtt.cache).
 *
 * A doorbell is a posted write of the CPU to a register of the NIC. When it has arrived,
 * the NIC reads the WQEs from the send queue or receive queue, line by line. If there is
 * only one request, the doorbell may carry its WQE, and nothing is read (BlueFlame). When
 * the verbs call returns, the doorbell has arrived and the reads have been performed. The
 * program could not notice if they were performed later, because the verbs call, not the
 * program, has written the WQEs.
 *
 * A program may also ring the doorbell of a send queue that it keeps itself
 * (rn_pcie_ring()), and let the NIC read what is in the queue (rn_pcie_fetch()). These
 * calls do not wait: they return at once, and the doorbell or the fetch has ended when
 * its TLPs have ended. Litmus tests below the level of verbs use them.
 *
 * A NIC accesses memory by addresses that it translates page by page. It has a cache of
 * translations with direct mapping: the page number determines the one place where a
 * translation can be. A translation that is not in the cache is read from a table in host
 * memory before the page is accessed. If the tables form a tree (knob mtt.table), the NIC
 * first reads the address of the page table, unless it has that in another cache.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"

enum {
	PAGE = 4096,
	/* Number of bytes of a WQE that a NIC reads by one TLP, and that a CPU writes by
	 * one.
	 */
	LINE = 64,
};

static_assert((int)RN_HOST_BLUEFLAME % LINE == 0, "a register is whole lines");

static void count_event(struct rn_host_nic *nic, enum rn_host_counter counter)
{
	struct rn_pcie_counters *c = &nic->host->counters;
	uint64_t *const sum[RN_HOST_COUNTERS] = {
		[RN_HOST_DOORBELLS] = &c->doorbells,
		[RN_HOST_WQE_READS] = &c->wqe_reads,
		[RN_HOST_MTT_HITS] = &c->mtt_hits,
		[RN_HOST_MTT_MISSES] = &c->mtt_misses,
	};

	(*sum[counter])++;
	if (nic->counter)
		__atomic_store_n(&nic->counter[counter], nic->counter[counter] + 1,
				 __ATOMIC_RELAXED);
}

static struct rn_tlp fetch_header(const struct rn_host_nic *nic, enum rn_host_tag tag,
				  rn_iova addr, uint32_t len)
{
	return (struct rn_tlp){
		.kind = RN_TLP_READ,
		.flags = rn_host_knobs(nic->host)->ido ? RN_TLP_IDO : 0,
		.requester = (uint8_t)rn_nic_agent(nic),
		.target = RN_AGENT_CPU,
		.addr = addr,
		.len = len,
		.tag = tag,
	};
}

/* ------------------------ translations of the addresses that a NIC accesses */
/* Makes room for @size translations (knob mtt.cache) in the NIC's cache, and empties it.
 * Does nothing if the cache has that size already. If memory cannot be allocated, there
 * is no cache, and the NIC reads each translation that it needs.
 */
static void resize_cache(struct rn_host_nic *nic, uint32_t size)
{
	if (nic->mtt_size == size)
		return;
	free(nic->mtt);
	free(nic->mtt_upper);
	nic->mtt = calloc(size, sizeof(nic->mtt[0]));
	nic->mtt_upper = calloc(size, sizeof(nic->mtt_upper[0]));
	nic->mtt_size = nic->mtt && nic->mtt_upper ? size : 0;
}

/* Reads the translation of page @number from a table in host memory, unless the cache
 * @kept has it already, at index @number modulo the size of the cache. Returns true if
 * the entry was read. A real driver's table has an entry for each page. This simulated
 * table has RN_HOST_MTT_TABLE entries, which all pages share, so the entry is written
 * just before it is read. Its value is @number, because addresses are translated into
 * themselves.
 */
static bool read_entry(struct rn_host_nic *nic, enum rn_host_tag tag, uint64_t *table,
		       uint64_t *kept, uint64_t number)
{
	uint64_t *entry = &table[number % RN_HOST_MTT_TABLE], found = 0;
	uint64_t *place = nic->mtt_size ? &kept[number % nic->mtt_size] : NULL;
	struct rn_tlp tlp = fetch_header(nic, tag, (uintptr_t)entry, sizeof(*entry));

	if (place && *place == number)
		return false;
	*entry = number;
	tlp.txn = nic->next_txn++;
	if (!rn_host_ask(nic->host, &tlp, &found))
		assert(found == number);
	if (place)
		*place = number;
	return true;
}

/* Returns true if the NIC has the translation of the page in its cache. */
static bool is_kept(const struct rn_host_nic *nic, uint64_t page)
{
	return nic->mtt_size && nic->mtt[page % nic->mtt_size] == page;
}

/* Reads those translations for [@addr, @addr + @len) that are not in the NIC's cache.
 * Returns the time in ns that the reads take on hardware. The caller releases the lock
 * and then passes this time to spend().
 */
static rn_ns translate(struct rn_host_nic *nic, rn_iova addr, uint64_t len)
{
	const struct rn_pcie_knobs *k = rn_host_knobs(nic->host);
	const struct rn_host_region *r = rn_host_region_of(nic->host, addr);
	rn_ns cost = 0;

	/* Accesses to the NIC's own memory do not cross PCIe, so they need no
	 * translation.
	 */
	if (k->mtt_cache == 0 || (r && r->target == rn_nic_agent(nic)))
		return 0;
	resize_cache(nic, k->mtt_cache);
	for (uint64_t page = addr / PAGE; page <= (addr + len - 1) / PAGE; page++) {
		if (is_kept(nic, page)) {
			count_event(nic, RN_HOST_MTT_HITS);
			continue;
		}
		count_event(nic, RN_HOST_MTT_MISSES);
		if (k->mtt_table == RN_TABLE_TREE &&
		    read_entry(nic, RN_HOST_TAG_TABLE, nic->mtt_tables, nic->mtt_upper,
			       page / RN_HOST_MTT_TABLE))
			cost += (rn_ns)k->mtt_miss_ns;
		read_entry(nic, RN_HOST_TAG_MTT, nic->mtt_table, nic->mtt, page);
		cost += (rn_ns)k->mtt_miss_ns;
	}
	return cost;
}

void rn_host_forget_translations(struct rn_host_nic *nic)
{
	rn_host_lock(nic->host);
	if (nic->mtt_size) {
		memset(nic->mtt, 0, nic->mtt_size * sizeof(nic->mtt[0]));
		memset(nic->mtt_upper, 0, nic->mtt_size * sizeof(nic->mtt_upper[0]));
	}
	rn_host_unlock(nic->host);
}

static void spend(rn_ns cost)
{
	rn_ns until = cost > 0 ? rn_host_now() + cost : 0;

	while (cost > 0 && rn_host_now() < until)
		;
}

/* Called when a NIC is about to access [@addr, @addr + @len). If the knobs say that NICs
 * read translations, lets the NIC read those of these addresses first.
 */
static void prepare(struct rn_host_nic *nic, rn_iova addr, uint64_t len)
{
	rn_ns cost;

	if (!atomic_load_explicit(&nic->host->has_translations, memory_order_relaxed) ||
	    rn_host_is_forked())
		return;
	rn_host_lock(nic->host);
	cost = translate(nic, addr, len);
	rn_host_unlock(nic->host);
	spend(cost);
}

static enum rn_mem_result translated_write(void *nic, rn_iova dst, const void *src,
					   uint32_t len, struct rn_mem_attr attr)
{
	prepare(nic, dst, len);
	return rn_host_nic_plain_ops.write(nic, dst, src, len, attr);
}

static enum rn_mem_result translated_read(void *nic, void *dst, rn_iova src, uint32_t len,
					  struct rn_mem_attr attr, uint64_t tag)
{
	prepare(nic, src, len);
	return rn_host_nic_plain_ops.read(nic, dst, src, len, attr, tag);
}

static enum rn_mem_result translated_atomic(void *nic,
					    const struct rn_mem_atomic_req *req,
					    uint64_t *orig, struct rn_mem_attr attr,
					    uint64_t tag)
{
	prepare(nic, req->dst, sizeof(*orig));
	return rn_host_nic_plain_ops.atomic(nic, req, orig, attr, tag);
}

const struct rn_mem_ops rn_host_nic_ops = {
	.always_done = false,
	.write = translated_write,
	.read = translated_read,
	.atomic = translated_atomic,
};

/* ----------------------------- doorbells, and reads of the WQEs behind them */
static struct rn_tlp bell_header(const struct rn_host_nic *nic, uint32_t qpn)
{
	return (struct rn_tlp){
		.kind = RN_TLP_WRITE,
		.flags = RN_TLP_BELL,
		.requester = RN_AGENT_CPU,
		.target = (uint8_t)rn_nic_agent(nic),
		.stream = qpn,
		.tag = RN_HOST_TAG_BELL,
	};
}

/* Sends a doorbell of @len bytes as writes of up to LINE bytes each, as a write-combining
 * buffer does. Each write has arrived at the NIC when rn_host_ask() returns.
 */
static void send_bell(struct rn_host_nic *nic, uint32_t qpn, const uint8_t *bytes,
		      uint32_t len)
{
	struct rn_tlp tlp = bell_header(nic, qpn);

	count_event(nic, RN_HOST_DOORBELLS);
	for (uint32_t at = 0; at < len; at += tlp.len) {
		tlp.addr = (uintptr_t)nic->bell + at;
		tlp.len = len - at < LINE ? len - at : LINE;
		(void)rn_host_ask(nic->host, &tlp, (void *)(bytes + at));
	}
}

/* Sends a doorbell that carries a whole WQE (BlueFlame), so that the NIC need not read
 * it.
 */
static void carry_wqe(struct rn_host_nic *nic, uint32_t qpn,
		      const struct rn_host_range *wqe)
{
	uint8_t bytes[RN_HOST_BLUEFLAME] = { 0 };

	if (rn_host_load(nic->host, bytes, wqe->addr, (uint32_t)wqe->len) == RN_MEM_DONE)
		send_bell(nic, qpn, bytes, (uint32_t)wqe->len);
}

static void read_wqe(struct rn_host_nic *nic, const struct rn_host_bell *bell,
		     uint32_t number, const struct rn_host_range *wqe)
{
	uint8_t line[LINE];

	for (rn_iova at = wqe->addr; at < wqe->addr + wqe->len;) {
		uint64_t left = wqe->addr + wqe->len - at, to_line = LINE - at % LINE;
		struct rn_tlp tlp =
			fetch_header(nic, RN_HOST_TAG_WQE, at,
				     (uint32_t)(left < to_line ? left : to_line));

		tlp.stream = bell->qpn;
		tlp.msg = number;
		tlp.txn = nic->next_txn++;
		count_event(nic, RN_HOST_WQE_READS);
		(void)rn_host_ask(nic->host, &tlp, line);
		at += tlp.len;
	}
}

void rn_host_ring(struct rn_host_nic *nic, const struct rn_host_bell *bell)
{
	enum rn_nic_wqe how;
	rn_ns cost = 0;

	if (rn_host_is_forked() || bell->count == 0)
		return;
	rn_host_lock(nic->host);
	how = rn_host_knobs(nic->host)->nic_wqe;
	for (uint32_t i = 0; i < bell->count && how != RN_WQE_GIVEN; i++) {
		const struct rn_host_range wqe = bell->wqe(bell->arg, bell->first + i);

		if (how == RN_WQE_BLUEFLAME && !bell->is_recv && bell->count == 1 &&
		    wqe.len <= RN_HOST_BLUEFLAME) {
			carry_wqe(nic, bell->qpn, &wqe);
			break;
		}
		if (i == 0)
			send_bell(nic, bell->qpn, (const uint8_t *)&bell->first,
				  sizeof(bell->first));
		cost += translate(nic, wqe.addr, wqe.len);
		read_wqe(nic, bell, bell->first + i, &wqe);
	}
	rn_host_unlock(nic->host);
	spend(cost);
}

/* -------------------------------------------------- send queues of the program */
/* A doorbell or fetch that a call of rn_pcie_ring() or rn_pcie_fetch() has begun, and
 * whose TLPs have not all ended.
 */
struct task {
	struct rn_pcie_end end;
	unsigned left; /* number of TLPs in flight, plus one until all have been issued */
	int result;
};

static void end_part(struct task *t)
{
	if (--t->left > 0)
		return;
	t->end.done(t->end.arg, t->result);
	free(t);
}

static void part_done(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result)
{
	struct task *t = arg;

	(void)tlp;
	if (result != RN_MEM_DONE)
		t->result = -EFAULT;
	end_part(t);
}

static void issue_part(struct rn_host_nic *nic, struct task *t, struct rn_tlp *tlp,
		       void *bytes)
{
	t->left++;
	if (rn_host_issue(nic->host, tlp, bytes, part_done, t) >= 0)
		return;
	t->left--;
	t->result = -EFAULT;
}

static struct task *new_task(struct rn_pcie_end end)
{
	struct task *t = malloc(sizeof(*t));

	if (t)
		*t = (struct task){ .end = end, .left = 1 };
	return t;
}

/* Takes the host lock and returns NIC @number. If there is no such NIC, returns NULL, and
 * the lock is not taken.
 */
static struct rn_host_nic *lock_nic(int number)
{
	struct rn_host *h = rn_host_is_forked() ? NULL : rn_host_get();

	struct rn_host_nic *nic;

	if (!h || number < 0 || number >= RN_NIC_MAX)
		return NULL;
	rn_host_lock(h);
	nic = h->nics[number];
	if (!nic)
		rn_host_unlock(h);
	return nic;
}

int rn_pcie_nic(const char *device)
{
	int found = -ENOENT;

	for (int i = 0; i < RN_NIC_MAX; i++) {
		struct rn_host_nic *nic = lock_nic(i);

		if (!nic)
			continue;
		if (!strcmp(nic->name, device))
			found = i;
		rn_host_unlock(nic->host);
	}
	return found;
}

int rn_pcie_ring(int nic, const void *bytes, uint32_t len, struct rn_pcie_end end)
{
	struct rn_host_nic *n = len > 0 && len <= LINE ? lock_nic(nic) : NULL;
	struct task *t = n ? new_task(end) : NULL;
	struct rn_tlp tlp;

	if (t) {
		tlp = bell_header(n, 0);
		tlp.addr = (uintptr_t)n->bell;
		tlp.len = len;
		count_event(n, RN_HOST_DOORBELLS);
		issue_part(n, t, &tlp, (void *)bytes);
		end_part(t);
	}
	if (n)
		rn_host_unlock(n->host);
	return t ? 0 : n ? -ENOMEM : -EINVAL;
}

/* Issues the reads of a fetch, one for each granule. */
static void issue_reads(struct rn_host_nic *nic, struct task *t, uint32_t qpn,
			rn_iova addr, uint8_t *to, uint32_t len)
{
	const struct rn_host_region *r = rn_host_region_of(nic->host, addr);
	uint32_t granule = rn_host_knobs(nic->host)->granule, part;

	for (uint32_t at = 0; at < len; at += part) {
		struct rn_tlp tlp =
			fetch_header(nic, RN_HOST_TAG_WQE, addr + at, len - at);

		part = granule - (uint32_t)((addr + at) % granule);
		if (tlp.len > part)
			tlp.len = part;
		part = tlp.len;
		if (r)
			tlp.target = (uint8_t)r->target;
		tlp.stream = qpn;
		tlp.txn = nic->next_txn++;
		count_event(nic, RN_HOST_WQE_READS);
		issue_part(nic, t, &tlp, to + at);
	}
}

int rn_pcie_fetch(int nic, uint32_t qpn, const void *from, void *to, uint32_t len,
		  struct rn_pcie_end end)
{
	struct rn_host_nic *n = len > 0 ? lock_nic(nic) : NULL;
	struct task *t = n ? new_task(end) : NULL;
	rn_ns cost = 0;

	if (t) {
		cost = translate(n, (uintptr_t)from, len);
		issue_reads(n, t, qpn, (uintptr_t)from, to, len);
		end_part(t);
	}
	if (n)
		rn_host_unlock(n->host);
	spend(cost);
	return t ? 0 : n ? -ENOMEM : -EINVAL;
}
