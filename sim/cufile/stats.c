/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.c - counters of transfers and registrations, by the levels of cuFile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "rocin/gpu.h"
#include "rocin/types.h"
#include "transport/io/host/runtime_dir.h"

enum {
	LEVEL_MAX = 3,
	BINS = 32,
	GPUS = 16,
};

/* The page, and its file if it has one. */
static struct rn_cufile_page private_page;
static struct rn_cufile_page *page = &private_page;
static char page_path[512];

struct rn_cufile_page *rn_cufile_page(void)
{
	return page;
}

/* ------------------------------------------------------------- the file of the page */
__attribute__((destructor)) static void remove_page(void)
{
	if (page_path[0] != '\0' && rn_cufile.pid == getpid())
		unlink(page_path);
}

/* Maps a file for the page. Without one, `rocin gds stats' does not see the process. */
static struct rn_cufile_page *map_page(void)
{
	char dir[256], err[256];
	void *map = MAP_FAILED;
	int fd;

	if (rn_runtime_dir(dir, sizeof(dir), err, sizeof(err)))
		return &private_page;
	snprintf(page_path, sizeof(page_path),
		 "%s/" RN_CUFILE_PAGE_STEM "%d" RN_CUFILE_PAGE_SUFFIX, dir,
		 (int)getpid());
	fd = open(page_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, sizeof(*page)) == 0)
		map = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   0);
	if (fd >= 0)
		close(fd);
	if (map != MAP_FAILED)
		return map;
	if (fd >= 0)
		unlink(page_path);
	page_path[0] = '\0';
	return &private_page;
}

static void name_program(char *name, size_t len)
{
	ssize_t n;
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? 0 : read(fd, name, len - 1);
	if (fd >= 0)
		close(fd);
	name[n > 0 ? n - 1 : 0] = '\0'; /* without the newline */
}

static void start_counting(void)
{
	if (!page->is_active)
		page->started_ns = rn_cufile_now();
	page->is_active = 1;
}

void rn_cufile_stats_open(const struct rn_cufile_settings *s)
{
	static int level_before = -1;

	/* cuFileSetStatsLevel() before the driver opens replaces cufile.json. */
	if (page->level > 0)
		level_before = page->level;
	if (page == &private_page)
		page = map_page();
	memset(page, 0, sizeof(*page));
	page->bytes = sizeof(*page);
	page->pid = getpid();
	page->level = level_before >= 0 ? level_before
					: (int)s->size[CUFILE_PARAM_PROFILE_STATS];
	level_before = -1;
	name_program(page->program, sizeof(page->program));
	rn_cufile_policy(s, page->policy, sizeof(page->policy));
	if (s->size[CUFILE_PARAM_PROFILE_STATS] > 0)
		start_counting();
	__atomic_store_n(&page->magic, RN_CUFILE_PAGE_MAGIC, __ATOMIC_RELEASE);
}

void rn_cufile_stats_close(void)
{
	if (page != &private_page) {
		munmap(page, sizeof(*page));
		unlink(page_path);
		page_path[0] = '\0';
	}
	page = &private_page;
	memset(page, 0, sizeof(*page));
}

/* ----------------------------------------------------------------------- counting */
static bool counts(int level)
{
	return page->is_active && page->level >= level;
}

void rn_cufile_count(size_t offset, bool is_ok)
{
	CUfileOpCounter_t *c;

	rn_cufile_lock();
	c = (CUfileOpCounter_t *)((char *)&page->stats.detailed.basic + offset);
	if (counts(1)) {
		if (is_ok)
			c->ok++;
		else
			c->err++;
	}
	rn_cufile_unlock();
}

/* Returns the bin of a size: 0 below 4 KiB, 1 below 8 KiB, 2 below 16 KiB and so on. */
static unsigned bin_of(size_t size)
{
	unsigned bin = 0;

	while (size >= 4096 && bin < BINS - 1) {
		size /= 2;
		bin++;
	}
	return bin;
}

static void count_gpu_read(CUfilePerGpuStats_t *g, const struct rn_cufile_done *d)
{
	g->n_total_reads++;
	g->read_duration_us += d->ns / 1000;
	g->n_unaligned_reads += !d->is_aligned;
	if (d->result < 0) {
		g->n_reads_err++;
		return;
	}
	g->read_bytes += (uint64_t)d->result;
	g->n_posix_reads += d->way == RN_STORAGE_HOST;
	g->n_dr_reads += d->way == RN_STORAGE_GPU || d->way == RN_STORAGE_NVLINK;
	g->n_nvfs_reads += d->way != RN_STORAGE_HOST;
}

static void count_gpu_write(CUfilePerGpuStats_t *g, const struct rn_cufile_done *d)
{
	g->n_total_writes++;
	g->write_duration_us += d->ns / 1000;
	g->n_unaligned_writes += !d->is_aligned;
	if (d->result < 0) {
		g->n_writes_err++;
		return;
	}
	g->writes_bytes += (uint64_t)d->result;
	g->n_posix_writes += d->way == RN_STORAGE_HOST;
	g->n_dr_writes += d->way == RN_STORAGE_GPU || d->way == RN_STORAGE_NVLINK;
	g->n_nvfs_writes += d->way != RN_STORAGE_HOST;
}

static void count_basic(CUfileStatsLevel1_t *l, const struct rn_cufile_done *d)
{
	CUfileOpCounter_t *ops = d->is_write ? &l->write_ops : &l->read_ops;
	uint64_t bytes = d->result > 0 ? (uint64_t)d->result : 0;

	if (d->is_batch) {
		CUfileOpCounter_t *c = &l->batch_complete_ops;

		*(d->result < 0 ? &c->err : &c->ok) += 1;
		l->batch_processed_ops.ok++;
		l->batch_posix_processed_ops.ok += d->way == RN_STORAGE_HOST;
		l->batch_completion_lat_sum_us += d->ns / 1000;
		*(d->is_write ? &l->batch_write_bytes : &l->batch_read_bytes) += bytes;
		return;
	}
	*(d->result < 0 ? &ops->err : &ops->ok) += 1;
	*(d->is_write ? &l->write_bytes : &l->read_bytes) += bytes;
	*(d->is_write ? &l->write_lat_sum_us : &l->read_lat_sum_us) += d->ns / 1000;
}

void rn_cufile_count_transfer(const struct rn_cufile_done *d)
{
	CUfileStatsLevel3_t *s;

	rn_cufile_lock();
	s = &page->stats;
	if (counts(1)) {
		count_basic(&s->detailed.basic, d);
		if (d->result >= 0 && (unsigned)d->way < RN_CUFILE_WAYS)
			page->ways[d->way]++;
	}
	if (counts(2) && d->result >= 0)
		(d->is_write ? s->detailed.write_size_kb_hist
			     : s->detailed.read_size_kb_hist)[bin_of(d->size)]++;
	if (counts(3) && d->gpu >= 0 && d->gpu < GPUS) {
		if (d->is_write)
			count_gpu_write(&s->per_gpu_stats[d->gpu], d);
		else
			count_gpu_read(&s->per_gpu_stats[d->gpu], d);
	}
	rn_cufile_unlock();
}

void rn_cufile_count_buffer(int gpu, size_t bytes, bool is_ok, bool is_free)
{
	CUfilePerGpuStats_t *g;

	if (gpu < 0 || gpu >= GPUS)
		return;
	rn_cufile_lock();
	g = &page->stats.per_gpu_stats[gpu];
	if (counts(3)) {
		g->n_mmap += !is_free;
		g->n_mmap_ok += !is_free && is_ok;
		g->n_mmap_err += !is_ok;
		g->n_mmap_free += is_free;
		if (is_ok)
			g->reg_bytes += is_free ? -(uint64_t)bytes : (uint64_t)bytes;
	}
	rn_cufile_unlock();
}

/* --------------------------------------------------------------- calls of programs */
/* Fills in what follows from the counters. Called with the lock held. */
static void derive(CUfileStatsLevel3_t *s)
{
	CUfileStatsLevel1_t *l = &s->detailed.basic;
	uint64_t ns = page->active_ns;
	double seconds;

	if (page->is_active)
		ns += rn_cufile_now() - page->started_ns;
	seconds = ns > 0 ? (double)ns / 1e9 : 1;
	l->read_bw_bytes_per_sec = (uint64_t)((double)l->read_bytes / seconds);
	l->write_bw_bytes_per_sec = (uint64_t)((double)l->write_bytes / seconds);
	l->read_ops_per_sec = (uint64_t)((double)l->read_ops.ok / seconds);
	l->write_ops_per_sec = (uint64_t)((double)l->write_ops.ok / seconds);
	if (l->read_ops.ok + l->read_ops.err > 0)
		l->read_lat_avg_us =
			l->read_lat_sum_us / (l->read_ops.ok + l->read_ops.err);
	if (l->write_ops.ok + l->write_ops.err > 0)
		l->write_lat_avg_us =
			l->write_lat_sum_us / (l->write_ops.ok + l->write_ops.err);
	if (l->batch_submit_ops.ok > 0)
		l->batch_submit_lat_avg_us =
			l->batch_submit_lat_sum_us / l->batch_submit_ops.ok;
	if (l->batch_processed_ops.ok > 0)
		l->batch_completion_lat_avg_us =
			l->batch_completion_lat_sum_us / l->batch_processed_ops.ok;
	l->batch_read_bw_bytes = (uint64_t)((double)l->batch_read_bytes / seconds);
	l->batch_write_bw_bytes = (uint64_t)((double)l->batch_write_bytes / seconds);
	s->num_gpus = (uint32_t)rn_gpu_count();
	for (uint32_t i = 0; i < s->num_gpus && i < GPUS; i++)
		snprintf(s->per_gpu_stats[i].uuid, sizeof(s->per_gpu_stats[i].uuid),
			 "rocin-gpu%u", i);
}

/* Copies the first @bytes of the statistics, which are those of @level. */
static CUfileError_t get(const char *call, int level, void *out, size_t bytes)
{
	CUfileError_t e = rn_cufile_success();
	CUfileStatsLevel3_t s;

	if (!rn_cufile_is_open())
		return rn_cufile_not_open(call);
	rn_cufile_lock();
	if (!out || page->level < level) {
		e = rn_cufile_fail(CU_FILE_INVALID_VALUE,
				   "%s: nothing to write to, or the level is %d; "
				   "cuFileSetStatsLevel() or profile.cufile_stats set it",
				   call, page->level);
	} else {
		s = page->stats;
		derive(&s);
		memcpy(out, &s, bytes);
	}
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileGetStatsL1(CUfileStatsLevel1_t *stats)
{
	return get(__func__, 1, stats, sizeof(*stats));
}

CUfileError_t cuFileGetStatsL2(CUfileStatsLevel2_t *stats)
{
	return get(__func__, 2, stats, sizeof(*stats));
}

CUfileError_t cuFileGetStatsL3(CUfileStatsLevel3_t *stats)
{
	return get(__func__, 3, stats, sizeof(*stats));
}

CUfileError_t cuFileSetStatsLevel(int level)
{
	if (level < 0 || level > LEVEL_MAX)
		return rn_cufile_fail(
			CU_FILE_INVALID_VALUE,
			"cuFileSetStatsLevel: there is no level %d, 0 to %d", level,
			LEVEL_MAX);
	rn_cufile_lock();
	page->level = level;
	rn_cufile_unlock();
	return rn_cufile_success();
}

CUfileError_t cuFileGetStatsLevel(int *level)
{
	if (!level)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileGetStatsLevel: nothing to write to");
	rn_cufile_lock();
	*level = page->level;
	rn_cufile_unlock();
	return rn_cufile_success();
}

static void set_active(bool is_active)
{
	if (is_active) {
		start_counting();
	} else if (page->is_active) {
		page->active_ns += rn_cufile_now() - page->started_ns;
		page->is_active = 0;
	}
}

static CUfileError_t when_open(const char *call)
{
	return rn_cufile_is_open() ? rn_cufile_success() : rn_cufile_not_open(call);
}

CUfileError_t cuFileStatsStart(void)
{
	CUfileError_t e = when_open(__func__);

	if (e.err)
		return e;
	rn_cufile_lock();
	if (page->level == 0)
		e = rn_cufile_fail(CU_FILE_INTERNAL_ERROR,
				   "cuFileStatsStart: the level is 0; "
				   "cuFileSetStatsLevel() comes first");
	else
		set_active(true);
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileStatsStop(void)
{
	CUfileError_t e = when_open(__func__);

	if (e.err)
		return e;
	rn_cufile_lock();
	set_active(false);
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileStatsReset(void)
{
	CUfileError_t e = when_open(__func__);

	if (e.err)
		return e;
	rn_cufile_lock();
	memset(&page->stats, 0, sizeof(page->stats));
	memset(page->ways, 0, sizeof(page->ways));
	page->active_ns = 0;
	page->started_ns = rn_cufile_now();
	rn_cufile_unlock();
	return e;
}
