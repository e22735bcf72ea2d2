/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* walk.c - shows one stop (a step of the tour) after the other, and reads keys
 * between them.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "tools/rocin/common/cmd.h"
#include "tour.h"

enum {
	KEY_SIGNAL = -1,
	KEY_END = 4,	  /* Ctrl-D, which also stands for the end of input */
	INTRODUCTION = 9, /* approximate number of lines of the introduction */
	STATUS_SIGNAL = 128,
};

enum action {
	GO_ON,
	GO_BACK,
	/* continue with the stop (step of the tour) whose number is in walk.next */
	GO_TO,
	TRY,
	LEAVE,
};

struct walk {
	struct rn_tour_place place;
	const struct rn_tour_look *look;
	int signals;
	bool is_all_so;
	bool is_cut; /* a signal has ended the tour */
	unsigned next, tried;
	unsigned rows; /* lines printed since the tour last waited for a key */
	struct termios before;
	char err[512];
};

/* -------------------------------------------------------- the terminal and its keys */
/* Switches the terminal so that each key is read at once and not echoed. */
static void listen_to_keys(struct walk *w)
{
	struct termios keys;

	if (!w->look->is_asking || tcgetattr(STDIN_FILENO, &w->before))
		return;
	keys = w->before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &keys);
}

static void stop_listening(const struct walk *w)
{
	if (w->look->is_asking)
		tcsetattr(STDIN_FILENO, TCSANOW, &w->before);
}

static unsigned terminal_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 10)
		return 24;
	return size.ws_row;
}

static int read_key(struct walk *w)
{
	struct pollfd pfd[] = { { .fd = w->signals, .events = POLLIN },
				{ .fd = STDIN_FILENO, .events = POLLIN } };
	unsigned char key;

	while (poll(pfd, RN_ARRAY_SIZE(pfd), -1) < 0 && errno == EINTR)
		;
	if (pfd[0].revents) {
		w->is_cut = true;
		return KEY_SIGNAL;
	}
	return read(STDIN_FILENO, &key, 1) == 1 ? key : KEY_END;
}

/* Prints a question, waits for a key, and erases the question. Returns the key. */
static int read_answer(struct walk *w, const char *question)
{
	int key;

	printf("%s ", question);
	fflush(stdout);
	key = read_key(w);
	fputs(w->look->can_erase ? "\r\033[K" : "\n", stdout);
	w->rows = 0;
	return key;
}

static void help(const struct walk *w)
{
	printf("  Enter, space   go on\n"
	       "  b              back to the stop before\n"
	       "  1 .. %d         to that stop\n"
	       "  t              run what \"Try this\" says; t again for the next one\n"
	       "  r              run this stop again\n"
	       "  q, Ctrl-D      leave\n\n",
	       RN_TOUR_STOPS);
	for (unsigned i = 0; i < RN_TOUR_STOPS; i++)
		printf("  %u  %-9s %s\n", i + 1, rn_tour_stops[i].name,
		       rn_tour_stops[i].title);
	putchar('\n');
	(void)w;
}

/* Sets *@action to the action of the key. Returns false if the key has no action. */
static bool act_on(struct walk *w, unsigned now, int key, enum action *action)
{
	bool is_known = true;

	if (key == '\n' || key == '\r' || key == ' ' || key == 'n') {
		*action = GO_ON;
	} else if (key == 'b') {
		*action = GO_BACK;
	} else if (key == 't') {
		*action = TRY;
	} else if (key == 'r') {
		*action = GO_TO;
		w->next = now;
	} else if (key > '0' && key <= '0' + RN_TOUR_STOPS) {
		*action = GO_TO;
		w->next = (unsigned)(key - '1');
	} else if (key == 'q' || key == KEY_END || key == KEY_SIGNAL) {
		*action = LEAVE;
	} else {
		is_known = false;
		if (key == '?' || key == 'h')
			help(w);
	}
	return is_known;
}

static enum action ask_for_action(struct walk *w, unsigned now, const char *question)
{
	enum action action;

	while (!act_on(w, now, read_answer(w, question), &action))
		;
	return action;
}

/* ------------------------------------------------------- showing the page of a stop */
static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Prints a part of the page. If it does not fit on the rest of the screen, first waits
 * for a key. Returns what to do next.
 */
static enum action show_part(struct walk *w, unsigned now, unsigned part,
			     const struct rn_tour_checks *c)
{
	enum action action = GO_ON;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	unsigned lines;

	if (!to)
		return LEAVE;
	rn_tour_page(to, w->look, part, c);
	fclose(to);
	lines = count_lines(text);
	if (w->look->is_asking && w->rows > 0 && w->rows + lines + 1 > terminal_rows())
		action = ask_for_action(w, now, "[Enter: more, ?: keys]");
	if (action == GO_ON) {
		fputs(text, stdout);
		w->rows += lines;
	}
	free(text);
	return ferror(stdout) ? LEAVE : action;
}

/* Runs a stop (a step of the tour), and shows the parts @first to @last of its page.
 * Returns what to do next.
 */
static enum action run_stop(struct walk *w, const struct rn_tour_values *v,
			    unsigned first, unsigned last)
{
	unsigned now = (unsigned)(v->stop - rn_tour_stops);
	struct rn_tour_result result;
	struct rn_tour_checks checks;
	enum action action = GO_ON;
	bool is_so;
	int rc = rn_tour_run(&w->place, v, w->signals, &result, w->err, sizeof(w->err));

	if (rc) {
		w->is_cut = rc == -EINTR;
		w->is_all_so = false;
		fflush(stdout);
		if (!w->is_cut)
			rn_complain("%s: %s", v->stop->name, w->err);
		rn_tour_result_free(&result);
		return LEAVE;
	}
	is_so = rn_tour_check(&checks, v, &result);
	if (w->look->is_json) {
		w->is_all_so &= is_so && rn_tour_json(stdout, &checks) == 0;
		last = first = RN_TOUR_PARTS;
		action = ferror(stdout) ? LEAVE : GO_ON;
	}
	for (unsigned part = first;
	     part < RN_TOUR_PARTS && part <= last && action == GO_ON; part++) {
		action = show_part(w, now, part, &checks);
		/* If the user quits before this part, no wrong claim was shown, so wrong
		 * claims must not change the exit status.
		 */
		if (part == RN_TOUR_PART_CLAIMS)
			w->is_all_so &= is_so;
	}
	rn_tour_result_free(&result);
	return action;
}

/* Runs the next experiment that the stop (a step of the tour) suggests. Returns what to
 * do next.
 */
static enum action try_one(struct walk *w, const struct rn_tour_stop *stop)
{
	struct rn_tour_values v;
	const struct rn_tour_try *t;

	if (w->tried == RN_TOUR_TRIES_MAX || !stop->attempt[w->tried].words)
		w->tried = 0;
	t = &stop->attempt[w->tried++];
	rn_tour_presets(&v, stop);
	if (!t->words || rn_tour_set(&v, t->words, w->err, sizeof(w->err)))
		return GO_ON;
	printf("$ rocin tour --stop %s %s\n", stop->name, t->words);
	rn_tour_wrap(stdout, w->look, 2, t->see);
	putchar('\n');
	w->rows += 4;
	return run_stop(w, &v, RN_TOUR_PART_WIRE, RN_TOUR_PART_CLAIMS);
}

/* -------------------------------------------------------- walking through the stops */
static void introduce(const struct walk *w)
{
	rn_tour_wrap(
		stdout, w->look, 0,
		"A tour of RDMA in eight stops. Each runs a small program of "
		"libibverbs, whose calls are the verbs, on two Rocin devices of this "
		"machine: A asks, B answers. It shows what was called, what went over "
		"the wire, and what each device did over PCIe to memory. Nothing is "
		"made up: packets and bytes are those of the run that you see, "
		"times are seconds since it began, and what is claimed is checked. "
		"(Of PCIe it shows data and completions. Doorbells and how a device "
		"reads work requests are left out; see nic.wqe in rocin-pcie(7).)");
	putchar('\n');
}

/* Returns the next action, after a stop (step of the tour) was shown or the user has left
 * it with @action.
 */
static enum action decide(struct walk *w, unsigned now, enum action action)
{
	bool is_last = now + 1 == RN_TOUR_STOPS;

	if (action == GO_ON)
		action = ask_for_action(w, now,
					is_last ? "[Enter: the end, b: back, t: try, "
						  "1-8, ?: keys, q: leave]"
						: "[Enter: next stop, b: back, t: try, "
						  "1-8, ?: keys, q: leave]");
	while (action == TRY) {
		action = try_one(w, &rn_tour_stops[now]);
		if (action == GO_ON)
			action = ask_for_action(
				w, now,
				is_last ? "[Enter: the end, t: the next to try, ?: keys]"
					: "[Enter: next stop, t: the next to try, ?: "
					  "keys]");
	}
	return action;
}

static void walk(struct walk *w, unsigned first, unsigned last, const char *words)
{
	for (unsigned now = first; now <= last;) {
		enum action action = GO_ON;
		struct rn_tour_values v;

		rn_tour_presets(&v, &rn_tour_stops[now]);
		if (words && rn_tour_set(&v, words, w->err, sizeof(w->err)))
			return;
		w->tried = 0;
		action = run_stop(w, &v, 0, RN_TOUR_PARTS - 1);
		if (w->look->is_asking)
			action = decide(w, now, action);
		switch (action) {
		case GO_ON:
		case TRY:
			now++;
			break;
		case GO_BACK:
			now -= now > first;
			break;
		case GO_TO:
			now = w->next;
			break;
		case LEAVE:
			return;
		}
	}
}

/* Blocks the signals that end the tour, and returns a descriptor from which they can be
 * read. Ignores SIGPIPE: writing to a closed pipe then fails.
 */
static int block_signals(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, before);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int taken_signal(int signals)
{
	struct signalfd_siginfo info = { .ssi_signo = SIGINT };

	(void)!read(signals, &info, sizeof(info));
	return (int)info.ssi_signo;
}

int rn_tour_walk(const struct rn_tour_look *look, unsigned first, unsigned last,
		 const char *words)
{
	struct walk w = { .look = look, .is_all_so = true };
	int status = RN_EXIT_FAILURE;
	sigset_t before;

	w.signals = block_signals(&before);
	if (rn_tour_enter(&w.place, w.err, sizeof(w.err))) {
		rn_complain("%s", w.err);
	} else {
		listen_to_keys(&w);
		if (first != last && !look->is_json)
			introduce(&w);
		w.rows = INTRODUCTION;
		walk(&w, first, last, words);
		stop_listening(&w);
		status = w.is_all_so && !ferror(stdout) ? 0 : RN_EXIT_FAILURE;
	}
	rn_tour_leave(&w.place);
	if (w.is_cut)
		status = STATUS_SIGNAL + taken_signal(w.signals);
	close(w.signals);
	return status;
}
