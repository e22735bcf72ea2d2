/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* find.c - counts what the rules find, and reports each finding once. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"
#include "rocin/hash.h"

/* ----------------------------------------------------------------- findings */
/* The number of occurrences of one finding. Occurrences of the same rule with the same
 * stack are one finding. If there is no stack, occurrences about the same object are one.
 * A leak has no call of its own, so it has the stack of the call that created the object.
 */
struct rn_val_count {
	struct rn_val_count *next; /* next entry in the same bucket */
	uint64_t key;
	enum rn_val_rule rule;
	bool is_suppressed;
	unsigned long long count;
};

static uint64_t key_of(uint32_t stack, const struct rn_val_object *object)
{
	return stack ? stack : (uint64_t)(object ? object->serial : 0) << 32;
}

static struct rn_val_count *count_of(struct rn_val *v, enum rn_val_rule rule,
				     uint64_t key)
{
	uint64_t hash = rn_hash_word(key ^ (uint64_t)rule << 52);
	struct rn_val_count **at = &v->count[(hash >> 32) % RN_VAL_BUCKETS], *c;

	for (c = *at; c; c = c->next)
		if (c->rule == rule && c->key == key)
			return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct rn_val_count){ .next = *at, .key = key, .rule = rule };
	*at = c;
	return c;
}

void rn_val_counts_free(struct rn_val *v)
{
	for (unsigned i = 0; i < RN_VAL_BUCKETS; i++) {
		struct rn_val_count *next;

		for (struct rn_val_count *c = v->count[i]; c; c = next) {
			next = c->next;
			free(c);
		}
	}
}

/* Counts a finding, and reports it if it is the first with its stack. The caller has set
 * the rule and the objects in @f.
 */
static void __attribute__((format(printf, 4, 0)))
report(struct rn_val *v, const struct rn_val_event *e, struct rn_val_finding f,
       const char *fmt, va_list ap)
{
	uint32_t stack = e->stack || !f.object ? e->stack : f.object->made_at;
	struct rn_val_count *c;
	char what[600];

	if (!(v->severities & 1U << rn_val_rule_info(f.rule)->severity))
		return;
	c = count_of(v, f.rule, key_of(stack, f.object));
	if (!c)
		return;
	if (c->count++) {
		*(c->is_suppressed ? &v->totals.suppressed_occurrences
				   : &v->totals.occurrences) += 1;
		return;
	}
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	f.stack = e->stack;
	f.what = what;
	f.count = 1;
	c->is_suppressed = !v->sink(v->arg, &f);
	v->totals.findings += !c->is_suppressed;
	v->totals.occurrences += !c->is_suppressed;
	v->totals.suppressed += c->is_suppressed;
	v->totals.suppressed_occurrences += c->is_suppressed;
}

void rn_val_find(struct rn_val *v, const struct rn_val_event *e, enum rn_val_rule rule,
		 const struct rn_val_object *object, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(v, e, (struct rn_val_finding){ .rule = rule, .object = object }, fmt, ap);
	va_end(ap);
}

void rn_val_find2(struct rn_val *v, const struct rn_val_event *e, enum rn_val_rule rule,
		  const struct rn_val_object *object, const struct rn_val_object *other,
		  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(v, e,
	       (struct rn_val_finding){ .rule = rule, .object = object, .other = other },
	       fmt, ap);
	va_end(ap);
}

struct rn_val_totals rn_val_totals(const struct rn_val *v)
{
	return v->totals;
}
