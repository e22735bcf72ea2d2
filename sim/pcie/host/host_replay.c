/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_replay.c - records the choices of a run (record=FILE) and repeats
 * them (driver=replay).
 *
 * An event is a call of the program that issues TLPs, forces them or polls a ring. Events
 * are numbered. A choice is what the fabric's driver decides: which TLP moves. A recorded
 * choice consists of the number of the last event before it and the number of the moved
 * TLP in the order of issue. So a replay need not make a choice at the same time as the
 * recorded run did, only between the same two events. Choices of the bus thread are
 * repeated before the next event at the latest. If a program of one thread makes the same
 * calls as in the recorded run, its TLPs move in the same way. If its calls differ, the
 * replay says so on standard error, and the run continues with random choices.
 *
 *	rocin choices 1
 *	knobs MODE[,KNOB=VALUE]...	 without driver, seed, bounds and files
 *	EVENT TLP [f][t]		 f: forced, held for long enough; t: by time
 *	EVENT end
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_internal.h"

enum {
	LINE_MAX_BYTES = 64,
	/* After this many calls of rn_host_replay_tick() without progress, which is after
	 * about a second, the replay ends.
	 */
	STUCK_TICKS = 20000,
	QUIET_NS = 1000 * 1000,
};

static const char first_line[] = "rocin choices 1\n";

struct rn_host_choice {
	uint64_t event, seq;
	bool is_forced, by_time;
};

/* ---------------------------------------------------- writing a recording */
static void write_out(struct rn_host_tape *t)
{
	for (size_t at = 0; t->fd >= 0 && at < t->used;) {
		ssize_t n = write(t->fd, t->text + at, t->used - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fprintf(stderr, "rocin: record: %s\n", strerror(errno));
			close(t->fd);
			t->fd = -1;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	t->used = 0;
}

void rn_host_record_flush(struct rn_host *h)
{
	if (h->tape.used > 0)
		write_out(&h->tape);
}

static void add_line(struct rn_host_tape *t, const char *line)
{
	size_t len = strlen(line);

	if (len > sizeof(t->text) - t->used)
		write_out(t);
	memcpy(t->text + t->used, line, len);
	t->used += len;
}

void rn_host_record(struct rn_host *h, unsigned index, bool is_forced)
{
	struct rn_host_tape *t = &h->tape;
	char line[LINE_MAX_BYTES];

	if (t->fd < 0)
		return;
	snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 "%s%s%s\n", t->events,
		 rn_fabric_tlp(h->fabric, index)->seq, is_forced || h->by_time ? " " : "",
		 is_forced ? "f" : "", h->by_time ? "t" : "");
	add_line(t, line);
}

static void end_record(struct rn_host *h)
{
	char line[LINE_MAX_BYTES];

	if (h->tape.fd < 0)
		return;
	snprintf(line, sizeof(line), "%" PRIu64 " end\n", h->tape.events);
	add_line(&h->tape, line);
	write_out(&h->tape);
	close(h->tape.fd);
	h->tape.fd = -1;
}

static void at_exit(void)
{
	struct rn_host *h = rn_host_is_forked() ? NULL : rn_host_get();

	if (!h)
		return;
	rn_host_lock(h);
	end_record(h);
	rn_host_unlock(h);
}

/* ---------------------------------------------- opening and reading files */
/* Formats the knobs that decide what a TLP does and which route it takes. Leaves out the
 * knobs that choose the driver or limit how long TLPs are held, because a replay may set
 * these as it likes.
 */
static void format_knobs(const struct rn_pcie_knobs *knobs, char *line, size_t len)
{
	struct rn_pcie_knobs k = *knobs, preset;
	char text[1024];

	rn_pcie_preset(&preset, k.mode);
	k.driver = preset.driver;
	k.seed = preset.seed;
	k.hold_ns = preset.hold_ns;
	k.hold_polls = preset.hold_polls;
	memset(k.replay, 0, sizeof(k.replay));
	memset(k.record, 0, sizeof(k.record));
	rn_pcie_format(&k, text, sizeof(text));
	snprintf(line, len, "knobs %s\n", text);
}

static int open_record(const struct rn_pcie_knobs *k, struct rn_host_tape *t, char *err,
		       size_t err_len)
{
	static bool is_registered; /* guarded by the host lock */
	char line[1100];

	/* With O_NONBLOCK a FIFO without a reader gives an error and does not block. */
	t->fd = open(k->record, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK,
		     0666);
	if (t->fd < 0 || fcntl(t->fd, F_SETFL, 0) < 0) {
		int error = errno;

		snprintf(err, err_len, "record=%s: %s", k->record, strerror(error));
		return -error;
	}
	if (!is_registered)
		atexit(at_exit);
	is_registered = true;
	format_knobs(k, line, sizeof(line));
	add_line(t, first_line);
	add_line(t, line);
	return 0;
}

/* Parses a line of a recording. Returns 1 if it is a choice, 0 if it is the end line,
 * or -EPROTO.
 */
static int read_line(const char *line, struct rn_host_choice *c)
{
	static const char *const marks[] = { "\n", " f\n", " t\n", " ft\n" };
	int n = 0;

	*c = (struct rn_host_choice){ 0 };
	if (sscanf(line, "%" SCNu64 " end%n", &c->event, &n) == 1 && n > 0)
		return strcmp(line + n, "\n") == 0 ? 0 : -EPROTO;
	if (sscanf(line, "%" SCNu64 " %" SCNu64 "%n", &c->event, &c->seq, &n) != 2)
		return -EPROTO;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(marks); i++) {
		if (strcmp(line + n, marks[i]) != 0)
			continue;
		c->is_forced = i & 1;
		c->by_time = i & 2;
		return 1;
	}
	return -EPROTO;
}

static int add_choice(struct rn_host_tape *t, const struct rn_host_choice *c)
{
	uint32_t room = t->room ? 2 * t->room : 256;
	struct rn_host_choice *more;

	if (t->count == t->room) {
		more = realloc(t->choices, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->choices = more;
		t->room = room;
	}
	t->choices[t->count++] = *c;
	return 0;
}

static int read_choices(FILE *file, struct rn_host_tape *t)
{
	char line[LINE_MAX_BYTES];
	struct rn_host_choice c;
	uint64_t event = 0;
	int rc = 1;

	while (rc == 1 && fgets(line, sizeof(line), file)) {
		if (!strchr(line, '\n'))
			/* The last line is incomplete, because the recorded run was
			 * killed while it wrote the line.
			 */
			break;
		rc = read_line(line, &c);
		if (rc >= 0 && c.event < event)
			rc = -EPROTO;
		event = c.event;
		t->end = event;
		if (rc == 1 && add_choice(t, &c))
			rc = -ENOMEM;
	}
	if (rc == 0 && fgets(line, sizeof(line), file))
		rc = -EPROTO;
	return rc < 0 ? rc : 0;
}

/* Opens a regular file or /dev/null. On failure returns NULL and sets errno. */
static FILE *open_replay(const char *name, bool *is_null)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = { 0 }, null;
	FILE *file = NULL;
	int error;

	if (fd < 0)
		return NULL;
	*is_null = false;
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		*is_null = S_ISCHR(st.st_mode) && stat("/dev/null", &null) == 0 &&
			   st.st_rdev == null.st_rdev;
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	}
	if (*is_null || S_ISREG(st.st_mode))
		file = fdopen(fd, "r");
	if (file)
		return file;
	error = errno;
	close(fd);
	errno = error;
	return NULL;
}

static int read_replay(const struct rn_pcie_knobs *k, struct rn_host_tape *t, char *err,
		       size_t err_len)
{
	char line[1100] = "", knobs[1100];
	FILE *file = open_replay(k->replay, &t->is_frozen);
	int rc = 0;

	if (!file) {
		rc = -errno;
		snprintf(err, err_len, "replay=%s: %s", k->replay,
			 rc == -EINVAL ? "not a regular file" : strerror(-rc));
		return rc;
	}
	format_knobs(k, knobs, sizeof(knobs));
	if (t->is_frozen) {
		; /* replay=/dev/null: there are no recorded choices to read */
	} else if (!fgets(line, sizeof(line), file) || strcmp(line, first_line) != 0) {
		snprintf(err, err_len, "replay=%s: not a file of choices, version 1",
			 k->replay);
		rc = -EPROTO;
	} else if (!fgets(line, sizeof(line), file) || strcmp(line, knobs) != 0) {
		line[strcspn(line, "\n")] = 0;
		snprintf(err, err_len, "replay=%s: recorded with other knobs: %s",
			 k->replay, line);
		rc = -EPROTO;
	} else {
		rc = read_choices(file, t);
		if (rc)
			snprintf(err, err_len, "replay=%s: %s", k->replay,
				 rc == -ENOMEM ? "no memory" : "a line is no choice");
	}
	fclose(file);
	return rc;
}

int rn_host_tape_open(const struct rn_pcie_knobs *k, struct rn_host_tape *t, char *err,
		      size_t err_len)
{
	int rc = 0;

	*t = (struct rn_host_tape){ .fd = -1 };
	if (k->driver == RN_DRIVER_REPLAY)
		rc = read_replay(k, t, err, err_len);
	t->is_on = k->record[0] || k->driver == RN_DRIVER_REPLAY;
	t->is_replaying = rc == 0 && k->driver == RN_DRIVER_REPLAY && !t->is_frozen;
	if (!rc && k->record[0])
		rc = open_record(k, t, err, err_len);
	if (rc)
		rn_host_tape_close(t);
	return rc;
}

void rn_host_tape_close(struct rn_host_tape *t)
{
	free(t->choices);
	t->choices = NULL;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

void rn_host_tape_insert(struct rn_host *h, const struct rn_host_tape *t)
{
	end_record(h);
	rn_host_tape_close(&h->tape);
	h->tape = *t;
}

/* ------------------------------------------------------ repeating choices */
static void go_on_at_random(struct rn_host *h)
{
	struct rn_pcie_knobs k = *rn_host_knobs(h);

	k.driver = RN_DRIVER_RANDOM;
	rn_driver_init(&h->driver, &k);
	h->tape.is_replaying = false;
}

void rn_host_replay_resume(struct rn_host *h)
{
	if (h->driver.kind == RN_DRIVER_REPLAY && !h->tape.is_replaying &&
	    !h->tape.is_frozen)
		go_on_at_random(h);
}

static void report_divergence(struct rn_host *h)
{
	fprintf(stderr,
		"rocin: replay: the program does not do what it did (choice %u of %u); "
		"it goes on at random\n",
		h->tape.next + 1, h->tape.count);
	go_on_at_random(h);
}

static unsigned find_tlp_by_seq(const struct rn_fabric *f, uint64_t seq)
{
	unsigned i = rn_fabric_oldest(f);

	while (i != RN_TLP_NONE && rn_fabric_tlp(f, i)->seq < seq)
		i = rn_fabric_younger(f, i);
	return i != RN_TLP_NONE && rn_fabric_tlp(f, i)->seq == seq ? i : RN_TLP_NONE;
}

/* Repeats a recorded choice: moves that TLP. Returns false if the TLP cannot move now. */
static bool make_choice(struct rn_host *h, const struct rn_host_choice *c)
{
	unsigned index = find_tlp_by_seq(h->fabric, c->seq);

	if (index == RN_TLP_NONE ||
	    (!c->is_forced && !rn_fabric_movable(h->fabric, index)))
		return false;
	rn_host_move(h, index, c->is_forced);
	return true;
}

void rn_host_replay(struct rn_host *h, bool by_time)
{
	struct rn_host_tape *t = &h->tape;
	bool was_by_time = h->by_time;

	/* The recording of a replay shows with each choice whether the bus thread made
	 * it, as the replayed recording does.
	 */
	h->by_time = by_time;
	while (t->is_replaying && t->next < t->count) {
		const struct rn_host_choice *c = &t->choices[t->next];

		if (c->event > t->events ||
		    (c->event == t->events && c->by_time != by_time))
			break;
		if (c->event < t->events || !make_choice(h, c)) {
			report_divergence(h);
			break;
		}
		t->next++;
		t->idle_ticks = 0;
	}
	h->by_time = was_by_time;
}

/* Returns true if the bus thread may move TLPs now. During a recording it may only if the
 * program has made no call for QUIET_NS. While the program makes calls, it depends on
 * chance which call first sees the effect of such a move, and a replay could not repeat
 * that. A program that has made no call for QUIET_NS is taken to wait for the effect.
 */
bool rn_host_may_time_move(const struct rn_host *h, rn_ns now)
{
	return h->tape.fd < 0 || now - h->tape.last_event >= QUIET_NS;
}

void rn_host_event(struct rn_host *h)
{
	struct rn_host_tape *t = &h->tape;

	if (h->by_time)
		return;
	t->events++;
	t->idle_ticks = 0;
	if (t->fd >= 0)
		t->last_event = rn_host_now();
	if (t->is_replaying && t->next == t->count && t->events > t->end)
		go_on_at_random(h);
}

void rn_host_replay_tick(struct rn_host *h, bool is_time_due)
{
	struct rn_host_tape *t = &h->tape;

	rn_host_replay(h, true);
	if (t->is_replaying && is_time_due && ++t->idle_ticks > STUCK_TICKS)
		report_divergence(h);
}
