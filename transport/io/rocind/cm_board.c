/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_board.c - see cm_board.h. */
#include "cm_board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* since Linux 5.1 */
#endif

enum {
	MAGIC = 0x526e4362, /* "RnCb" */
	WORDS = sizeof(struct rn_cm_answers) / sizeof(uint64_t),
	LINE = 64,
	/* number of entries that get pages at first; it is doubled when needed */
	RESERVE_FIRST = 64,
	/* Maximum number of attempts to read an entry. If rocind was stopped while it
	 * wrote the entry, no number of attempts would be enough.
	 */
	READS_MAX = 16,
};

/* An entry of answers under a sequence lock: @seq is odd while the words are written.
 * Memory order: message passing (MP), twice. A reader that sees a new word also sees the
 * odd @seq that was stored before it: each word is stored with release and loaded with
 * acquire, so that the second load of @seq comes last. A reader that sees an even @seq
 * sees all words that were stored before it. Fences are not used, because
 * ThreadSanitizer does not know them.
 */
struct entry {
	_Alignas(LINE) _Atomic uint32_t seq;
	_Atomic uint64_t word[WORDS];
};

/* The form of struct rn_cm_life in shared memory. Memory order: message passing (MP); a
 * reader that sees @channel sees the other fields, which are stored before it. A sequence
 * lock is not used, because programs read the fields after rocind has ended, perhaps
 * while it wrote them.
 */
struct life {
	_Atomic uint64_t channel, uid;
	_Atomic uint32_t events_reported, has_device;
};

struct head {
	uint32_t magic;
	uint32_t rocind;
	rn_ns made_at;
};

struct rn_cm_board_memory {
	/* written before any other process gets the memory */
	_Alignas(LINE) struct head head;
	/* For each kind, the number of entries of @life that have pages. It only grows.
	 * A program reads no entry beyond it, because that would allocate a page.
	 */
	_Atomic uint32_t lives[RN_CM_KINDS];
	struct entry entry[RN_CM_BOARD_IDS];
	_Alignas(LINE) struct life life[RN_CM_KINDS][RN_CM_BOARD_LIVES];
};

/* ---- rocind's functions ---- */

static bool reserve(struct rn_cm_board *b, uint32_t count)
{
	size_t len =
		offsetof(struct rn_cm_board_memory, entry) + count * sizeof(struct entry);

	if (fallocate(b->fd, 0, 0, (off_t)len) < 0)
		return false;
	b->reserved = count;
	return true;
}

static bool reserve_lives(struct rn_cm_board *b, enum rn_cm_kind kind, uint32_t count)
{
	size_t at = offsetof(struct rn_cm_board_memory, life) +
		    kind * sizeof(b->mem->life[kind]);

	if (fallocate(b->fd, 0, (off_t)at, (off_t)(count * sizeof(struct life))) < 0)
		return false;
	b->lives[kind] = count;
	atomic_store_explicit(&b->mem->lives[kind], count, memory_order_release);
	return true;
}

static int open_memory(struct rn_cm_board *b)
{
	void *map;

	b->fd = memfd_create("rocin-cm-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (b->fd < 0)
		return -errno;
	if (ftruncate(b->fd, sizeof(struct rn_cm_board_memory)) < 0 ||
	    !reserve(b, RESERVE_FIRST))
		return -errno;
	map = mmap(NULL, sizeof(struct rn_cm_board_memory), PROT_READ | PROT_WRITE,
		   MAP_SHARED, b->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	b->mem = map;
	/* With this seal, nobody can make another mapping that can be written. */
	return fcntl(b->fd, F_ADD_SEALS,
		     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0
		       ? -errno
		       : 0;
}

int rn_cm_board_open(struct rn_cm_board *b, uint32_t rocind, rn_ns now)
{
	int rc;

	*b = (struct rn_cm_board){ .fd = -1 };
	rc = open_memory(b);
	if (rc)
		rn_cm_board_close(b);
	else
		b->mem->head =
			(struct head){ .magic = MAGIC, .rocind = rocind, .made_at = now };
	return rc;
}

void rn_cm_board_close(struct rn_cm_board *b)
{
	if (b->mem)
		munmap(b->mem, sizeof(*b->mem));
	if (b->fd >= 0)
		close(b->fd);
	*b = (struct rn_cm_board){ .fd = -1 };
}

static bool has_room(struct rn_cm_board *b, uint32_t number)
{
	uint32_t count = b->reserved;

	if (!b->mem || number >= RN_CM_BOARD_IDS)
		return false;
	while (count <= number)
		count *= 2;
	return count == b->reserved || reserve(b, count);
}

void rn_cm_board_show(struct rn_cm_board *b, uint32_t number,
		      const struct rn_cm_answers *answers)
{
	uint64_t word[WORDS] = { 0 };
	struct entry *e;
	uint32_t seq;

	if (!has_room(b, number))
		return;
	e = &b->mem->entry[number];
	if (answers)
		memcpy(word, answers, sizeof(word));
	/* @seq is odd if a rocind died while it wrote the entry. */
	seq = atomic_load_explicit(&e->seq, memory_order_relaxed) & ~1U;
	atomic_store_explicit(&e->seq, seq + 1, memory_order_relaxed);
	for (unsigned i = 0; i < WORDS; i++)
		atomic_store_explicit(&e->word[i], word[i], memory_order_release);
	atomic_store_explicit(&e->seq, seq + 2, memory_order_release);
}

static bool has_room_for_life(struct rn_cm_board *b, enum rn_cm_kind kind,
			      uint32_t number)
{
	uint32_t count = b->lives[kind] ? b->lives[kind] : RESERVE_FIRST;

	if (!b->mem || number >= RN_CM_BOARD_LIVES)
		return false;
	while (count <= number)
		count *= 2;
	return count == b->lives[kind] || reserve_lives(b, kind, count);
}

void rn_cm_board_show_life(struct rn_cm_board *b, enum rn_cm_kind kind, uint32_t number,
			   const struct rn_cm_life *life)
{
	struct life *to;

	if (!has_room_for_life(b, kind, number))
		return;
	to = &b->mem->life[kind][number];
	if (!life) {
		atomic_store_explicit(&to->channel, 0, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&to->uid, life->uid, memory_order_relaxed);
	atomic_store_explicit(&to->events_reported, life->events_reported,
			      memory_order_relaxed);
	atomic_store_explicit(&to->has_device, life->has_device, memory_order_relaxed);
	atomic_store_explicit(&to->channel, life->channel, memory_order_release);
}

void rn_cm_board_hide_answers(struct rn_cm_board *b)
{
	for (uint32_t i = 0; i < b->reserved && i < RN_CM_BOARD_IDS; i++)
		rn_cm_board_show(b, i, NULL);
}

void rn_cm_board_mend(struct rn_cm_board *b)
{
	rn_cm_board_hide_answers(b);
	for (unsigned kind = 0; kind < RN_CM_KINDS; kind++)
		for (uint32_t i = 0; i < b->lives[kind]; i++)
			rn_cm_board_show_life(b, (enum rn_cm_kind)kind, i, NULL);
}

/* ---- Functions of a program ---- */

static bool read_head(int fd, struct head *head)
{
	return pread(fd, head, sizeof(*head), 0) == sizeof(*head) && head->magic == MAGIC;
}

bool rn_cm_board_is_in(const struct rn_cm_board_memory *mem, int fd)
{
	struct head head;

	return read_head(fd, &head) && mem->head.rocind == head.rocind &&
	       mem->head.made_at == head.made_at;
}

/* Return: true if @fd is the memory of a board, and is sealed so that no process can
 * make it shorter. Reading it would raise SIGBUS if it became shorter.
 */
static bool is_whole(int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return fstat(fd, &st) == 0 && st.st_size == sizeof(struct rn_cm_board_memory) &&
	       seals >= 0 && seals & F_SEAL_SHRINK;
}

const struct rn_cm_board_memory *rn_cm_board_map(int fd)
{
	const struct rn_cm_board_memory *mem;
	struct head head;

	if (!is_whole(fd) || !read_head(fd, &head))
		return NULL;
	mem = mmap(NULL, sizeof(*mem), PROT_READ, MAP_SHARED, fd, 0);
	return mem == MAP_FAILED ? NULL : mem;
}

bool rn_cm_board_is_of(const struct rn_cm_board_memory *mem, uint64_t channel)
{
	return mem && mem->head.rocind == channel >> 32;
}

/* Copy an entry of answers. Return: false if rocind was writing it at the same time. */
static bool copy_entry(const struct entry *e, uint64_t word[WORDS])
{
	uint32_t seq = atomic_load_explicit(&e->seq, memory_order_acquire);

	for (unsigned i = 0; i < WORDS; i++)
		word[i] = atomic_load_explicit(&e->word[i], memory_order_acquire);
	return seq % 2 == 0 && seq == atomic_load_explicit(&e->seq, memory_order_relaxed);
}

bool rn_cm_board_read(const struct rn_cm_board_memory *mem, uint64_t channel,
		      uint32_t number, struct rn_cm_answers *out)
{
	uint64_t word[WORDS];

	if (!rn_cm_board_is_of(mem, channel) || number >= RN_CM_BOARD_IDS)
		return false;
	for (unsigned i = 0; i < READS_MAX; i++) {
		if (!copy_entry(&mem->entry[number], word))
			continue;
		memcpy(out, word, sizeof(*out));
		return out->channel == channel;
	}
	return false;
}

uint32_t rn_cm_board_lives(const struct rn_cm_board_memory *mem, enum rn_cm_kind kind)
{
	uint32_t count = atomic_load_explicit(&mem->lives[kind], memory_order_acquire);

	return count < RN_CM_BOARD_LIVES ? count : RN_CM_BOARD_LIVES;
}

bool rn_cm_board_read_life(const struct rn_cm_board_memory *mem, enum rn_cm_kind kind,
			   uint64_t channel, uint32_t number, struct rn_cm_life *out)
{
	const struct life *from;

	if (!rn_cm_board_is_of(mem, channel) || number >= rn_cm_board_lives(mem, kind))
		return false;
	from = &mem->life[kind][number];
	*out = (struct rn_cm_life){
		.channel = atomic_load_explicit(&from->channel, memory_order_acquire),
		.uid = atomic_load_explicit(&from->uid, memory_order_relaxed),
		.events_reported = atomic_load_explicit(&from->events_reported,
							memory_order_relaxed),
		.has_device =
			atomic_load_explicit(&from->has_device, memory_order_relaxed),
	};
	return out->channel == channel;
}
