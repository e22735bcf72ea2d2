/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* run.c - runs a program once while a chosen set of writes arrives late (a "schedule",
 * hunt.h), and finds out whether it went wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hunt.h"
#include "tools/rocin/common/child.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/host/clock.h"

enum {
	/* interval in ms for checking whether the program has ended, if there is no pidfd
	 */
	LOOK_MS = 2,
	/* Interval in ms for checking the time limit and signals. (A pidfd reports the
	 * end of the program at once.)
	 */
	LOOK_AGAIN_MS = 20,
	CANNOT_EXEC = 127,
};

static const char *const files[] = { "log", "record", "output", "late" };

const char *rn_hunt_path(const struct rn_hunt *h, const char *name, char *path)
{
	snprintf(path, PATH_MAX, "%s/%s", h->folder, name);
	return path;
}

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

int rn_hunt_stopped(void)
{
	return stopped;
}

int rn_hunt_begin(struct rn_hunt *h)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction action = { .sa_handler = stop };
	const char *tmp = getenv("TMPDIR");

	/* SIGINT and other signals are caught, so that this process can end the program.
	 * The program does not get Ctrl-C itself, because it runs in a process group of
	 * its own.
	 */
	for (size_t i = 0; i < RN_ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	snprintf(h->folder, sizeof(h->folder), "%s/rocin-hunt-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	h->began = rn_clock(CLOCK_MONOTONIC);
	rn_progress_begin(&h->progress, true);
	return mkdtemp(h->folder) ? 0 : -errno;
}

static void remove_files(const struct rn_hunt *h)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < RN_ARRAY_SIZE(files); i++)
		unlink(rn_hunt_path(h, files[i], path));
}

void rn_hunt_erase(struct rn_hunt *h)
{
	rn_progress_erase(&h->progress);
}

void rn_hunt_finish(struct rn_hunt *h)
{
	rn_hunt_erase(h);
	remove_files(h);
	rmdir(h->folder);
}

static void show_progress(struct rn_hunt *h)
{
	rn_progress_show(&h->progress, "run %u, %llu s", h->runs,
			 (unsigned long long)((rn_clock(CLOCK_MONOTONIC) - h->began) /
					      1000000000));
}

/* ----------------------------------------------------- start and end of the program */
static void set_words(const struct rn_hunt *h, bool has_late)
{
	char words[4 * PATH_MAX];
	int n;

	/* The sanitizer writes its reports to a file, from which witness.c prints them.
	 * With exitcode=0 it does not change the exit status of the program.
	 */
	n = snprintf(words, sizeof(words), "on,exitcode=0,log=%s/log,record=%s/record",
		     h->folder, h->folder);
	if (has_late)
		snprintf(words + n, sizeof(words) - (size_t)n, ",late=%s/late",
			 h->folder);
	setenv("ROCIN_SANITIZE", words, 1);
}

static void become_program(const struct rn_hunt *h, char **argv, pid_t parent)
{
	char path[PATH_MAX];
	int out = open(rn_hunt_path(h, "output", path), O_WRONLY | O_CREAT | O_APPEND,
		       0600);
	int in = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	/* If this process is killed, the kernel kills the program, too. */
	rn_end_with_parent(parent);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], argv);
	_exit(CANNOT_EXEC);
}

/* Waits until the process ends, but for at most LOOK_AGAIN_MS. @pidfd: a pidfd of the
 * process; -1: there is none, so the function waits for LOOK_MS.
 */
static void wait_a_while(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	(void)poll(&ended, 1, pidfd < 0 ? LOOK_MS : LOOK_AGAIN_MS);
}

/* Waits until the process ends, and sets *@status. If it does not end in time, kills it
 * and all processes that it has started, and returns false.
 */
static bool await(struct rn_hunt *h, pid_t pid, int *status)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	rn_ns end = rn_clock(CLOCK_MONOTONIC) + (rn_ns)(h->limit * 1e9);
	pid_t ended;

	while ((ended = waitpid(pid, status, WNOHANG)) == 0 && !stopped &&
	       rn_clock(CLOCK_MONOTONIC) < end) {
		wait_a_while(pidfd);
		show_progress(h);
	}
	if (pidfd >= 0)
		close(pidfd);
	/* Processes that the program has left running belong to this run, too, so they
	 * are killed.
	 */
	kill(-pid, SIGKILL);
	if (ended == pid)
		return true;
	waitpid(pid, status, 0);
	return false;
}

static int spawn(struct rn_hunt *h, char **argv, int *status, bool *is_in_time)
{
	pid_t pid, parent = getpid();

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_program(h, argv, parent);
	setpgid(pid, pid);
	*is_in_time = await(h, pid, status);
	return stopped ? -EINTR : 0;
}

static int check(struct rn_hunt *h, struct rn_hunt_end *end)
{
	char shell[] = "/bin/sh", option[] = "-c", *command = strdup(h->checker);
	char *argv[] = { shell, option, command, NULL };
	bool is_in_time = false;
	int status = 0, rc;

	unsetenv("ROCIN_SANITIZE");
	rc = command ? spawn(h, argv, &status, &is_in_time) : -ENOMEM;
	free(command);
	if (rc)
		return rc;
	end->is_wrong = !is_in_time || status != 0;
	snprintf(end->how, sizeof(end->how), "%s",
		 end->is_wrong ? "is wrong for the checker" : "is right for the checker");
	return 0;
}

static void judge_status(struct rn_hunt_end *end, int status)
{
	end->is_wrong = status != 0;
	if (WIFSIGNALED(status))
		snprintf(end->how, sizeof(end->how), "ends by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(end->how, sizeof(end->how), "ends with status %d",
			 WEXITSTATUS(status));
}

/* Appends a last line to the record. If this fails, for instance because the disk is
 * full, the sanitizer may also have failed to write lines, so the record cannot be used.
 * Returns 0 or -errno.
 */
static int end_record(const char *path)
{
	FILE *record = fopen(path, "ae");
	int rc;

	if (!record)
		return -errno;
	fputs("end\n", record);
	rc = ferror(record) ? -ENOSPC : 0;
	return fclose(record) ? -errno : rc;
}

/* Reads the record of the newest run (what the sanitizer has written) into @end. A
 * program that has opened no device has made no record; this is no error.
 */
static int read_record(const struct rn_hunt *h, struct rn_hunt_end *end)
{
	char path[PATH_MAX];
	int rc = end_record(rn_hunt_path(h, "record", path));

	if (!rc)
		rc = rn_hunt_read(&end->late, path, "late");
	return rc ? rc : rn_hunt_read(&end->landed, path, "landed");
}

int rn_hunt_run(struct rn_hunt *h, const struct rn_hunt_set *late,
		struct rn_hunt_end *end)
{
	char path[PATH_MAX];
	bool is_in_time = false;
	int status = 0, rc;

	remove_files(h);
	rc = late ? rn_hunt_write(late, rn_hunt_path(h, "late", path), NULL) : 0;
	if (rc)
		return rc;
	set_words(h, late != NULL);
	h->runs++;
	rc = spawn(h, h->program, &status, &is_in_time);
	if (rc)
		return rc;
	if (!is_in_time) {
		end->is_wrong = true;
		snprintf(end->how, sizeof(end->how), "does not end within %g s",
			 h->limit);
	} else if (h->checker) {
		rc = check(h, end);
	} else {
		judge_status(end, status);
	}
	if (end->is_wrong)
		memcpy(h->how, end->how, sizeof(h->how));
	return rc ? rc : read_record(h, end);
}

void rn_hunt_end_clear(struct rn_hunt_end *end)
{
	rn_hunt_clear(&end->late);
	rn_hunt_clear(&end->landed);
	*end = (struct rn_hunt_end){ 0 };
}
