/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.c - `rocin gds stats`: reads the pages of running programs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gds.h"
#include "rocin/types.h"
#include "sim/cufile/stats_page.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/host/runtime_dir.h"

enum {
	GPUS = 16,
	BINS = 32,
};

static const char *const way_names[RN_CUFILE_WAYS] = { "direct", "gpu", "host", "p2p",
						       "nvlink" };

/* Reads the page of a process. Returns false if it is none of this build. */
static bool read_page(int dir, const char *name, struct rn_cufile_page *page)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : read(fd, page, sizeof(*page));

	if (fd >= 0)
		close(fd);
	if (got != sizeof(*page) || page->magic != RN_CUFILE_PAGE_MAGIC ||
	    page->bytes != sizeof(*page))
		return false;
	page->program[sizeof(page->program) - 1] = '\0';
	page->policy[sizeof(page->policy) - 1] = '\0';
	return true;
}

/* ----------------------------------------------------------------------- as text */
static void print_counter(const char *name, const CUfileOpCounter_t *c)
{
	if (c->ok + c->err > 0)
		printf("  %-22s ok %" PRIu64 ", errors %" PRIu64 "\n", name, c->ok,
		       c->err);
}

static void print_histogram(const char *name, const uint64_t *bins)
{
	for (unsigned i = 0; i < BINS; i++) {
		uint64_t from = i == 0 ? 0 : UINT64_C(4) << (i - 1);

		if (bins[i] > 0)
			printf("  %s of %" PRIu64 " to %" PRIu64 " KiB: %" PRIu64 "\n",
			       name, from, UINT64_C(4) << i, bins[i]);
	}
}

static void print_gpu(unsigned number, const CUfilePerGpuStats_t *g)
{
	if (g->n_total_reads + g->n_total_writes + g->n_mmap == 0)
		return;
	printf("  gpu%u: read %" PRIu64 " bytes in %" PRIu64 " reads (%" PRIu64
	       " posix, %" PRIu64 " routed, %" PRIu64 " errors), written %" PRIu64
	       " in %" PRIu64 " (%" PRIu64 " posix), registered %" PRIu64 " bytes\n",
	       number, g->read_bytes, g->n_total_reads, g->n_posix_reads, g->n_dr_reads,
	       g->n_reads_err, g->writes_bytes, g->n_total_writes, g->n_posix_writes,
	       g->reg_bytes);
}

static void print_text(const struct rn_cufile_page *p)
{
	const CUfileStatsLevel1_t *l = &p->stats.detailed.basic;

	printf("%d %s: level %d%s, routes %s\n", p->pid, p->program, p->level,
	       p->is_active ? "" : " (stopped)", p->policy);
	if (p->level == 0) {
		printf("  nothing is counted; set profile.cufile_stats in cufile.json, "
		       "1 to 3\n");
		return;
	}
	print_counter("reads", &l->read_ops);
	print_counter("writes", &l->write_ops);
	printf("  read %" PRIu64 " bytes, written %" PRIu64 " bytes\n", l->read_bytes,
	       l->write_bytes);
	print_counter("files registered", &l->hdl_register_ops);
	print_counter("buffers registered", &l->buf_register_ops);
	print_counter("batches submitted", &l->batch_submit_ops);
	print_counter("transfers of batches", &l->batch_complete_ops);
	printf("  routes:");
	for (unsigned i = 0; i < RN_CUFILE_WAYS; i++)
		printf(" %s %" PRIu64, way_names[i], p->ways[i]);
	printf("\n");
	if (p->level >= 2) {
		print_histogram("reads", p->stats.detailed.read_size_kb_hist);
		print_histogram("writes", p->stats.detailed.write_size_kb_hist);
	}
	for (unsigned i = 0; i < GPUS && p->level >= 3; i++)
		print_gpu(i, &p->stats.per_gpu_stats[i]);
}

/* ----------------------------------------------------------------------- as JSON */
static json_t *counter_json(const CUfileOpCounter_t *c)
{
	return json_pack("{s:I, s:I}", "ok", (json_int_t)c->ok, "errors",
			 (json_int_t)c->err);
}

static json_t *bins_json(const uint64_t *bins)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < BINS; i++)
		json_array_append_new(list, json_integer((json_int_t)bins[i]));
	return list;
}

static json_t *page_json(const struct rn_cufile_page *p)
{
	const CUfileStatsLevel1_t *l = &p->stats.detailed.basic;
	json_t *ways = json_object(), *gpus = json_array();

	for (unsigned i = 0; i < RN_CUFILE_WAYS; i++)
		json_object_set_new(ways, way_names[i],
				    json_integer((json_int_t)p->ways[i]));
	for (unsigned i = 0; i < GPUS; i++) {
		const CUfilePerGpuStats_t *g = &p->stats.per_gpu_stats[i];

		if (g->n_total_reads + g->n_total_writes + g->n_mmap > 0)
			json_array_append_new(
				gpus,
				json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "gpu",
					  (int)i, "reads", (json_int_t)g->n_total_reads,
					  "read_bytes", (json_int_t)g->read_bytes,
					  "posix_reads", (json_int_t)g->n_posix_reads,
					  "writes", (json_int_t)g->n_total_writes,
					  "write_bytes", (json_int_t)g->writes_bytes,
					  "registered_bytes", (json_int_t)g->reg_bytes));
	}
	return json_pack(
		"{s:i, s:s, s:i, s:b, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o}",
		"pid", p->pid, "program", p->program, "level", p->level, "active",
		(int)p->is_active, "policy", p->policy, "reads",
		counter_json(&l->read_ops), "writes", counter_json(&l->write_ops),
		"read_bytes", (json_int_t)l->read_bytes, "write_bytes",
		(json_int_t)l->write_bytes, "files", counter_json(&l->hdl_register_ops),
		"buffers", counter_json(&l->buf_register_ops), "batches",
		counter_json(&l->batch_submit_ops), "routes", ways, "read_histogram",
		bins_json(p->stats.detailed.read_size_kb_hist), "write_histogram",
		bins_json(p->stats.detailed.write_size_kb_hist), "gpus", gpus);
}

/* ---------------------------------------------------------------------- processes */
/* Returns the process whose page @name is, or 0. */
static int pid_of(const char *name)
{
	int pid = 0, end = 0;

	if (sscanf(name, RN_CUFILE_PAGE_STEM "%d" RN_CUFILE_PAGE_SUFFIX "%n", &pid,
		   &end) != 1 ||
	    end == 0 || name[end] != '\0')
		return 0;
	return pid;
}

int rn_gds_stats(bool json, int pid)
{
	static struct rn_cufile_page page;
	char path[256], err[512];
	json_t *list = json_array();
	unsigned found = 0;
	struct dirent *e;
	DIR *dir;

	if (rn_runtime_dir(path, sizeof(path), err, sizeof(err))) {
		rn_complain("%s", err);
		json_decref(list);
		return RN_EXIT_FAILURE;
	}
	dir = opendir(path);
	while (dir && (e = readdir(dir)) != NULL) {
		int owner = pid_of(e->d_name);

		if (owner <= 0 || (pid != 0 && owner != pid))
			continue;
		if (kill(owner, 0) && errno == ESRCH) {
			/* The process was killed, and could not remove its page. */
			unlinkat(dirfd(dir), e->d_name, 0);
			continue;
		}
		if (!read_page(dirfd(dir), e->d_name, &page))
			continue;
		found++;
		if (json)
			json_array_append_new(list, page_json(&page));
		else
			print_text(&page);
	}
	if (dir)
		closedir(dir);
	if (json) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(list);
	if (found > 0)
		return 0;
	if (pid != 0)
		rn_complain("process %d does not use the cuFile library of Rocin", pid);
	else
		rn_complain("no process uses the cuFile library of Rocin");
	return RN_EXIT_FAILURE;
}
