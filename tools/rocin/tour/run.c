/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* run.c - runs the program of a stop (a step of the tour): reads the program's output
 * from a pipe, and its packets from capture rings, as `rocin capture' does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/rocin/capture/capture.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/launch.h"
#include "tools/tour/lines.h"
#include "tour.h"
#include "transport/io/rocind/rocind_client.h"

/* ------------------------------------------------ directory and addresses of the tour */
/* The tour has a runtime directory, a rocind and addresses of its own, so that fault
 * rules and addresses of other programs do not affect it. rn_tour_leave() ends the rocind
 * and removes the directory.
 */

enum {
	TRIES = 32,
};

/* ------------------------------------------------------------ directory of the tour */
static int make_dir(struct rn_tour_place *place, char *err, size_t err_len)
{
	const char *const parents[] = { getenv("XDG_RUNTIME_DIR"), "/dev/shm",
					getenv("TMPDIR"), "/tmp" };
	int rc = -ENOENT;

	for (size_t i = 0; i < RN_ARRAY_SIZE(parents); i++) {
		/* The path must be absolute, and short, because it becomes a part of the
		 * paths of Unix sockets, whose length is limited.
		 */
		if (!parents[i] || parents[i][0] != '/' || strlen(parents[i]) > 60)
			continue;
		snprintf(place->dir, sizeof(place->dir), "%s/rocin-tour-XXXXXX",
			 parents[i]);
		if (mkdtemp(place->dir))
			return 0;
		rc = -errno;
	}
	place->dir[0] = '\0';
	snprintf(err, err_len,
		 "no directory for sockets can be made in XDG_RUNTIME_DIR, /dev/shm, "
		 "TMPDIR or /tmp: %s; set TMPDIR to one that can be written",
		 strerror(-rc));
	return rc;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* ------------------------------------------------------------ addresses of the tour */
/* Checks that UDP port 4791 of the address can be bound, which means that no rocind uses
 * the address. Returns 0 or -errno.
 */
static int try_address(uint32_t addr)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT),
				  .sin_addr.s_addr = htonl(addr) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Chooses two adjacent addresses in 127.64.0.0/10. Users rarely choose addresses from
 * this range themselves.
 */
static int choose_addresses(struct rn_tour_place *place, char *err, size_t err_len)
{
	int rc = -EADDRINUSE;

	for (unsigned i = 0; rc == -EADDRINUSE && i < TRIES; i++) {
		uint32_t random = (uint32_t)getpid() * 2654435761u + i, a;

		(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
		a = 0x7f400000u | (random & 0x003fff00u) | 1;
		rc = try_address(a);
		if (!rc)
			rc = try_address(a + 1);
		snprintf(place->netdevs, sizeof(place->netdevs),
			 "lo:127.%u.%u.1,lo:127.%u.%u.2", a >> 16 & 0xff, a >> 8 & 0xff,
			 a >> 16 & 0xff, a >> 8 & 0xff);
	}
	if (rc)
		snprintf(err, err_len, "UDP port 4791 of a loopback address: %s",
			 strerror(-rc));
	return rc;
}

/* ------------------------------------------------------ environment of the programs */
/* Removes the ROCIN_* variables that would change what the tour shows. Keeps the
 * variables for the path of rocind, the time until it ends, the I/O method and the log.
 */
static void forget_settings(void)
{
	static const char *const kept[] = { "ROCIN_ROCIND=", "ROCIN_IO=", "ROCIN_LOG=",
					    "ROCIN_IDLE_MS=" };
	char name[64];

	for (unsigned i = 0; environ && environ[i];) {
		bool is_kept = strncmp(environ[i], "ROCIN_", 6) != 0;
		size_t len = strcspn(environ[i], "=");

		for (size_t k = 0; k < RN_ARRAY_SIZE(kept); k++)
			is_kept |= !strncmp(environ[i], kept[k], strlen(kept[k]));
		if (is_kept || len >= sizeof(name)) {
			i++;
			continue;
		}
		memcpy(name, environ[i], len);
		name[len] = '\0';
		unsetenv(name);
	}
}

int rn_tour_enter(struct rn_tour_place *place, char *err, size_t err_len)
{
	static struct rn_launch launch;
	int rc;

	*place = (struct rn_tour_place){ 0 };
	forget_settings();
	rc = make_dir(place, err, err_len);
	if (!rc)
		rc = choose_addresses(place, err, err_len);
	if (rc)
		return rc;
	/* Turns shared memory off, so that packets are sent by UDP, as between two hosts.
	 */
	if (setenv("ROCIN_RUNTIME_DIR", place->dir, 1) || setenv("ROCIN_LOCAL", "off", 1))
		return -ENOMEM;
	rc = rn_launch_prepare(&launch, place->netdevs, err, err_len);
	if (!rc && !launch.devs[0].up) {
		snprintf(
			err, err_len,
			"the loopback interface is down; bring it up: ip link set lo up");
		rc = -ENETDOWN;
	}
	if (!rc)
		rc = rn_launch_setenv(&launch, place->netdevs, err, err_len);
	snprintf(place->program, sizeof(place->program), "%s/rocin-tour",
		 launch.plugin_dir);
	return rc;
}

void rn_tour_leave(struct rn_tour_place *place)
{
	struct rn_rocind *r;

	if (!place->dir[0])
		return;
	r = rn_rocind_connect_running(NULL, 0);
	if (r)
		(void)rn_rocind_shutdown(r, NULL, 0);
	rn_rocind_close(r);
	nftw(place->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	place->dir[0] = '\0';
}

/* ------------------------------------------------------------------- running a stop */
enum {
	LOOK_MS = 2,	  /* interval in ms at which the rings are read */
	RING = 256 << 10, /* size of a ring in bytes */
};

struct run {
	const struct rn_tour_values *v;
	struct rn_tour_result *out;
	struct rn_rocind *rocind;
	struct rn_capture_sources sources;
	pid_t pid;
	int from, to; /* pipe from the program, and pipe to it */
	char line[RN_TOUR_LINE_MAX];
	size_t used;
	bool is_awaited; /* the program waits until an RNR NAK has been captured */
	char *err;
	size_t err_len;
};

/* --------------------------------------------------- starting the program of a stop */
static char *const *make_argv(const struct rn_tour_values *v)
{
	static char words[RN_TOUR_SETTINGS_MAX][RN_TOUR_VALUE_MAX + 32];
	static char *argv[RN_TOUR_SETTINGS_MAX + 3];
	unsigned n = 0;

	argv[n++] = (char *)"rocin-tour";
	argv[n++] = (char *)v->stop->name;
	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && v->stop->setting[i].key; i++) {
		snprintf(words[i], sizeof(words[i]), "%s=%s", v->stop->setting[i].key,
			 v->value[i]);
		argv[n++] = words[i];
	}
	argv[n] = NULL;
	return argv;
}

static void exec_stop(const struct rn_tour_place *place, const struct rn_tour_values *v,
		      int in, int out)
{
	char rule[128] = "";
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (v->stop->fault)
		v->stop->fault(v, rule, sizeof(rule));
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    setenv("ROCIN_PCIE", rn_tour_knobs(v), 1) ||
	    (rule[0] && setenv("ROCIN_FAULT", rule, 1)))
		_exit(RN_EXIT_CANNOT_RUN);
	execv(place->program, make_argv(v));
	dprintf(STDOUT_FILENO, "error %s: %s; install Rocin again\n", place->program,
		strerror(errno));
	_exit(RN_EXIT_CANNOT_RUN);
}

static int start_program(struct run *run, const struct rn_tour_place *place)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		int rc = -errno;

		close(in[0]);
		close(in[1]);
		return rc;
	}
	fflush(NULL);
	run->pid = fork();
	if (run->pid == 0)
		exec_stop(place, run->v, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	run->to = in[1];
	run->from = out[0];
	return run->pid < 0 ? -errno : 0;
}

/* --------------------------------------------------------- reading captured packets */
static void take_events(struct run *run)
{
	struct rn_rocind_event ev;

	while (rn_rocind_event(run->rocind, &ev) == 0) {
		if (ev.kind == RN_ROCIND_GONE)
			return;
		if (ev.kind == RN_ROCIND_TAP_SOURCE)
			(void)rn_capture_sources_add(&run->sources, &ev.tap);
		else if (ev.kind == RN_ROCIND_TAP_END)
			rn_capture_sources_end(&run->sources, ev.tap.id);
	}
}

static int on_packet(void *ctx, struct rn_capture_source *source,
		     const struct rn_capture_packet *packet)
{
	struct run *run = ctx;
	enum rn_tour_end at =
		!strcmp(source->tap.ibdev, "rocin0") ? RN_TOUR_A : RN_TOUR_B;

	return packet ? rn_tour_take_packet(run->out, at, packet) : 0;
}

static int read_rings(struct run *run)
{
	take_events(run);
	return rn_capture_sources_read(&run->sources, UINT64_MAX, on_packet, run);
}

static bool has_rnr_nak(const struct rn_tour_result *r)
{
	for (unsigned i = 0; i < r->packets; i++) {
		const struct rn_tour_packet *p = &r->packet[i];
		struct rn_packet parsed;

		if (rn_packet_parse(&parsed, p->frame + RN_CAPTURE_LINK_HDR,
				    p->len - RN_CAPTURE_LINK_HDR) &&
		    parsed.form == RN_PACKET_WHOLE && parsed.op->flags & RN_OP_AETH &&
		    rn_aeth_type(parsed.aeth.syndrome) == RN_AETH_RNR)
			return true;
	}
	return false;
}

/* ----------------------------------------------------- reading the program's output */
static int take_line(struct run *run)
{
	if (!strcmp(run->line, "await rnr")) {
		run->is_awaited = true;
		return 0;
	}
	return rn_tour_take_line(run->out, run->line, run->err, run->err_len);
}

/* Reads output of the stop's program, and processes its complete lines. Returns the
 * number of bytes that were read; 0 at the end of the output; or -errno.
 */
static int take_lines(struct run *run)
{
	ssize_t got =
		read(run->from, run->line + run->used, sizeof(run->line) - 1 - run->used);
	char *end;

	if (got <= 0)
		return got < 0 && errno != EINTR ? -errno : got < 0;
	run->used += (size_t)got;
	run->line[run->used] = '\0';
	while ((end = strchr(run->line, '\n'))) {
		int rc;

		*end++ = '\0';
		rc = take_line(run);
		if (rc)
			return rc;
		run->used -= (size_t)(end - run->line);
		memmove(run->line, end, run->used + 1);
	}
	return run->used < sizeof(run->line) - 1 ? 1 : -EPROTO;
}

static int follow_program(struct run *run, int signals)
{
	struct pollfd pfd[] = { { .fd = signals, .events = POLLIN },
				{ .fd = run->from, .events = POLLIN } };
	int rc;

	for (;;) {
		poll(pfd, RN_ARRAY_SIZE(pfd), LOOK_MS);
		if (pfd[0].revents & POLLIN)
			return -EINTR;
		rc = read_rings(run);
		if (!rc && pfd[1].revents) {
			rc = take_lines(run);
			if (!rc)
				return 0;
		}
		if (rc < 0)
			return rc;
		if (run->is_awaited && has_rnr_nak(run->out)) {
			run->is_awaited = false;
			if (write(run->to, "\n", 1) != 1)
				return -errno;
		}
	}
}

/* Checks how the program has ended. Returns 0, or -ECANCELED with an error text. */
static int judge_end(const struct run *run, int status)
{
	if (run->out->is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(run->err, run->err_len,
			 "the program of this stop was not done in time");
	else if (WIFSIGNALED(status))
		snprintf(run->err, run->err_len,
			 "the program of this stop was ended by signal %d",
			 WTERMSIG(status));
	else
		snprintf(run->err, run->err_len,
			 "the program of this stop ended with status %d",
			 WEXITSTATUS(status));
	return -ECANCELED;
}

static int wait_for_end(struct run *run, int rc)
{
	int status = 0;

	if (run->pid <= 0)
		return rc;
	if (rc)
		kill(run->pid, SIGKILL);
	close(run->to);
	close(run->from);
	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	return rc ? rc : judge_end(run, status);
}

int rn_tour_run(const struct rn_tour_place *place, const struct rn_tour_values *v,
		int signals, struct rn_tour_result *out, char *err, size_t err_len)
{
	const struct rn_rocind_capture all = { .size = RING };
	struct run run = { .v = v, .out = out, .err = err, .err_len = err_len };
	int rc;

	*out = (struct rn_tour_result){ 0 };
	err[0] = '\0';
	run.rocind = rn_rocind_connect(NULL, err, err_len);
	if (!run.rocind)
		return -errno;
	rc = rn_rocind_capture(run.rocind, &all, err, err_len);
	if (!rc)
		rc = start_program(&run, place);
	if (!rc)
		rc = follow_program(&run, signals);
	rc = wait_for_end(&run, rc);
	if (!rc)
		rc = read_rings(&run);
	if (!rc)
		rc = rn_tour_finish(out);
	rn_capture_sources_free(&run.sources);
	rn_rocind_close(run.rocind);
	if (rc && !err[0])
		snprintf(err, err_len, "%s", strerror(-rc));
	return rc;
}
