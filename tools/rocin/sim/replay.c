/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* replay.c - `rocin sim --replay FILE': gives the recorded inputs of a device to the
 * transport again, in virtual time, and compares its outputs with the recorded ones.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"
#include "sim/replay/player.h"
#include "sim/replay/record_text.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"
#include "tools/rocin/common/progress.h"

enum {
	TEXT_MAX = 1024,
};

struct replay {
	const struct rn_sim_replay *args;
	rn_ns first;
	struct rn_progress progress;
};

/* --------------------------------------------------------------- trace and progress */
static void trace(void *arg, uint64_t call, const struct rn_rec *rec)
{
	struct replay *r = arg;
	enum rn_rec_class class = rn_rec_info[rec->kind].class;
	char text[TEXT_MAX];

	if (r->first == 0)
		r->first = rec->now;
	if (rec->kind == RN_REC_DONE || (rec->kind == RN_REC_RESULT && !rec->result))
		return;
	rn_rec_text(rec, text, sizeof(text));
	if (class == RN_REC_CALL || class == RN_REC_LONE) {
		printf("%8llu ", (unsigned long long)call);
		if (rec->now)
			printf("%+14.3f us", (double)(rec->now - r->first) / 1000);
		else
			printf("%17s", "");
		printf("  %s\n", text);
	} else {
		printf("%28s  %s\n", "", text);
	}
}

static void progress(void *arg, uint64_t at, uint64_t len)
{
	struct replay *r = arg;

	rn_progress_show(&r->progress, "%u %% of the recording",
			 (unsigned)(at * 100 / len));
}

/* ------------------------------------------------------------- report of the result */
static void print_header(const struct rn_rec_header *h)
{
	printf("Recorded by process %u:", h->pid);
	for (uint32_t i = 0; i < h->command_len;) {
		const char *word = (const char *)h->command + i;
		size_t len = strnlen(word, h->command_len - i);

		printf(" %.*s", (int)len, word);
		i += (uint32_t)len + 1;
	}
	if (h->fault_len)
		printf("\nwith ROCIN_FAULT=%.*s", (int)h->fault_len,
		       (const char *)h->fault);
	printf("\n");
}

static void print_difference(const struct rn_replay_result *r)
{
	printf("%s, at byte %llu of the file:\n", r->why, (unsigned long long)r->at);
	printf("    recorded: %s\n    replayed: %s\n",
	       r->recorded[0] ? r->recorded : "nothing",
	       r->replayed[0] ? r->replayed : "nothing");
	for (unsigned i = 0; i < r->fields; i++)
		printf("    %-12s recorded %s, replayed %s\n", r->field[i].name,
		       r->field[i].recorded, r->field[i].replayed);
}

static void print_sum(const struct rn_replay_result *r)
{
	printf("%llu calls, %llu packets in, %llu packets out, %llu completions, "
	       "%llu accesses to memory, %.3f ms\n",
	       (unsigned long long)r->calls, (unsigned long long)r->packets_in,
	       (unsigned long long)r->packets_out, (unsigned long long)r->completions,
	       (unsigned long long)r->accesses, (double)(r->last - r->first) / 1e6);
	if (r->cut_off)
		printf("The recording ends within a call: the program was ended "
		       "there.\n");
	if (r->limited)
		printf("The recording reached its limit; the run went on.\n");
}

static int report_result(const struct rn_sim_replay *args,
			 const struct rn_replay_result *r)
{
	switch (r->end) {
	case RN_REPLAY_SAME:
		printf("The same: ");
		print_sum(r);
		return 0;
	case RN_REPLAY_DIFFERENT:
		print_difference(r);
		return RN_EXIT_FAILURE;
	case RN_REPLAY_BROKEN:
		if (r->calls)
			rn_complain("%s: %s (call %llu, byte %llu)", args->file, r->why,
				    (unsigned long long)r->calls,
				    (unsigned long long)r->at);
		else
			rn_complain("%s: %s", args->file, r->why);
		return RN_EXIT_FAILURE;
	case RN_REPLAY_NO_MEMORY:
		rn_complain("%s: %s", args->file, r->why);
		return RN_EXIT_FAILURE;
	}
	return RN_EXIT_FAILURE;
}

static int report_json(const struct rn_replay_result *r)
{
	static const char *const ends[] = { "same", "different", "broken", "no memory" };
	json_t *fields = json_array(), *all;

	for (unsigned i = 0; i < r->fields; i++)
		json_array_append_new(fields, json_pack("{s:s, s:s, s:s}", "name",
							r->field[i].name, "recorded",
							r->field[i].recorded, "replayed",
							r->field[i].replayed));
	all = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "end",
			ends[r->end], "why", r->why, "calls", (json_int_t)r->calls,
			"byte", (json_int_t)r->at, "packets_in",
			(json_int_t)r->packets_in, "packets_out",
			(json_int_t)r->packets_out, "completions",
			(json_int_t)r->completions, "accesses", (json_int_t)r->accesses,
			"ns", (json_int_t)(r->last - r->first), "cut_off", r->cut_off,
			"limited", r->limited);
	if (r->end == RN_REPLAY_DIFFERENT)
		json_object_update_new(all, json_pack("{s:s, s:s, s:O}", "recorded",
						      r->recorded, "replayed",
						      r->replayed, "fields", fields));
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(fields);
	json_decref(all);
	return r->end == RN_REPLAY_SAME ? 0 : RN_EXIT_FAILURE;
}

/* --------------------------------------------------------------- running the replay */
/* Signal handler: prints that an assertion of the transport has ended the replay, as it
 * ended the recorded run.
 */
static void on_abort(int number)
{
	static const char words[] =
		"rocin sim: an assertion failed in the last call; --trace shows it\n";

	(void)number;
	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		_exit(RN_EXIT_FAILURE);
}

static int replay(const struct rn_sim_replay *args, const uint8_t *data, size_t len)
{
	struct replay r = { .args = args };
	const struct rn_replay_cfg cfg = { .until = args->until,
					   .trace = args->trace ? trace : NULL,
					   .progress = progress,
					   .arg = &r };
	struct rn_replay_result result;
	struct rn_rec_header h;

	if (!args->json && rn_rec_get_header(data, len, &h) > 0)
		print_header(&h);
	if (args->trace)
		/* Standard output gets line buffering, so that no line of the trace is
		 * lost if an assertion ends the program.
		 */
		setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGABRT, on_abort);
	rn_progress_begin(&r.progress, !args->trace);
	rn_replay(data, len, &cfg, &result);
	rn_progress_erase(&r.progress);
	return args->json ? report_json(&result) : report_result(args, &result);
}

int rn_sim_replay(const struct rn_sim_replay *args)
{
	char *data;
	ssize_t len = rn_file_read(args->file, SIZE_MAX / 4, &data);
	int status;

	if (len <= 0) {
		rn_complain("%s: %s", args->file,
			    len ? strerror((int)-len) : "it is not a recorded run");
		free(data);
		return RN_EXIT_FAILURE;
	}
	status = replay(args, (const uint8_t *)data, (size_t)len);
	free(data);
	return status;
}
