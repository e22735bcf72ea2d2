/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_layer.c - the layer between devices and memory, in each run. */
#include <string.h>

#include "live.h"

int rn_live_set_layer(struct rn_live *l)
{
	struct rn_pcie_knobs knobs = l->request->setup.knobs;
	int rc;

	if (!l->lib.handle || knobs.place == RN_PLACE_NOW)
		return 0;
	/* What may happen does not depend on who chooses, what does happen very much:
	 * each of the two shows what the other hardly does.
	 */
	knobs.driver = l->shared->seed & 1 ? RN_DRIVER_RANDOM : RN_DRIVER_ADVERSARIAL;
	knobs.seed = l->shared->seed;
	knobs.hold_ns = RN_LIVE_HOLD_NS;
	rc = l->lib.rn_pcie_set_knobs(&knobs);
	if (!rc && !l->has_trace)
		rc = l->lib.rn_pcie_trace_start(RN_LIVE_MOVES);
	l->has_trace = true;
	return rc ? rn_live_fail(l, "rn_pcie_set_knobs: %s", strerror(-rc)) : 0;
}
