/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hca.c - numbers and limits of one device; see hca.h. */
#include "hca.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "provider/engine/engine.h"
#include "rocin/mr.h"
#include "transport/io/host/sentence.h"

enum {
	FIRST_GROWTH = 64
}; /* buckets; the core has a few built in for the first ones */

struct table {
	void **bucket; /* NULL: the core's own first block */
	uint32_t room; /* buckets */
};

struct rnp_hca {
	LIST_ENTRY(rnp_hca) link;
	struct rnp_engine *engine;
	unsigned refs; /* contexts; guarded by list_lock */
	/* Guarded by the engine lock. */
	uint32_t count[RNP_HCA_KINDS];
	struct table qps, mrs, srqs;
	struct rnp_xrc_domains xrc_domains;
	uint64_t dm_bytes; /* given out */
	uint32_t last_pd, last_key, last_dm, last_srqn, last_xrcd;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* guards: hcas, refs */
static LIST_HEAD(, rnp_hca) hcas = LIST_HEAD_INITIALIZER(hcas);

/* The lock may have been taken by another thread of the parent; the records belong to
 * engines that are the parent's.
 */
static void forget_in_child(void)
{
	pthread_mutex_init(&list_lock, NULL);
	LIST_INIT(&hcas);
}

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, forget_in_child);
}

static struct rnp_hca *find_locked(const struct rnp_engine *e)
{
	struct rnp_hca *hca;

	LIST_FOREACH(hca, &hcas, link)
	if (hca->engine == e)
		return hca;
	return NULL;
}

static struct rnp_hca *share_locked(struct rnp_engine *e)
{
	struct rnp_hca *hca = find_locked(e);

	if (!hca) {
		hca = calloc(1, sizeof(*hca));
		if (!hca)
			return NULL;
		hca->engine = e;
		LIST_INIT(&hca->xrc_domains);
		/* A number meant for another process shall not name one here. */
		hca->last_srqn = (uint32_t)getpid() << 8;
		LIST_INSERT_HEAD(&hcas, hca, link);
	}
	hca->refs++;
	return hca;
}

struct rnp_hca *rnp_hca_open(const char *ibdev, const struct rnp_engine_hooks *hooks,
			     void *owner, struct rnp_engine **engine, char *err,
			     size_t err_len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rnp_hca *hca = NULL;

	pthread_once(&once, watch_fork);
	pthread_mutex_lock(&list_lock);
	*engine = rnp_engine_get(ibdev, hooks, owner, err, err_len);
	if (*engine) {
		hca = share_locked(*engine);
		if (!hca) {
			rnp_engine_put(*engine, owner);
			rn_fail(err, err_len, 0, "not enough memory");
			errno = ENOMEM;
		}
	}
	pthread_mutex_unlock(&list_lock);
	return hca;
}

void rnp_hca_close(struct rnp_hca *hca, void *owner)
{
	/* The child's list does not have it, and the copy of the core points to its
	 * tables. */
	if (rnp_engine_forked(hca->engine)) {
		rnp_engine_put(hca->engine, owner);
		return;
	}
	pthread_mutex_lock(&list_lock);
	rnp_engine_put(hca->engine, owner);
	if (--hca->refs == 0) {
		LIST_REMOVE(hca, link);
		free(hca->qps.bucket);
		free(hca->mrs.bucket);
		free(hca->srqs.bucket);
		free(hca);
	}
	pthread_mutex_unlock(&list_lock);
}

/* At least one bucket per object. */
static int grow(struct rnp_hca *hca, struct table *t, uint32_t count,
		void **(*hand_over)(struct rn_dev *dev, void **bucket, uint32_t count))
{
	uint32_t room = t->room ? 2 * t->room : FIRST_GROWTH;
	void **bucket;

	if (count <= t->room || (!t->room && count <= FIRST_GROWTH / 4))
		return 0;
	bucket = malloc(room * sizeof(*bucket));
	if (!bucket)
		return -ENOMEM;
	free(hand_over(rnp_engine_dev(hca->engine), bucket, room));
	t->bucket = bucket;
	t->room = room;
	return 0;
}

int rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind)
{
	static const uint32_t limit[RNP_HCA_KINDS] = {
		[RNP_HCA_AH] = RNP_AH_MAX, [RNP_HCA_QP] = RNP_QP_MAX,
		[RNP_HCA_CQ] = RNP_CQ_MAX, [RNP_HCA_PD] = RNP_PD_MAX,
		[RNP_HCA_MR] = RNP_MR_MAX, [RNP_HCA_MCAST_GRP] = RNP_MCAST_GRP_MAX,
		[RNP_HCA_MW] = RNP_MW_MAX, [RNP_HCA_SRQ] = RNP_SRQ_MAX,
		[RNP_HCA_WQ] = RNP_WQ_MAX, [RNP_HCA_RWQ_TABLE] = RNP_RWQ_TABLE_MAX,
	};
	uint32_t count = hca->count[kind] + 1;
	int rc = 0;

	if (count > limit[kind])
		return -ENOMEM;
	if (kind == RNP_HCA_QP || kind == RNP_HCA_WQ) /* one table of numbers */
		rc = grow(hca, &hca->qps,
			  hca->count[RNP_HCA_QP] + hca->count[RNP_HCA_WQ] + 1,
			  rn_dev_grow_qp_table);
	else if (kind == RNP_HCA_MR || kind == RNP_HCA_MW) /* one table of keys */
		rc = grow(hca, &hca->mrs,
			  hca->count[RNP_HCA_MR] + hca->count[RNP_HCA_MW] + 1,
			  rn_dev_grow_mr_table);
	else if (kind == RNP_HCA_SRQ)
		rc = grow(hca, &hca->srqs, count, rn_dev_grow_srq_table);
	if (!rc)
		hca->count[kind] = count;
	return rc;
}

void rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind)
{
	assert(hca->count[kind] > 0);
	hca->count[kind]--;
}

int rnp_hca_take_dm(struct rnp_hca *hca, uint64_t bytes)
{
	if (bytes > RNP_DM_BYTES - hca->dm_bytes)
		return -ENOMEM;
	hca->dm_bytes += bytes;
	return 0;
}

void rnp_hca_give_dm(struct rnp_hca *hca, uint64_t bytes)
{
	assert(hca->dm_bytes >= bytes);
	hca->dm_bytes -= bytes;
}

uint32_t rnp_hca_new_dm(struct rnp_hca *hca)
{
	return ++hca->last_dm; /* as PDs */
}

uint32_t rnp_hca_new_pd(struct rnp_hca *hca)
{
	/* 2^32 PDs later the first is long gone. */
	return ++hca->last_pd;
}

uint32_t rnp_hca_new_xrcd(struct rnp_hca *hca)
{
	return ++hca->last_xrcd; /* as PDs */
}

struct rnp_xrc_domains *rnp_hca_xrc_domains(struct rnp_hca *hca)
{
	return &hca->xrc_domains;
}

uint32_t rnp_hca_new_srqn(struct rnp_hca *hca)
{
	uint32_t srqn;

	do {
		srqn = ++hca->last_srqn & RN_SRQN_MAX;
	} while (srqn == 0 || rn_dev_has_srqn(rnp_engine_dev(hca->engine), srqn));
	return srqn;
}

/* The index counts up through all values and the key byte counts the rounds, so a key
 * that was given back opens nothing for the next four billion registrations.
 */
uint32_t rnp_hca_new_key(struct rnp_hca *hca)
{
	uint32_t index;

	do {
		hca->last_key++;
		index = hca->last_key & RN_KEY_INDEX_MAX;
	} while (index == 0 || rn_dev_has_mr_index(rnp_engine_dev(hca->engine), index));
	return index << RN_KEY_INDEX_SHIFT | hca->last_key >> 24;
}
