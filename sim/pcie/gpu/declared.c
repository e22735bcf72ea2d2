/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* declared.c - ordinary memory that is treated as device memory because a rule says so.
 *
 * When a program registers memory that a rule (declare.h) matches, NICs access the memory
 * as they access a GPU's memory. The pages that lie in it entirely are replaced by a
 * mapping of a memfd with the same contents. So the simulation can have a second mapping
 * of them, and the program's mapping can be closed (trap.c). Some pages cannot be
 * replaced: shared memory, files, the stack, and pages of which only a part is
 * registered. Such memory is still treated as the GPU's, but a plain load of the CPU from
 * it does not push writes; this is logged once.
 *
 * After the replacement a child of fork() shares this memory with its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "declare.h"
#include "gpu_internal.h"
#include "rocin/mr.h"
#include "sim/pcie/page/mappings.h"
#include "transport/io/host/log.h"

/* An MR registration of declared memory. The NIC and the key identify it. */
struct registration {
	struct registration *next;
	const struct rn_host_nic *nic;
	uint32_t key;
	uintptr_t lo, hi;
};

static struct {
	pthread_once_t once;
	/* 0, or -EINVAL if the rules in ROCIN_PCIE_DEVICE are wrong; then @sentence has
	 * the error text.
	 */
	int parsed;
	char sentence[200];
	struct rn_declare rules;

	_Atomic(struct rn_declared *) pieces;
	struct registration *registrations; /* guarded by the host lock */
	bool has_warned;
} all = { .once = PTHREAD_ONCE_INIT };

static void read_rules(void)
{
	const char *text = getenv("ROCIN_PCIE_DEVICE");

	if (!text || !*text)
		return;
	all.parsed =
		rn_declare_parse(&all.rules, text, all.sentence, sizeof(all.sentence));
	if (all.parsed)
		fprintf(stderr, "rocin: ROCIN_PCIE_DEVICE: %s\n", all.sentence);
}

/* ---------------------- replacement of the program's pages by a memfd */

/* Returns true if mappings of this process cover [@lo, @hi) without a gap, and @accept
 * returns true for each of them.
 */
static bool all_mappings(uintptr_t lo, uintptr_t hi,
			 bool (*accept)(const struct rn_mapping *m,
					const struct rn_declared *d),
			 const struct rn_declared *d)
{
	FILE *maps = rn_mappings_open();
	struct rn_mapping m;

	if (!maps)
		return false;
	while (lo < hi && rn_mappings_next(maps, &m)) {
		if (m.hi <= lo)
			continue;
		if (m.lo > lo || !accept(&m, d))
			break;
		lo = m.hi;
	}
	fclose(maps);
	return lo >= hi;
}

static bool is_private_anonymous(const struct rn_mapping *m, const struct rn_declared *d)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	(void)d;
	return strcmp(m->rights, "rw-p") == 0 && m->inode == 0 && !m->is_stack &&
	       (here < m->lo || here >= m->hi);
}

static bool is_memfd_of(const struct rn_mapping *m, const struct rn_declared *d)
{
	return m->inode == d->inode && m->rights[3] == 's';
}

/* Returns true if the addresses of @d still have the mappings that replace_pages() made.
 */
static bool is_in_place(const struct rn_declared *d)
{
	return d->engine && all_mappings(d->lo, d->hi, is_memfd_of, d);
}

/* Copies the contents of the pages of @d to the memfd @fd, and maps the memfd in their
 * place. Stores of other threads to the pages meanwhile fault after the mprotect() call,
 * and wait in the SIGSEGV handler for the host lock.
 */
static int move_pages(struct rn_declared *d, int fd, char *engine)
{
	size_t len = d->hi - d->lo;

	if (mprotect(rn_gpu_pointer(d->lo), len, PROT_READ) < 0)
		return -ENOMEM;
	memcpy(engine, rn_gpu_pointer(d->lo), len);
	if (mmap(rn_gpu_pointer(d->lo), len, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		mprotect(rn_gpu_pointer(d->lo), len, PROT_READ | PROT_WRITE);
		return -ENOMEM;
	}
	return 0;
}

/* Replaces the pages of @d by those of a memfd with the same contents, and sets @d's
 * engine and inode. The caller must hold the host lock, and must have made @d active, so
 * that other threads that store to these pages meanwhile wait in the SIGSEGV handler.
 * Returns 0, -ENOTSUP if the memory is not private anonymous memory, or -ENOMEM.
 */
static int replace_pages(struct rn_declared *d)
{
	size_t len = d->hi - d->lo;
	struct stat st;
	char *engine;
	int fd, err = -ENOMEM;

	if (!all_mappings(d->lo, d->hi, is_private_anonymous, d))
		return -ENOTSUP;
	fd = memfd_create("rocin-declared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -ENOMEM;
	/* The file size is sealed, because other processes of this user may open the
	 * memfd through /proc, and if they truncated it, accesses of the simulation
	 * would fault.
	 */
	if (ftruncate(fd, (off_t)len) < 0 || fstat(fd, &st) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto out_close;
	engine = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (engine == MAP_FAILED)
		goto out_close;
	err = move_pages(d, fd, engine);
	if (err) {
		munmap(engine, len);
		goto out_close;
	}
	d->engine = engine;
	d->inode = st.st_ino;
out_close:
	close(fd);
	return err;
}

/* -------------------------------------- pieces: ranges of declared memory */
static bool is_active(const struct rn_declared *d)
{
	return atomic_load_explicit(&d->is_active, memory_order_acquire);
}

static bool piece_holds(const struct rn_declared *d, uintptr_t addr)
{
	return addr >= d->lo && addr < d->hi;
}

static struct rn_declared *piece_at(uintptr_t addr, bool active)
{
	struct rn_declared *d = atomic_load(&all.pieces);

	while (d && !(piece_holds(d, addr) && is_active(d) == active))
		d = d->next;
	return d;
}

struct rn_gpu *rn_declared_of(uintptr_t addr)
{
	const struct rn_declared *d = piece_at(addr, true);

	return d ? d->gpu : NULL;
}

int rn_declared_find(uintptr_t addr, struct rn_gpu_where *out)
{
	const struct rn_declared *d = piece_at(addr, true);

	if (!d)
		return -ENOENT;
	if (out)
		*out = (struct rn_gpu_where){
			.gpu = d->gpu,
			.buffer = { .bar = rn_gpu_pointer(d->lo),
				    .dev = rn_gpu_pointer(d->lo),
				    .len = d->hi - d->lo,
				    .gpu = d->gpu },
			.offset = addr - d->lo,
			.by_bar = true,
			.is_declared = true,
		};
	return 0;
}

/* Returns the lowest address in (@addr, @end) at which a piece begins that is active or
 * may become active again. Returns @end if there is none.
 */
static uintptr_t next_active(uintptr_t addr, uintptr_t end)
{
	for (const struct rn_declared *d = atomic_load(&all.pieces); d; d = d->next)
		if ((is_active(d) || d->engine) && d->lo > addr && d->lo < end)
			end = d->lo;
	return end;
}

static void warn_once(const struct rn_declared *d)
{
	if (all.has_warned)
		return;
	all.has_warned = true;
	rn_log(RN_LOG_WARN,
	       "memory %p to %p is declared a GPU's, but its pages cannot be watched: "
	       "plain loads from it push nothing",
	       rn_gpu_pointer(d->lo), rn_gpu_pointer(d->hi));
}

static bool is_whole_pages(const struct rn_declared *d)
{
	return d->lo % RN_GPU_PAGE == 0 && d->hi % RN_GPU_PAGE == 0;
}

/* Makes the piece @d active, and replaces its pages if that is possible. The caller must
 * hold the host lock, and must have put @d into the list of pieces.
 */
static void activate_piece(struct rn_declared *d)
{
	struct rn_host *h = d->gpu->host;

	atomic_store(&d->is_active, true);
	if (!d->engine && (!is_whole_pages(d) || replace_pages(d) < 0))
		warn_once(d);
	d->region = (struct rn_host_region){
		.addr = d->lo,
		.len = d->hi - d->lo,
		.target = rn_gpu_agent(d->gpu),
		.shift = d->engine ? (int64_t)((uintptr_t)d->engine - d->lo) : 0,
		.declared = true,
	};
	rn_host_region_link(h, &d->region);
	if (d->engine) {
		d->next_of_gpu = d->gpu->trap.declared;
		d->gpu->trap.declared = d;
		rn_trap_refresh(d->gpu);
	}
}

/* Called when the last registration that used the piece has ended. Its pages stay those
 * of the memfd, and the CPU can access them freely again. The host lock is held.
 */
static void deactivate_piece(struct rn_declared *d)
{
	struct rn_declared **at = &d->gpu->trap.declared;

	rn_host_force_region(d->gpu->host, &d->region);
	rn_host_region_unlink(d->gpu->host, &d->region);
	while (*at && *at != d)
		at = &(*at)->next_of_gpu;
	if (*at)
		*at = d->next_of_gpu;
	if (d->engine)
		mprotect(rn_gpu_pointer(d->lo), d->hi - d->lo, PROT_READ | PROT_WRITE);
	atomic_store(&d->is_active, false);
	rn_gpu_bar_take(d->gpu, -(int64_t)(d->hi - d->lo));
}

/* Returns an inactive piece of @gpu that contains @addr and whose pages are still those
 * of its memfd; NULL if there is none. A piece where the program has mapped other pages
 * meanwhile loses its second mapping.
 */
static struct rn_declared *reusable_piece(const struct rn_gpu *gpu, uintptr_t addr)
{
	for (struct rn_declared *d = atomic_load(&all.pieces); d; d = d->next) {
		if (is_active(d) || !d->engine || !piece_holds(d, addr) || d->gpu != gpu)
			continue;
		if (is_in_place(d))
			return d;
		munmap(d->engine, d->hi - d->lo);
		d->engine = NULL;
	}
	return NULL;
}

/* Returns a new piece. If @put_back, undoes the last call instead: the next call returns
 * the same piece again. Pieces must not lie in a page that may be closed, because the
 * SIGSEGV handler reads them. So they are not on the program's heap, which may share a
 * page with registered memory. Pieces are never freed. Called with the host lock held.
 */
static struct rn_declared *take_piece(bool put_back)
{
	enum {
		/* Size of the mappings from which pieces are taken, in bytes. */
		BLOCK = 64 * 1024
	};
	static struct rn_declared *next;
	static size_t left;

	if (put_back) {
		next--;
		left++;
		memset(next, 0, sizeof(*next));
		return NULL;
	}
	if (left == 0) {
		void *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED)
			return NULL;
		next = block;
		left = BLOCK / sizeof(*next);
	}
	left--;
	return next++;
}

/* Returns a new piece that begins at @lo. If @hi lies in the same page, the piece ends at
 * @hi. Otherwise it ends at the end of this page if @lo is not the start of the page, and
 * at the last page boundary up to @hi if it is.
 */
static struct rn_declared *new_piece(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi)
{
	uintptr_t page_end = (lo + RN_GPU_PAGE) & ~(uintptr_t)(RN_GPU_PAGE - 1);
	struct rn_declared *d = take_piece(false);

	if (!d)
		return NULL;
	d->gpu = gpu;
	d->lo = lo;
	d->hi = hi;
	if (lo % RN_GPU_PAGE && page_end < hi)
		d->hi = page_end;
	else if (lo % RN_GPU_PAGE == 0 && page_end <= hi)
		d->hi = hi & ~(uintptr_t)(RN_GPU_PAGE - 1);
	return d;
}

/* Sets *@out to an active piece that begins at or before @lo and ends at or before @hi:
 * one that was used before, or a new one. Called with the host lock held. Returns 0 or
 * -ENOMEM.
 */
static int make_piece(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi,
		      struct rn_declared **out)
{
	struct rn_declared *old = reusable_piece(gpu, lo);
	struct rn_declared *d = old ? old : new_piece(gpu, lo, hi);
	int err;

	if (!d)
		return rn_gpu_fail(-ENOMEM, "no memory");
	err = rn_gpu_bar_take(gpu, (int64_t)(d->hi - d->lo));
	if (err) {
		if (!old)
			take_piece(true);
		return err;
	}
	if (!old) {
		d->next = atomic_load(&all.pieces);
		atomic_store(&all.pieces, d);
	}
	activate_piece(d);
	*out = d;
	return 0;
}

/* ---------------------------------------- registrations of declared memory */
/* Decrements the number of users of each piece that has addresses in [lo, hi). Called
 * with the host lock held.
 */
static void release_range(uintptr_t lo, uintptr_t hi)
{
	while (lo < hi) {
		struct rn_declared *d = piece_at(lo, true);

		assert(d);
		lo = d->hi;
		if (--d->users == 0)
			deactivate_piece(d);
	}
}

/* Increments the number of users of each piece that has addresses in [lo, hi), and makes
 * pieces for addresses that have none. Called with the host lock held. Returns 0 or
 * -errno.
 */
static int declare_range(struct rn_gpu *gpu, uintptr_t lo, uintptr_t hi)
{
	uintptr_t at = lo;

	while (at < hi) {
		struct rn_declared *d = piece_at(at, true);
		int err = d ? 0 : make_piece(gpu, at, next_active(at, hi), &d);

		if (err) {
			release_range(lo, at);
			return err;
		}
		assert(d);
		d->users++;
		at = d->hi;
	}
	return 0;
}

static int declared_gpu(rn_iova addr, uint64_t len, uint32_t access, struct rn_gpu **gpu)
{
	int number;

	*gpu = NULL;
	/* Pages of an on-demand region cannot be replaced: the program may map other
	 * pages there at any time.
	 */
	if (access & RN_ACCESS_ON_DEMAND)
		return 0;
	pthread_once(&all.once, read_rules);
	if (all.parsed)
		return rn_gpu_fail(all.parsed, "%s", all.sentence);
	number = rn_declare_match(&all.rules, program_invocation_short_name, addr, len,
				  access);
	if (number < 0)
		return 0;
	*gpu = rn_gpu_open(number);
	if (!*gpu)
		return -ENODEV;
	if (rn_gpu_is_off(*gpu))
		*gpu = NULL;
	return 0;
}

int rn_declared_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		    uint64_t len, uint32_t access)
{
	struct registration *r;
	struct rn_gpu *gpu;
	int err = declared_gpu(addr, len, access, &gpu);

	if (err || !gpu || !len)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r)
		return rn_gpu_fail(-ENOMEM, "no memory");
	r->nic = nic;
	r->key = key;
	r->lo = addr;
	r->hi = addr + len;

	rn_host_lock(gpu->host);
	err = declare_range(gpu, r->lo, r->hi);
	if (!err) {
		r->next = all.registrations;
		all.registrations = r;
	}
	rn_host_unlock(gpu->host);
	if (err)
		free(r);
	return err ? err : 1;
}

void rn_gpu_region_remove(const struct rn_host_nic *nic, uint32_t key)
{
	struct rn_host *h = rn_host_get();
	struct registration **at, *r;

	if (!h || !atomic_load(&all.pieces) || rn_gpu_is_forked())
		return;
	rn_host_lock(h);
	at = &all.registrations;
	while (*at && ((*at)->nic != nic || (*at)->key != key))
		at = &(*at)->next;
	r = *at;
	if (r) {
		*at = r->next;
		release_range(r->lo, r->hi);
	}
	rn_host_unlock(h);
	free(r);
}
