/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - walk [SEED [COUNT [STEPS [THREADS]]]]: walks of STEPS steps per thread. */
#include "walk.h"

#include <dirent.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

struct world world = { .lock = PTHREAD_MUTEX_INITIALIZER };
static unsigned steps = 15000, threads = 4;
static _Thread_local struct walker *me;

void wrong(const char *fmt, ...)
{
	va_list args;

	flockfile(stderr);
	fprintf(stderr, "walk: seed %llu", (unsigned long long)world.seed);
	if (me)
		fprintf(stderr, ", thread %u, step %llu (%s)", me->idx,
			(unsigned long long)me->steps, me->doing);
	fprintf(stderr, ": ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\nwalk: repeat it by: walk.sh %llu 1 %u %u\n",
		(unsigned long long)world.seed, steps, threads);
	abort();
}

void may(const char *what, int result, const int *allowed)
{
	for (const int *a = allowed; *a != -1; a++)
		if (*a == result)
			return;
	wrong("%s answers %d (%s)", what, result, strerror(result));
}

uint64_t draw(struct walker *w)
{
	uint64_t z = w->rng += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static const struct {
	step_fn *step;
	const char *name;
	unsigned weight;
} choice[] = {
	{ post_send, "post_send", 220 },
	{ post_recv, "post_recv", 160 },
	{ poll_cq, "poll_cq", 900 },
	{ take_events, "take_events", 40 },
	{ arm_cq, "arm_cq", 40 },
	{ connect_qps, "connect_qps", 80 },
	{ make_qp, "make_qp", 25 },
	{ kill_qp, "kill_qp", 8 },
	{ modify_at_random, "modify_at_random", 5 },
	{ query_qp, "query_qp", 20 },
	{ make_mr, "make_mr", 30 },
	{ kill_mr, "kill_mr", 20 },
	{ rereg_mr, "rereg_mr", 10 },
	{ make_cq, "make_cq", 15 },
	{ kill_cq, "kill_cq", 10 },
	{ resize_cq, "resize_cq", 10 },
	{ make_ah, "make_ah", 10 },
	{ kill_ah, "kill_ah", 6 },
	{ make_pd, "make_pd", 10 },
	{ kill_pd, "kill_pd", 6 },
	{ make_channel, "make_channel", 10 },
	{ kill_channel, "kill_channel", 6 },
	{ make_context, "make_context", 2 },
	{ kill_context, "kill_context", 2 },
	{ make_td, "make_td", 4 },
	{ kill_td, "kill_td", 3 },
	{ make_parent, "make_parent", 6 },
	{ make_xrcd, "make_xrcd", 5 },
	{ kill_xrcd, "kill_xrcd", 3 },
	{ make_dm, "make_dm", 6 },
	{ kill_dm, "kill_dm", 4 },
	{ use_dm, "use_dm", 15 },
	{ make_mw, "make_mw", 15 },
	{ kill_mw, "kill_mw", 8 },
	{ bind_window, "bind_window", 30 },
	{ make_srq, "make_srq", 8 },
	{ kill_srq, "kill_srq", 4 },
	{ change_srq, "change_srq", 10 },
	{ post_srq_recv, "post_srq_recv", 80 },
	{ change_group, "change_group", 20 },
	{ make_wq, "make_wq", 8 },
	{ kill_wq, "kill_wq", 5 },
	{ modify_wq, "modify_wq", 15 },
	{ post_wq_recv, "post_wq_recv", 30 },
	{ make_table, "make_table", 5 },
	{ kill_table, "kill_table", 4 },
	{ misuse, "misuse", 30 },
};

enum {
	CHOICES = sizeof(choice) / sizeof(choice[0])
};

static void step(struct walker *w)
{
	unsigned total = 0, at;

	for (unsigned i = 0; i < CHOICES; i++)
		total += choice[i].weight;
	at = below(w, total);
	for (unsigned i = 0; i < CHOICES; i++) {
		if (at < choice[i].weight) {
			w->doing = choice[i].name;
			choice[i].step(w);
			return;
		}
		at -= choice[i].weight;
	}
}

static void *walk(void *arg)
{
	struct walker *w = me = arg;

	for (unsigned i = 0; i < 10; i++) {
		make_pd(w);
		make_xrcd(w);
		make_srq(w);
		make_mr(w);
		make_cq(w);
		make_ah(w);
		make_qp(w);
	}
	for (w->steps = 0; w->steps < steps; w->steps++)
		step(w);
	return NULL;
}

/* ------------------------------------------------------------------------ its end */
static struct object *live(enum kind kind, unsigned i)
{
	struct object *o = &world.object[kind][i];

	return o->life == LIVE ? o : NULL;
}

/* Signaled WRs that nobody discarded complete, once their QP is in ERR. */
static bool is_missing(const struct wr *r)
{
	return atomic_load(&r->fate) == POSTING && (r->recv || r->signaled) &&
	       r->qp->kind != SRQ && r->epoch == atomic_load(&r->qp->epoch) &&
	       !atomic_load(&(r->recv ? r->qp->recv_cq : r->qp->send_cq)->may_overflow);
}

static void collect_completions(struct walker *w)
{
	uint32_t count = world.wrs < WRS ? world.wrs : WRS, missing;
	time_t end = time(NULL) + 60;

	for (unsigned i = 0; i < SLOTS; i++) {
		if (live(QP, i))
			to_error(live(QP, i));
		if (live(WQ, i))
			wq_to_error(live(WQ, i));
	}
	do {
		for (unsigned i = 0; i < SLOTS; i++) {
			take_events(w);
			if (live(CQ, i))
				poll_once(w, live(CQ, i));
		}
		missing = 0;
		for (uint32_t i = 0; i < count; i++)
			missing += is_missing(&world.wr[i]);
	} while (missing && time(NULL) < end);
	if (missing)
		wrong("%u WRs do not complete", missing);
}

static void destroy_all(struct walker *w)
{
	static const enum kind order[] = { TABLE, WQ, QP,      SRQ,  AH, MW, MR,
					   DM,	  CQ, CHANNEL, XRCD, PD, TD, CTX };

	for (unsigned i = 0; i < SLOTS; i++) {
		if (live(QP, i))
			leave_groups(live(QP, i));
		if (live(MR, i)) /* and the windows go before it */
			live(MR, i)->maybe_bound = false;
	}
	for (unsigned k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		struct object *o;

		while ((o = take(w, order[k]))) {
			if (o->kind == QP)
				destroy_qp(o);
			else if (o->kind == WQ)
				destroy_wq(o);
			else
				destroy(o);
		}
		for (unsigned i = 0; i < SLOTS; i++)
			if (live(order[k], i))
				wrong("an object of kind %d remains", (int)order[k]);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		check_block(world.object[MR][i].block, 0, 0, "deregistered memory");
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	MUST(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* ------------------------------------------------------------------------- one walk */
static void look_at_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;

	MUST(ctx);
	MUST(!ibv_query_device(ctx, &world.attr) &&
	     !ibv_query_gid(ctx, 1, 0, &world.gid));
	MUST(!ibv_close_device(ctx));
	ibv_free_device_list(list);
}

static void prepare_objects(void)
{
	for (unsigned k = 0; k < KINDS; k++) {
		for (unsigned i = 0; i < SLOTS; i++) {
			struct object *o = &world.object[k][i];

			*o = (struct object){ .kind = (enum kind)k, .block = o->block };
			pthread_mutex_init(&o->poll_lock, NULL);
			pthread_mutex_init(&o->post_lock, NULL);
			if (k == MR && !o->block)
				MUST((o->block = aligned_alloc(4096, BLOCK_LEN)));
			if (k == MR)
				fill_block(o->block);
		}
	}
	memset(world.wr, 0, WRS * sizeof(*world.wr));
	world.wrs = 0;
}

static void run(uint64_t seed, struct walker *walker)
{
	struct walker last = { .rng = ~seed, .idx = threads, .doing = "at the end" };
	uint64_t completions = 0, successes = 0, refused = 0;

	world.seed = seed;
	prepare_objects();
	me = &last;
	make_context(&last);
	for (unsigned i = 0; i < threads; i++) {
		walker[i] = (struct walker){ .rng = seed * 1000 + i, .idx = i };
		MUST(!pthread_create(&walker[i].thread, NULL, walk, &walker[i]));
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(walker[i].thread, NULL);
		completions += walker[i].completions;
		successes += walker[i].successes;
		refused += walker[i].refused;
	}
	collect_completions(&last);
	destroy_all(&last);
	me = NULL;
	printf("seed %llu: %u WRs, %llu completed, %llu of them well, %llu refused\n",
	       (unsigned long long)seed, world.wrs,
	       (unsigned long long)(completions + last.completions),
	       (unsigned long long)successes, (unsigned long long)refused);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 4;
	struct walker *walker;
	unsigned fds = 0;

	if (argc > 3)
		steps = (unsigned)strtoul(argv[3], NULL, 0);
	if (argc > 4)
		threads = (unsigned)strtoul(argv[4], NULL, 0);
	walker = calloc(threads, sizeof(*walker));
	world.wr = calloc(WRS, sizeof(*world.wr));
	MUST(walker && world.wr && threads);
	look_at_device();
	for (uint64_t seed = first; seed < first + count; seed++) {
		run(seed, walker);
		/* The first walk opens what the device keeps for the life of the process.
		 */
		if (seed > first && count_fds() > fds)
			wrong("%u descriptors are open, %u before", count_fds(), fds);
		fds = count_fds();
	}
	for (unsigned i = 0; i < SLOTS; i++)
		free(world.object[MR][i].block);
	free(world.wr);
	free(walker);
	return 0;
}
