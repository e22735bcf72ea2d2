/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_recording.c - recorded runs, and the transport run on what they say.
 *
 * Whatever a file says, the player must not ask of the core what the core forbids its
 * callers: an assertion ends this program.
 */
#include "sim/replay/player.h"
#include "sim/replay/record_text.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_terminated(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

static void trace(void *arg, uint64_t call, const struct rn_rec *rec)
{
	char text[300];

	(void)arg;
	(void)call;
	rn_rec_text(rec, text, sizeof(text));
	require(is_terminated(text, sizeof(text)) && text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rn_replay_cfg cfg = { .trace = trace, .max_memory = 32 << 20 };
	struct rn_replay_result r;

	rn_replay(data, size, &cfg, &r);
	require(is_terminated(r.why, sizeof(r.why)));
	require(is_terminated(r.recorded, sizeof(r.recorded)));
	require(is_terminated(r.replayed, sizeof(r.replayed)));
	require((r.end == RN_REPLAY_SAME) == !r.why[0]);
	require(r.fields <= RN_REPLAY_FIELDS);
	return 0;
}
