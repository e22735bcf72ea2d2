/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour.h - declarations shared by the files of `rocin tour`. A stop is a step of the
 * tour: a program that is run, its explanation, and its result.
 *
 * stops.c	the stops: texts, settings, and claims about a run
 * run.c	runs the program of a stop with its own rocind and addresses
 * result.c	the result of a run: packets, TLPs, completions, memory
 * page.c	shows a run as text or JSON
 * walk.c	visits one stop after the other, and asks for keys between them
 * cmd_tour.c	the command line
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

/* ----------------------------------------------------- the stops and their settings */
/* A setting that the user may change: KEY=VALUE. */
struct rn_tour_setting {
	const char *key;
	const char *preset;
	/* possible values, in the form "a|b"; NULL: the value is a number */
	const char *words;
	uint32_t min, max; /* range, if the setting is a number */
	/* name of the PCIe setting (knob) that has this value, or NULL */
	const char *knob;
	const char *help;
};

enum {
	RN_TOUR_SETTINGS_MAX = 4,
	RN_TOUR_TRIES_MAX = 3,
	RN_TOUR_VALUE_MAX = 64,
};

/* An experiment that the tour suggests at the end of a stop (step of the tour). */
struct rn_tour_try {
	const char *words; /* settings to try, such as "size=5000"; or NULL */
	/* a command to try instead, as the arguments of rocin; or NULL */
	const char *command;
	/* the result that the user will see in this experiment */
	const char *see;
};

struct rn_tour_checks;
struct rn_tour_values;

struct rn_tour_stop {
	const char *name, *title;
	const char *what; /* text about the subject of the stop (step of the tour) */
	/* text that explains the C code of the stop (step of the tour) */
	const char *calls;
	const char *wire; /* text about the packets sent */
	const char *pcie; /* text about the TLPs */
	/* Text that explains the contents of memory before and after the run. NULL:
	 * memory is not shown.
	 */
	const char *memory;
	/* PCIe settings (knobs), except those that the user may change */
	const char *knobs;
	struct rn_tour_setting setting[RN_TOUR_SETTINGS_MAX];
	struct rn_tour_try attempt[RN_TOUR_TRIES_MAX];
	/* Writes to @rule the fault rule (`rocin fault') that is active during a run with
	 * these settings. NULL: the stop needs no fault rule.
	 */
	void (*fault)(const struct rn_tour_values *v, char *rule, size_t len);
	void (*check)(struct rn_tour_checks *c);
};

enum {
	RN_TOUR_STOPS = 8
};
extern const struct rn_tour_stop rn_tour_stops[RN_TOUR_STOPS];

/* The values of a stop's settings, KEY=VALUE. A stop is a step of the tour. */
struct rn_tour_values {
	const struct rn_tour_stop *stop;
	char value[RN_TOUR_SETTINGS_MAX][RN_TOUR_VALUE_MAX];
	bool is_changed;
};

void rn_tour_presets(struct rn_tour_values *v, const struct rn_tour_stop *stop);

/* Parses "KEY=VALUE ..." and sets these values in @v. Returns 0, or -EINVAL with an error
 * text in @err and @v unchanged.
 */
int rn_tour_set(struct rn_tour_values *v, const char *words, char *err, size_t err_len);

/* Return the value of the setting @key: rn_tour_word() as text, rn_tour_number() as a
 * number. The stop (step of the tour) must have this setting.
 */
const char *rn_tour_word(const struct rn_tour_values *v, const char *key);
uint32_t rn_tour_number(const struct rn_tour_values *v, const char *key);

/* ------------------------------------------------------------- the result of a stop */
/* The result of a stop (step of the tour): packets, TLPs, completions, memory. */

enum {
	RN_TOUR_TEXT_MAX = 48,
	/* maximum number of hexadecimal digits of a sample of memory; the program prints
	 * fewer
	 */
	RN_TOUR_SAMPLE_MAX = 64,
	RN_TOUR_WCS_MAX = 8,
	RN_TOUR_MEMORIES_MAX = 8,
	RN_TOUR_VALUES_MAX = 24,
	RN_TOUR_RANGES_MAX = 4,
};

enum rn_tour_end {
	RN_TOUR_A,
	RN_TOUR_B
};

/* A packet of the run. The list has it only once, as its sender has captured it. */
struct rn_tour_packet {
	enum rn_tour_end from;
	rn_ns at;	    /* time since the stop (step of the tour) began */
	struct rn_packet p; /* the parsed packet, whose data is in @frame */
	struct rn_watch_verdict verdict;
	/* What the sending device has reported about the packet; empty: nothing. */
	char sender[RN_CAPTURE_COMMENT_MAX];
	/* What the receiving device has reported about the packet; empty: nothing. */
	char receiver[RN_CAPTURE_COMMENT_MAX];
	bool is_received;
	uint64_t number; /* position of the packet in the capture */
	uint8_t *frame;	 /* bytes of the packet, beginning with the link header */
	uint32_t len;
};

/* A movement of a simulated TLP out of a PCIe queue. */
struct rn_tour_move {
	uint64_t seq;
	rn_ns at; /* time since the stop (step of the tour) began */
	char kind[16], from[16], to[16], queue[32];
	unsigned flags;	  /* bits of enum rn_tlp_flag */
	unsigned purpose; /* enum rn_pcie_purpose */
	uint64_t addr;
	uint32_t len;
};

struct rn_tour_wc {
	enum rn_tour_end end;
	char status[RN_TOUR_TEXT_MAX], opcode[RN_TOUR_TEXT_MAX];
	uint32_t bytes, vendor_err;
};

struct rn_tour_memory {
	char name[16], when[16]; /* when: "before", "after" or "saw" */
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
	/* start of the stop (step of the tour) by both clocks, in ns */
	uint64_t begin_real, begin_mono;
	struct rn_tour_packet *packet;
	struct rn_tour_move *move;
	unsigned packets, moves, wcs, memories, values, ranges;
	struct rn_tour_wc wc[RN_TOUR_WCS_MAX];
	struct rn_tour_memory memory[RN_TOUR_MEMORIES_MAX];
	struct rn_tour_value value[RN_TOUR_VALUES_MAX];
	struct rn_tour_range range[RN_TOUR_RANGES_MAX];
	bool is_whole; /* the program has printed its last line, "end" */
	struct rn_watch *watch;
};

/* Parses a line that the program has printed, and stores its contents. @line: a line in
 * the format of tools/tour/lines.h, without its newline. Returns 0; -EPROTO if the format
 * is wrong; -ENOMEM; or -ECANCELED for a line "error ...", with its text in @err.
 */
int rn_tour_take_line(struct rn_tour_result *r, const char *line, char *err,
		      size_t err_len);

/* Stores a packet that was captured by the device @at (A or B). Returns 0 or -ENOMEM. */
int rn_tour_take_packet(struct rn_tour_result *r, enum rn_tour_end at,
			const struct rn_capture_packet *packet);

/* Called when all packets of the run are stored. Sorts them by time, and checks them by
 * rn_watch_packet(). Returns 0 or -ENOMEM.
 */
int rn_tour_finish(struct rn_tour_result *r);

void rn_tour_result_free(struct rn_tour_result *r);

/* Returns a number that the program has printed under this name; 0 if it has printed
 * none.
 */
uint64_t rn_tour_value(const struct rn_tour_result *r, const char *name);

/* ------------------------------------------------ directory and addresses of the tour */
/* The runtime directory and the addresses of the tour, which has a rocind of its own.
 * rn_tour_leave() ends the rocind and removes the directory.
 */
struct rn_tour_place {
	char dir[256];	  /* path of the directory; empty: none was made */
	char netdevs[64]; /* two addresses that are not in use */
	char program[PATH_MAX + 32];
};

/* Makes the directory and chooses addresses. Returns 0, or -errno with an error text in
 * @err. The caller must call rn_tour_leave() in both cases.
 */
int rn_tour_enter(struct rn_tour_place *place, char *err, size_t err_len);

/* Ends rocind and removes the directory. */
void rn_tour_leave(struct rn_tour_place *place);

/* Returns the PCIe settings (knobs) for a run with these settings, as text. */
const char *rn_tour_knobs(const struct rn_tour_values *v);

/* -------------------------------------------------------------------- running a stop */
/**
 * rn_tour_run() - Run a stop
 * @signals:	signalfd(2) with the signals that end the run
 * @out:	Out: the result; rn_tour_result_free() must be called in any case
 *
 * Return: 0; -EINTR if a signal came, which can still be read from @signals; or -errno
 *	with an error text in @err.
 */
int rn_tour_run(const struct rn_tour_place *place, const struct rn_tour_values *v,
		int signals, struct rn_tour_result *out, char *err, size_t err_len);

/* --------------------------------------------------------------------- rows of TLPs */
/* A row of the table of TLPs. It combines all TLPs of one kind that go from the same
 * source to the same target and access the same memory.
 */
struct rn_tour_row {
	const char *kind; /* kind of the TLPs, such as "MWr" */
	const char *from, *to;
	/* the memory that the TLPs access, such as "B's buffer" or "CQE of B" */
	const char *what;
	uint32_t bytes, tlps;
	/* Times at which the first and the last of these TLPs were performed. When a
	 * write is performed, it becomes visible; when a read is performed, it gets its
	 * bytes.
	 */
	rn_ns first, last;
};

enum {
	RN_TOUR_ROWS_MAX = 24
};

/* Combines the TLPs of the run into rows, sorted by the time when the last TLP of each
 * row was performed. Returns the number of rows.
 */
unsigned rn_tour_rows(const struct rn_tour_result *r,
		      struct rn_tour_row row[RN_TOUR_ROWS_MAX]);

/* ----------------------------------------------------------------- claims of a stop */
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

/* Checks the claims of a stop (step of the tour), and stores them in @c. Returns true if
 * all of them are true.
 */
bool rn_tour_check(struct rn_tour_checks *c, const struct rn_tour_values *v,
		   const struct rn_tour_result *r);

/* --------------------------------------------------------------- the page of a stop */
struct rn_tour_look {
	unsigned width; /* number of columns of a line */
	bool has_colour;
	bool can_erase; /* the terminal can erase a line that was printed */
	bool is_asking; /* the tour waits for a key between the parts of a page */
	bool is_json;	/* output is JSON; the other fields do not matter */
};

/* Parts of the page of a stop (step of the tour). If the terminal is too small for the
 * page, the tour pauses between parts.
 */
enum {
	RN_TOUR_PART_TITLE,
	RN_TOUR_PART_CALLS,
	RN_TOUR_PART_WIRE,
	RN_TOUR_PART_PCIE, /* PCIe and memory */
	RN_TOUR_PART_CLAIMS,
	RN_TOUR_PART_TRIES,
	RN_TOUR_PARTS
};

/* Writes part number @part of the page. The text ends with an empty line. */
void rn_tour_page(FILE *to, const struct rn_tour_look *look, unsigned part,
		  const struct rn_tour_checks *c);

/* Writes text with line breaks between words, each line indented by @indent spaces. */
void rn_tour_wrap(FILE *to, const struct rn_tour_look *look, unsigned indent,
		  const char *text);

/* Writes the result of the stop (step of the tour) as JSON, in one line. Returns 0 or
 * -ENOMEM.
 */
int rn_tour_json(FILE *to, const struct rn_tour_checks *c);

/* -------------------------------------------------------- walking through the stops */
/* Runs and shows the stops from number @first to number @last, counted from 0. @words:
 * settings as "KEY=VALUE ...", which are allowed for a single stop only; or NULL. Returns
 * the exit status.
 */
int rn_tour_walk(const struct rn_tour_look *look, unsigned first, unsigned last,
		 const char *words);

#endif /* RN_TOUR_H */
