/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.c - takes events, and asks the rules of all categories. */
#include <stdlib.h>

#include "model.h"

struct rn_val *rn_val_new(unsigned severities, rn_val_sink *sink, void *arg)
{
	struct rn_val *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->severities = severities;
	v->sink = sink;
	v->arg = arg;
	return v;
}

void rn_val_set_probe(struct rn_val *v, rn_val_probe *is_mapped)
{
	v->is_mapped = is_mapped;
}

void rn_val_free(struct rn_val *v)
{
	rn_val_model_free(v);
	rn_val_counts_free(v);
	free(v);
}

void rn_val_event(struct rn_val *v, struct rn_val_event *e)
{
	static void (*const checks[])(struct rn_val *, const struct rn_val_event *) = {
#define X(symbol, name, what) rn_val_check_##name,
		RN_VAL_CATEGORIES(X)
#undef X
	};

	rn_val_model_before(v, e);
	for (unsigned i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		checks[i](v, e);
	rn_val_model_after(v, e);
}
