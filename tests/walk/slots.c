/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slots.c - the table of objects: who uses one, who has it alone, what hangs on it. */
#include "walk.h"

static struct object *find(struct walker *w, enum kind kind,
			   bool (*fits)(struct object *, const void *), const void *arg)
{
	uint32_t at = below(w, SLOTS);

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct object *o = &world.object[kind][(at + i) % SLOTS];

		if (fits(o, arg))
			return o;
	}
	return NULL;
}

static bool is_live_in(struct object *o, const void *ctx)
{
	return o->life == LIVE && (!ctx || o->ctx == ctx);
}

static bool is_live_in_pd(struct object *o, const void *pd)
{
	return o->life == LIVE && o->domain == pd;
}

static struct object *pin_one(struct walker *w, enum kind kind,
			      bool (*fits)(struct object *, const void *),
			      const void *arg)
{
	struct object *o;

	pthread_mutex_lock(&world.lock);
	o = find(w, kind, fits, arg);
	if (o)
		o->pins++;
	pthread_mutex_unlock(&world.lock);
	return o;
}

struct object *pin(struct walker *w, enum kind kind, const struct ibv_context *ctx)
{
	return pin_one(w, kind, is_live_in, ctx);
}

struct object *pin_in(struct walker *w, enum kind kind, const struct object *pd)
{
	return pin_one(w, kind, is_live_in_pd, pd);
}

void unpin(struct object *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&world.lock);
	MUST(o->pins);
	o->pins--;
	pthread_mutex_unlock(&world.lock);
}

struct object *begin(enum kind kind, struct ibv_context *ctx)
{
	struct object *o = NULL;

	pthread_mutex_lock(&world.lock);
	for (unsigned i = 0; i < SLOTS && !o; i++)
		if (world.object[kind][i].life == FREE)
			o = &world.object[kind][i];
	if (o) {
		o->life = ALONE;
		o->ctx = ctx;
	}
	pthread_mutex_unlock(&world.lock);
	return o;
}

void made(struct object *o, struct object *const parent[PARENTS])
{
	pthread_mutex_lock(&world.lock);
	MUST(o->life == ALONE && !o->pins && !o->children);
	o->life = LIVE;
	for (unsigned i = 0; i < PARENTS; i++) {
		o->parent[i] = parent[i];
		if (parent[i]) {
			MUST(parent[i]->pins);
			parent[i]->children++;
		}
	}
	pthread_mutex_unlock(&world.lock);
}

void not_made(struct object *o)
{
	pthread_mutex_lock(&world.lock);
	o->life = FREE;
	pthread_mutex_unlock(&world.lock);
}

static bool can_be_taken(struct object *o, const void *arg)
{
	(void)arg;
	if (o->life != LIVE || o->pins)
		return false;
	for (unsigned i = 0; i < PARENTS; i++)
		if (o->parent[i] && o->parent[i]->life != LIVE)
			return false;
	return true;
}

struct object *take(struct walker *w, enum kind kind)
{
	struct object *o;

	pthread_mutex_lock(&world.lock);
	o = find(w, kind, can_be_taken, NULL);
	if (o) {
		o->life = ALONE;
		for (unsigned i = 0; i < PARENTS; i++)
			if (o->parent[i])
				o->parent[i]->pins++;
	}
	pthread_mutex_unlock(&world.lock);
	return o;
}

void give_back(struct object *o, bool gone)
{
	pthread_mutex_lock(&world.lock);
	MUST(o->life == ALONE);
	o->life = gone ? FREE : LIVE;
	for (unsigned i = 0; i < PARENTS; i++) {
		struct object *p = o->parent[i];

		if (!p)
			continue;
		p->pins--;
		if (gone) {
			p->children--;
			o->parent[i] = NULL;
		}
	}
	pthread_mutex_unlock(&world.lock);
}
