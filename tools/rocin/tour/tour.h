/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour.h - the parts of `rocin tour`: what the stops are, a run of one, what is claimed
 * of it, how it is shown.
 *
 *	stops.c		the stops: words, settings, and what is claimed of a run
 *	run.c		runs the program of a stop, in a place of its own
 *	result.c	what happened: packets, TLPs, completions, memory
 *	page.c		a run as text, and for programs
 *	walk.c		one stop after the other, asking between them
 *	cmd_tour.c	the command line
 *
 * Threads: one.
 */
#ifndef RN_TOUR_H
#define RN_TOUR_H

#include <limits.h>
#include <stdio.h>

#include "tools/dump/watch.h"
#include "tools/rocin/dump/dump.h"
#include "transport/io/capture/capture_blocks.h"

/* ------------------------------------------------------------------ the stops */
/* A value that the reader may change: KEY=VALUE. */
struct rn_tour_setting {
	const char *key;
	const char *preset;
	const char *words; /* those that it may be, "a|b"; NULL: a number */
	uint32_t min, max; /* of a number */
	const char *knob;  /* of the PCIe layer that it sets, or NULL */
	const char *help;
};

enum {
	RN_TOUR_SETTINGS_MAX = 4,
	RN_TOUR_TRIES_MAX = 3,
	RN_TOUR_VALUE_MAX = 64,
};

/* Something to try. */
struct rn_tour_try {
	const char *words;   /* settings, "size=5000"; or NULL */
	const char *command; /* instead of them: what follows "rocin " */
	const char *see;     /* what to look for */
};

struct rn_tour_checks;
struct rn_tour_values;

struct rn_tour_stop {
	const char *name, *title;
	const char *what;   /* it is */
	const char *calls;  /* about the lines of C */
	const char *wire;   /* about the packets */
	const char *pcie;   /* about the TLPs */
	const char *memory; /* about before and after; NULL: there is no such picture */
	const char *knobs;  /* of the PCIe layer, but for those that settings name */
	struct rn_tour_setting setting[RN_TOUR_SETTINGS_MAX];
	struct rn_tour_try attempt[RN_TOUR_TRIES_MAX];
	/* The rule about faults, into @rule, for these values; NULL: none. */
	void (*fault)(const struct rn_tour_values *v, char *rule, size_t len);
	void (*check)(struct rn_tour_checks *c);
};

enum {
	RN_TOUR_STOPS = 8
};
extern const struct rn_tour_stop rn_tour_stops[RN_TOUR_STOPS];

/* Values of the settings of a stop. */
struct rn_tour_values {
	const struct rn_tour_stop *stop;
	char value[RN_TOUR_SETTINGS_MAX][RN_TOUR_VALUE_MAX];
	bool is_changed;
};

void rn_tour_presets(struct rn_tour_values *v, const struct rn_tour_stop *stop);

/* Take "KEY=VALUE ...". Return: 0 or -EINVAL with a sentence; @v is as before then. */
int rn_tour_set(struct rn_tour_values *v, const char *words, char *err, size_t err_len);

/* The value of a setting that the stop has. */
const char *rn_tour_word(const struct rn_tour_values *v, const char *key);
uint32_t rn_tour_number(const struct rn_tour_values *v, const char *key);

/* --------------------------------------------------------------------------- results */
/* What happened at a stop of `rocin tour`: packets, TLPs, completions,
 * memory.
 */

enum {
	RN_TOUR_TEXT_MAX = 48,
	RN_TOUR_SAMPLE_MAX = 64, /* hexadecimal digits, and more than are told */
	RN_TOUR_WCS_MAX = 8,
	RN_TOUR_MEMORIES_MAX = 8,
	RN_TOUR_VALUES_MAX = 24,
	RN_TOUR_RANGES_MAX = 4,
};

enum rn_tour_end {
	RN_TOUR_A,
	RN_TOUR_B
};

/* As it was sent. */
struct rn_tour_packet {
	enum rn_tour_end from;
	rn_ns at;	    /* since the stop began */
	struct rn_packet p; /* points into @frame */
	struct rn_watch_verdict verdict;
	char sender[RN_CAPTURE_COMMENT_MAX];   /* what the device that sent it said */
	char receiver[RN_CAPTURE_COMMENT_MAX]; /* and the other one; empty: nothing */
	bool is_received;
	uint64_t number; /* in the order of the capture */
	uint8_t *frame;	 /* with link header */
	uint32_t len;
};

/* A move of a TLP out of a queue. */
struct rn_tour_move {
	uint64_t seq;
	rn_ns at; /* since the stop began */
	char kind[16], from[16], to[16], queue[32];
	unsigned flags; /* enum rn_tlp_flag */
	uint64_t addr;
	uint32_t len;
};

struct rn_tour_wc {
	enum rn_tour_end end;
	char status[RN_TOUR_TEXT_MAX], opcode[RN_TOUR_TEXT_MAX];
	uint32_t bytes, vendor_err;
};

struct rn_tour_memory {
	char name[16], when[16]; /* "before", "after", "saw" */
	char hex[RN_TOUR_SAMPLE_MAX];
};

struct rn_tour_value {
	char name[32];
	uint64_t number;
};

struct rn_tour_range {
	char name[16];
	uint64_t addr, len;
};

struct rn_tour_result {
	uint64_t begin_real, begin_mono; /* ns */
	struct rn_tour_packet *packet;
	struct rn_tour_move *move;
	unsigned packets, moves, wcs, memories, values, ranges;
	struct rn_tour_wc wc[RN_TOUR_WCS_MAX];
	struct rn_tour_memory memory[RN_TOUR_MEMORIES_MAX];
	struct rn_tour_value value[RN_TOUR_VALUES_MAX];
	struct rn_tour_range range[RN_TOUR_RANGES_MAX];
	bool is_whole; /* the program has said all */
	struct rn_watch *watch;
};

/* What the program says: a line of tools/tour/lines.h without its newline. Return: 0;
 * -EPROTO: it is none; -ENOMEM; -ECANCELED: "error ...", whose sentence is in @err.
 */
int rn_tour_take_line(struct rn_tour_result *r, const char *line, char *err,
		      size_t err_len);

/* A packet that was captured, at either end. Return: 0 or -ENOMEM. */
int rn_tour_take_packet(struct rn_tour_result *r, enum rn_tour_end at,
			const struct rn_capture_packet *packet);

/* All is there: in the order of time, and looked at by a listener. Return: 0 or -ENOMEM.
 */
int rn_tour_finish(struct rn_tour_result *r);

void rn_tour_result_free(struct rn_tour_result *r);

/* A value, 0 if it was not told. */
uint64_t rn_tour_value(const struct rn_tour_result *r, const char *name);

/* ------------------------------------------------------------------- the place */
/* Where the tour runs, so that nothing of it is left: a runtime directory, and a rocind,
 * of its own.
 */
struct rn_tour_place {
	char dir[256];	  /* empty: not made */
	char netdevs[64]; /* two addresses that nobody uses */
	char program[PATH_MAX + 32];
};

/* Return: 0 or -errno with a sentence; rn_tour_leave() is wanted in either case. */
int rn_tour_enter(struct rn_tour_place *place, char *err, size_t err_len);

/* End rocind, remove the directory. */
void rn_tour_leave(struct rn_tour_place *place);

/* The PCIe layer of this run. */
const char *rn_tour_knobs(const struct rn_tour_values *v);

/* --------------------------------------------------------------------- a run */
/**
 * rn_tour_run() - Run a stop
 * @signals:	signalfd(2) whose signals end it
 * @out:	Out: what happened; rn_tour_result_free() in any case
 *
 * Return: 0; -EINTR: a signal, which @signals still holds; -errno with a sentence.
 */
int rn_tour_run(const struct rn_tour_place *place, const struct rn_tour_values *v,
		int signals, struct rn_tour_result *out, char *err, size_t err_len);

/* -------------------------------------------------------------------- the TLPs */
/* TLPs of one kind, from one place to another, about the same memory. */
struct rn_tour_row {
	const char *kind; /* "MWr" */
	const char *from, *to;
	const char *what; /* "B's buffer", "CQE of B", ... */
	uint32_t bytes, tlps;
	rn_ns first, last; /* when they were done: a write, visible; a read, taken */
};

enum {
	RN_TOUR_ROWS_MAX = 24
};

/* By when the last of each was done. Return: how many rows. */
unsigned rn_tour_rows(const struct rn_tour_result *r,
		      struct rn_tour_row row[RN_TOUR_ROWS_MAX]);

/* ------------------------------------------------------------------ the claims */
enum {
	RN_TOUR_CLAIMS_MAX = 12,
	RN_TOUR_CLAIM_MAX = 160,
};

struct rn_tour_checks {
	const struct rn_tour_values *v;
	const struct rn_tour_result *r;
	unsigned count;
	struct {
		bool is_so;
		char text[RN_TOUR_CLAIM_MAX];
	} claim[RN_TOUR_CLAIMS_MAX];
};

/* Fill @claim. Return: all of it is so. */
bool rn_tour_check(struct rn_tour_checks *c, const struct rn_tour_values *v,
		   const struct rn_tour_result *r);

/* -------------------------------------------------------------------- the page */
struct rn_tour_look {
	unsigned width; /* columns */
	bool has_colour;
	bool can_erase; /* a line that was begun */
	bool is_asking; /* keys are listened to */
	bool is_json;	/* for programs: nothing of all this */
};

/* Parts of a page, which a terminal may be too short for. */
enum {
	RN_TOUR_PART_TITLE,
	RN_TOUR_PART_CALLS,
	RN_TOUR_PART_WIRE,
	RN_TOUR_PART_PCIE, /* and memory */
	RN_TOUR_PART_CLAIMS,
	RN_TOUR_PART_TRIES,
	RN_TOUR_PARTS
};

/* Write one part; 0 is the first. The text ends with an empty line. */
void rn_tour_page(FILE *to, const struct rn_tour_look *look, unsigned part,
		  const struct rn_tour_checks *c);

/* "words, broken into lines" with @indent spaces before each. */
void rn_tour_wrap(FILE *to, const struct rn_tour_look *look, unsigned indent,
		  const char *text);

/* The same for programs: an object on a line. Return: 0 or -ENOMEM. */
int rn_tour_json(FILE *to, const struct rn_tour_checks *c);

/* -------------------------------------------------------------------- the walk */
/* Return: exit status. @first .. @last are numbers of stops, from 0; @words: settings of
 * the only one, or NULL.
 */
int rn_tour_walk(const struct rn_tour_look *look, unsigned first, unsigned last,
		 const char *words);

#endif /* RN_TOUR_H */
