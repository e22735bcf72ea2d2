/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* run_live.c - the back ends `live' and `hw' of `rocin litmus'. They run rocin-litmus, so
 * that rocin itself need not be linked with libibverbs.
 *
 * At most one rocin-litmus runs at a time. The same process is used for the next test if
 * that needs the same knobs; otherwise a new one is started.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report.h"
#include "rocin/random.h"
#include "tools/rocin/common/child.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/launch.h"
#include "tools/rocin/litmus/live/wire.h"

enum {
	DEVICES = RN_NIC_MAX,
	/* Time in ms to wait for an answer of rocin-litmus, in addition to the time that
	 * was requested for the runs.
	 */
	PATIENCE_MS = 600000,
	RUN_MS = 200, /* maximum time of one run in ms */
	KNOBS_MAX = 512,
	RUNS = 100, /* default number of runs */
	/* If an allowed state has not occurred, one run in this many is made again with
	 * packet loss.
	 */
	LOSSY_ONE_IN = 4,
};

/* Fault rule for the simulated network: packet loss. With it, the messages of one QP
 * sometimes take much longer than those of another, which some outcomes need.
 */
static const char *const loss = "drop=10%";

static struct {
	pid_t pid; /* process id of rocin-litmus; 0: it is not running */
	int fd;
	bool processes, is_lossy;
	bool is_at_work; /* rocin-litmus has got a request and has not answered it yet */
	/* stop() is registered with atexit(). */
	bool is_registered;
	char knobs[KNOBS_MAX];
	struct rn_litmus_memory *memory;
	/* Time at which all tests together must end, if the user has set a limit; 0: not
	 * set yet.
	 */
	time_t deadline;
} live;

/* ---- Starting and ending rocin-litmus ---- */

static void stop(void)
{
	if (live.pid == 0)
		return;
	/* The end of file on the socket ends rocin-litmus if it waits for a request. */
	close(live.fd);
	if (live.is_at_work)
		kill(live.pid, SIGTERM);
	waitpid(live.pid, NULL, 0);
	live.pid = 0;
}

/* Chooses loopback addresses for the devices. They contain the process id, so no other
 * process of this program uses them.
 */
static void own_netdevs(char *text, size_t len)
{
	size_t used = 0;

	for (unsigned i = 0; i < DEVICES; i++) {
		unsigned n = (unsigned)getpid() * DEVICES + i;

		used += (size_t)snprintf(text + used, len - used, "%slo:127.%u.%u.%u",
					 i ? "," : "", 16 + (n >> 16) % 64, n >> 8 & 0xff,
					 n & 0xff);
	}
}

static int environment(const struct rn_litmus_options *o, const char *knobs,
		       bool is_lossy, struct rn_launch *launch)
{
	bool is_hw = !strcmp(o->backend, "hw");
	char netdevs[DEVICES * 32], err[512];
	int rc;

	own_netdevs(netdevs, sizeof(netdevs));
	rc = rn_launch_prepare(launch, is_hw ? NULL : netdevs, err, sizeof(err));
	if (!rc && !is_hw)
		rc = rn_launch_setenv(launch, netdevs, err, sizeof(err));
	if (rc)
		rn_complain("%s", err);
	else if (!is_hw)
		rc = setenv("ROCIN_PCIE", knobs, 1);
	if (!rc && is_lossy)
		rc = setenv("ROCIN_FAULT", loss, 1);
	return rc;
}

static _Noreturn void become_helper(const struct rn_litmus_options *o, const char *knobs,
				    bool is_lossy, int fd, pid_t parent)
{
	static struct rn_launch launch;
	char program[PATH_MAX + 16], name[] = "rocin-litmus", plain[] = RN_LIVE_PLAIN;
	char *argv[] = { name, strcmp(o->backend, "hw") ? NULL : plain, NULL };

	rn_end_with_parent(parent);
	if (environment(o, knobs, is_lossy, &launch))
		_exit(RN_EXIT_FAILURE);
	snprintf(program, sizeof(program), "%s/rocin-litmus", launch.plugin_dir);
	dup2(fd, STDIN_FILENO);
	execv(program, argv);
	rn_complain("%s: %s; install Rocin again", program, strerror(errno));
	_exit(RN_EXIT_FAILURE);
}

static int start_process(const struct rn_litmus_options *o, const char *knobs,
			 bool is_lossy)
{
	pid_t parent = getpid();
	int fd[2];

	if (live.pid && live.processes == o->processes && live.is_lossy == is_lossy &&
	    !strcmp(live.knobs, knobs))
		return 0;
	stop();
	if (!live.is_registered && atexit(stop))
		return -ENOMEM;
	live.is_registered = true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -errno;
	live.pid = fork();
	if (live.pid == 0)
		become_helper(o, knobs, is_lossy, fd[1], parent);
	close(fd[1]);
	if (live.pid < 0) {
		live.pid = 0;
		close(fd[0]);
		return -EAGAIN;
	}
	live.fd = fd[0];
	live.processes = o->processes;
	live.is_lossy = is_lossy;
	snprintf(live.knobs, sizeof(live.knobs), "%s", knobs);
	return 0;
}

/* ---- Requests to rocin-litmus, and its responses ---- */

static int send_request(const struct rn_live_request *request)
{
	const char *at = (const char *)request;
	size_t left = sizeof(*request);

	while (left > 0) {
		ssize_t n = send(live.fd, at, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

static int receive_all(void *data, size_t len, int timeout_ms)
{
	char *at = data;

	while (len > 0) {
		struct pollfd p = { .fd = live.fd, .events = POLLIN };
		int ready = poll(&p, 1, timeout_ms);
		ssize_t n = ready > 0 ? recv(live.fd, at, len, 0) : 0;

		if (ready == 0)
			return -ETIMEDOUT;
		if ((ready < 0 || n < 0) && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Returns a copy of the text of a rule, which stays valid as long as the report. There
 * are few texts, so each is stored once.
 */
static const char *keep_rule(const char *text)
{
	static char *kept[256];
	unsigned i = 0;

	if (!*text)
		return NULL;
	while (i < RN_ARRAY_SIZE(kept) && kept[i] && strcmp(kept[i], text) != 0)
		i++;
	if (i == RN_ARRAY_SIZE(kept))
		return "";
	if (!kept[i])
		kept[i] = strdup(text);
	return kept[i];
}

static int receive_steps(struct rn_report_state *state, uint32_t count)
{
	struct rn_litmus_step *steps = calloc(count, sizeof(*steps));
	int rc = steps ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < count; i++) {
		struct rn_live_step step;

		rc = receive_all(&step, sizeof(step), PATIENCE_MS);
		if (rc)
			break;
		step.rule[sizeof(step.rule) - 1] = '\0';
		steps[i] = step.step;
		steps[i].rule = keep_rule(step.rule);
	}
	if (!rc && !state->steps)
		rn_report_set_steps(state, steps, count);
	free(steps);
	return rc;
}

static int receive_states(const struct rn_litmus_test *t, struct rn_report_run *run,
			  uint32_t count)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < count; i++) {
		struct rn_report_state *state;
		struct rn_live_state s;

		rc = receive_all(&s, sizeof(s), PATIENCE_MS);
		if (rc)
			break;
		state = rn_report_add_state(t, run, &s.outcome, s.seed);
		state->count += s.count - 1;
		if (s.steps > 0)
			rc = receive_steps(state, s.steps);
	}
	return rc;
}

/* Prints why rocin-litmus has ended or why its request has failed. */
static int explain(const struct rn_report_test *test, const struct rn_report_run *run,
		   const char *why, int rc)
{
	int status = 0;

	if (rc == -EPIPE && waitpid(live.pid, &status, 0) == live.pid) {
		close(live.fd);
		live.pid = 0;
	}
	stop();
	if (WIFSIGNALED(status))
		rn_complain("%s (%s): rocin-litmus died of signal %d", test->test.name,
			    run->knobs, WTERMSIG(status));
	else
		rn_complain("%s (%s): %s", test->test.name, run->knobs,
			    *why	       ? why
			    : rc == -ETIMEDOUT ? "rocin-litmus does not answer"
					       : "rocin-litmus ended too early");
	return rc ? rc : -EIO;
}

/* Requests @runs more runs of a test from rocin-litmus, and waits for the answer. */
static int request_runs(const struct rn_litmus_options *o,
			const struct rn_report_test *test, struct rn_report_run *run,
			uint64_t runs, uint64_t ms)
{
	static struct rn_live_request request;
	struct rn_live_response response = { 0 };
	int rc;

	request = (struct rn_live_request){ .magic = RN_LIVE_MAGIC,
					    .size = sizeof(request),
					    .is_hw = !strcmp(o->backend, "hw"),
					    .processes = o->processes,
					    .is_lossy = live.is_lossy,
					    .first = run->runs,
					    .runs = runs,
					    .ms = ms,
					    .seed = o->seed,
					    .setup = run->setup };
	request.test = test->test;
	live.is_at_work = true;
	rc = send_request(&request);
	if (!rc)
		rc = receive_all(&response, sizeof(response),
				 (int)(PATIENCE_MS + (ms ? ms : runs * RUN_MS)));
	response.why[sizeof(response.why) - 1] = '\0';
	if (!rc && (response.magic != RN_LIVE_MAGIC || response.status > RN_LIVE_FAILED))
		rc = -EPROTO;
	if (rc || response.status == RN_LIVE_FAILED)
		return explain(test, run, response.why, rc);
	if (response.status == RN_LIVE_CANNOT) {
		live.is_at_work = false;
		rn_report_judge(run, response.why);
		return 1;
	}
	run->runs += response.runs;
	run->seconds += response.seconds;
	rc = receive_states(&test->test, run, response.states);
	if (rc)
		return explain(test, run, "", rc);
	live.is_at_work = false;
	if (response.is_last)
		stop();
	return 0;
}

/* ---- Running a test by rocin-litmus ---- */

static const char *never_here(const struct rn_report_run *run)
{
	if (run->setup.knobs.cpu == RN_CPU_SC)
		return "the processor orders as it does (cpu=sc)";
	if (run->setup.knobs.cpu == RN_CPU_PSO)
		return "the processor orders as it does (cpu=pso)";
	return NULL;
}

/* Returns the time in ms that is left of the user's limit for all tests; 0: there is no
 * limit. Sets *@is_over to true if no time is left.
 */
static uint64_t time_left(const struct rn_litmus_options *o, bool *is_over)
{
	time_t now = time(NULL);

	if (o->budget_s > 0 && live.deadline == 0)
		live.deadline = now + (time_t)o->budget_s;
	*is_over = live.deadline && now >= live.deadline;
	return live.deadline && !*is_over ? (uint64_t)(live.deadline - now) * 1000 : 0;
}

static int open_memory(const struct rn_litmus_options *o)
{
	if (!o->state_file || live.memory)
		return 0;
	live.memory = rn_litmus_memory_open(o->state_file);
	if (!live.memory) {
		rn_complain("%s: %s", o->state_file, strerror(errno));
		return -EIO;
	}
	return 0;
}

/* Returns true if an allowed state has not occurred. */
static bool is_unseen(const struct rn_report_run *run)
{
	for (size_t i = 0; i < run->verdict_count; i++) {
		const struct rn_litmus_verdict *v = run->verdict[i].verdict;
		size_t j = 0;

		while (j < run->state_count &&
		       !rn_litmus_holds(v, &run->state[j].outcome))
			j++;
		if (v->expect == RN_LITMUS_ALLOWED && j == run->state_count)
			return true;
	}
	return false;
}

/* Returns true if other final states may occur with packet loss. Loss changes which of
 * two QPs is faster, so it is of no use for a test with a single QP.
 */
static bool may_be_lossy(const struct rn_litmus_options *o,
			 const struct rn_report_test *test)
{
	return strcmp(o->backend, "hw") != 0 && test->test.qps > 1;
}

static int ask_for(const struct rn_litmus_options *o, const struct rn_report_test *test,
		   struct rn_report_run *run, bool is_lossy, uint64_t runs, uint64_t ms)
{
	char knobs[KNOBS_MAX];
	int rc;

	rn_pcie_format(&run->setup.knobs, knobs, sizeof(knobs));
	rc = start_process(o, knobs, is_lossy);
	if (rc) {
		rn_complain("rocin-litmus does not start: %s", strerror(-rc));
		return rc;
	}
	return request_runs(o, test, run, runs, ms);
}

static int run_more(const struct rn_litmus_options *o, const struct rn_report_test *test,
		    struct rn_report_run *run)
{
	uint64_t runs = o->runs ? o->runs : RUNS;
	uint64_t digest = rn_litmus_digest(o, &test->test, run), ms;
	bool is_over;
	int rc;

	if (live.memory)
		run->runs = rn_litmus_recall(live.memory, digest, &test->test, run);
	ms = time_left(o, &is_over);
	if (is_over && run->runs == 0) {
		rn_report_judge(run, "no time was left (--budget)");
		return 1;
	}
	if (is_over || run->runs >= runs)
		return 0;
	rc = ask_for(o, test, run, false, runs - run->runs, ms);
	ms = time_left(o, &is_over);
	if (!rc && !is_over && runs >= LOSSY_ONE_IN && may_be_lossy(o, test) &&
	    is_unseen(run))
		rc = ask_for(o, test, run, true, runs / LOSSY_ONE_IN, ms);
	if (!rc && live.memory)
		rc = rn_litmus_remember(live.memory, digest, &test->test, run);
	return rc;
}

int rn_litmus_live_run(const struct rn_litmus_options *o,
		       const struct rn_report_test *test, struct rn_report_run *run)
{
	const char *never = never_here(run);
	int rc = open_memory(o);

	if (rc)
		return rc;
	run->seed = rn_random_at(o->seed, 0);
	if (never) {
		rn_report_judge(run, never);
		return 0;
	}
	rc = run_more(o, test, run);
	if (rc == 0)
		rn_report_judge(run, NULL);
	return rc < 0 ? rc : 0;
}
