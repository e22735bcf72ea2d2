/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - rocin-litmus: runs the litmus tests that `rocin litmus` sends.
 *
 * `rocin litmus --backend=live` starts it in an environment in which libibverbs finds the
 * devices of Rocin; --backend=hw starts it in the environment of the user. See wire.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "rocin/host_api.h"
#include "tools/rocin/common/child.h"

enum {
	SOCKET = STDIN_FILENO,
};

/* ---- Sending responses to `rocin litmus' ---- */

static int send_all(const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(SOCKET, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_response(enum rn_live_status status, const char *why)
{
	struct rn_live_response response = { .magic = RN_LIVE_MAGIC, .status = status };

	snprintf(response.why, sizeof(response.why), "%s", why);
	return send_all(&response, sizeof(response));
}

static int answer_results(const struct rn_live_results *res, bool is_last)
{
	struct rn_live_response response = { .magic = RN_LIVE_MAGIC,
					     .status = RN_LIVE_OK,
					     .runs = res->runs,
					     .seconds = res->seconds,
					     .states = res->states,
					     .is_last = is_last };

	if (send_all(&response, sizeof(response)))
		return -1;
	for (uint32_t i = 0; i < res->states; i++)
		if (send_all(&res->state[i], sizeof(res->state[i])) ||
		    send_all(res->step[i], res->state[i].steps * sizeof(*res->step[i])))
			return -1;
	return 0;
}

/* ---- Executing a request ---- */

static struct rn_live_results results;

static void clear_results(void)
{
	for (uint32_t i = 0; i < results.states; i++)
		free(results.step[i]);
	memset(&results, 0, sizeof(results));
}

/* Runs the part of this worker process in all runs of the test. Returns 0, or -1 after
 * rn_live_fail().
 */
static int run_worker(struct rn_live *l)
{
	int rc = rn_live_set_layer(l);

	if (!rc)
		rc = rn_live_connect(l);
	if (!rc)
		rc = rn_live_drive_open(l);
	if (!rc)
		rc = rn_live_rounds(l, l->is_lead ? &results : NULL);
	if (!rc) {
		rn_live_drive_close(l);
		rn_live_disconnect(l);
	}
	return rc;
}

static void set_up_shared(struct rn_live *l, unsigned workers)
{
	struct rn_live_shared *s = l->shared;
	pthread_barrierattr_t attr;
	unsigned threads = workers;

	memset(s, 0, offsetof(struct rn_live_shared, host));
	for (unsigned i = 0; i < l->test->threads; i++)
		threads += !l->test->thread[i].is_launched;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&s->all, &attr, threads);
	pthread_barrier_init(&s->workers, &attr, workers);
	pthread_barrierattr_destroy(&attr);
	l->workers = workers;
}

static int serve_here(struct rn_live *l)
{
	set_up_shared(l, 1);
	l->nodes = UINT32_MAX;
	l->is_lead = true;
	if (run_worker(l)) {
		if (atomic_load(&l->shared->is_lost))
			(void)answer_results(&results, true);
		else
			(void)send_response(RN_LIVE_FAILED, l->shared->why);
		/* Other threads of this process may wait at a barrier for ever, so the
		 * process ends without waiting for them.
		 */
		_exit(1);
	}
	return answer_results(&results, false);
}

static _Noreturn void play_node(struct rn_live *l, unsigned node)
{
	l->nodes = 1u << node;
	l->is_lead = node == 0;
	if (run_worker(l) || (l->is_lead && answer_results(&results, false)))
		_exit(1);
	rn_live_close_devices(l);
	_exit(0);
}

static void kill_all(pid_t *pid, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (pid[i] > 0)
			kill(pid[i], SIGKILL);
}

/* Waits until the worker processes of all nodes have ended. If one fails, kills the
 * others, because they would wait for it at a barrier.
 */
static int wait_for_nodes(struct rn_live *l, pid_t *pid, unsigned count)
{
	bool is_answered = false, is_bad = false;

	for (unsigned left = count; left > 0; left--) {
		int status, i = 0;
		pid_t ended = wait(&status);

		while (i < (int)count && pid[i] != ended)
			i++;
		if (ended < 0 || i == (int)count)
			return -1;
		pid[i] = 0;
		if (i == 0 && status == 0)
			is_answered = true;
		if (status == 0 || is_bad)
			continue;
		is_bad = true;
		kill_all(pid, count);
		if (WIFSIGNALED(status))
			rn_live_fail(l, "the process of node %s died of signal %d",
				     l->test->node[i], WTERMSIG(status));
	}
	if (is_bad && !is_answered && atomic_load(&l->shared->is_lost))
		(void)answer_results(&(struct rn_live_results){ 0 }, true);
	else if (is_bad && !is_answered)
		(void)send_response(RN_LIVE_FAILED, l->shared->why);
	return is_bad ? -1 : 0;
}

static int serve_in_processes(struct rn_live *l)
{
	pid_t pid[RN_LITMUS_NODES] = { 0 }, mine = getpid();

	set_up_shared(l, l->test->nodes);
	for (unsigned i = 0; i < l->test->nodes; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			rn_end_with_parent(mine);
			play_node(l, i);
		}
		if (pid[i] < 0) {
			kill_all(pid, i);
			return send_response(RN_LIVE_FAILED, strerror(errno));
		}
	}
	return wait_for_nodes(l, pid, l->test->nodes);
}

static const char *why_not(struct rn_live *l, char *why, size_t why_len)
{
	const struct rn_litmus_test *t = l->test;
	bool needs_library = false, is_rung = false;

	if (!rn_live_map(t, l->request->setup.knobs.granule, &l->map, why, why_len))
		return why;
	for (unsigned i = 0; i < l->map.memories; i++)
		needs_library |= rn_agent_is_gpu(l->map.memory[i].agent);
	for (unsigned i = 0; i < t->threads; i++)
		needs_library |= t->thread[i].agent != RN_AGENT_CPU;
	for (unsigned i = 0; i < t->qps; i++)
		is_rung |= t->qp[i].is_rung;
	for (unsigned i = 0; i < t->rqs; i++)
		is_rung |= t->rq[i].is_rung;
	if (is_rung && l->request->is_hw)
		return "has doorbells, which a program of verbs does not ring itself";
	if (needs_library && l->request->is_hw)
		return "needs a GPU or a drive, which plain verbs do not have";
	if (needs_library && !l->lib.handle)
		return "needs a simulated GPU or drive, and there is no " RN_HOST_LIBRARY;
	if (l->map.nics == 0 && l->request->is_hw)
		return "has no NIC";
	if (l->request->is_hw && !rn_live_has_dm(l))
		return "the device has no memory of its own (ibv_alloc_dm)";
	return NULL;
}

static int serve_request(struct rn_live *l, const struct rn_live_request *request)
{
	char text[160];
	const char *why;
	int rc;

	if (request->magic != RN_LIVE_MAGIC || request->size != sizeof(*request))
		return send_response(RN_LIVE_FAILED,
				     "rocin and rocin-litmus are of different "
				     "builds; install Rocin again");
	l->request = request;
	l->test = &request->test;
	clear_results();
	why = why_not(l, text, sizeof(text));
	if (why)
		return send_response(RN_LIVE_CANNOT, why);
	rc = request->processes ? serve_in_processes(l) : serve_here(l);
	return rc;
}

int main(int argc, char **argv)
{
	static struct rn_live_request request;
	static struct rn_live live;
	bool is_plain = argc > 1 && !strcmp(argv[1], RN_LIVE_PLAIN);
	char why[160];

	live.shared = mmap(NULL, sizeof(*live.shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (live.shared == MAP_FAILED ||
	    (!is_plain && rn_live_lib_open(&live.lib, why, sizeof(why)))) {
		(void)send_response(RN_LIVE_FAILED,
				    live.shared == MAP_FAILED ? "no memory" : why);
		return 1;
	}
	for (;;) {
		ssize_t n = recv(SOCKET, &request, sizeof(request), MSG_WAITALL);

		if (n == 0)
			break;
		if (n != (ssize_t)sizeof(request) || serve_request(&live, &request))
			return 1;
	}
	rn_live_close_devices(&live);
	return 0;
}
