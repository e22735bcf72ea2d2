/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace_internal.h - the watcher that turns what a model does into steps. */
#ifndef RN_LITMUS_TRACE_INTERNAL_H
#define RN_LITMUS_TRACE_INTERNAL_H

#include "trace.h"

/* TLPs on their way, to number them. */
struct rn_tracer {
	const struct rn_model_plan *plan;
	const struct rn_model *m;
	struct rn_trace *trace;
	uint16_t tlps; /* seen so far */
	unsigned known;
	struct {
		uint64_t tag;
		uint8_t node;
		bool is_write;
		uint16_t number;
	} tlp[RN_LITMUS_NODES * RN_MODEL_TLPS];
};

void rn_tracer_step(void *tracer, const struct rn_litmus_step *step,
		    const struct rn_tlp *tlp);

#endif /* RN_LITMUS_TRACE_INTERNAL_H */
