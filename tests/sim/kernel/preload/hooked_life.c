/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooked_life.c - fork, vfork, exec, threads, signals and cancellation under the hooks.
 */
#include "hooked.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/io/host/own_fd.h"

extern char **environ;

static int status_of(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* As Python's subprocess does: the child shares our memory while it closes everything. */
static void a_vfork_child_that_closes_all_costs_the_parent_nothing(void)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);
	int channel = verbs_comp_channel(fd);
	long limit = sysconf(_SC_OPEN_MAX);
	pid_t pid;

	if (limit > 4096)
		limit = 4096;
	pid = vfork();
	if (pid == 0) {
		for (int i = 3; i < limit; i++)
			close(i);
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	CHECK(pid > 0);
	CHECK(status_of(pid) == 0);
	CHECK(verbs_probe(fd) == ENOSPC);
	CHECK(write(channel, "12345678", 8) == 8);
	close(channel);
	channel = verbs_comp_channel(fd);
	CHECK(channel > 2);
	close(channel);
	close(fd);
}

static void a_descriptor_that_is_reused_is_no_device_any_more(void)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);
	int copy = dup(fd);
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(verbs_probe(copy) == ENOSPC);
	CHECK(dup2(file, fd) == fd);
	CHECK(verbs_probe(fd) == ENOTTY);
	CHECK(verbs_probe(copy) == ENOSPC);
	close(copy);
	close(file);
	close(fd);
}

static void a_forked_child_sees_the_device(void)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);
	pid_t pid = fork();

	if (pid == 0) {
		int channel = verbs_comp_channel(fd);

		_exit(!(channel > 2 && access(IBDEV, R_OK) == 0 &&
			verbs_probe(fd) == ENOSPC));
	}
	CHECK(status_of(pid) == 0);
	close(fd);
}

static int run_test_d(char **env)
{
	pid_t pid = fork();

	if (pid == 0) {
		execle("/bin/sh", "sh", "-c", "test -d " IBDEV, (char *)NULL, env);
		_exit(127);
	}
	return status_of(pid);
}

static void exec_keeps_the_device_and_a_cleared_environment_loses_it(void)
{
	char *empty[] = { NULL };

	CHECK(run_test_d(environ) == 0);
	CHECK(run_test_d(empty) == 1);
}

/* The tree is the one of the start, whatever becomes of the variable. */
static void clearing_ones_own_environment_changes_nothing(void)
{
	char *tree = strdup(getenv("ROCIN_TREE"));

	unsetenv("ROCIN_TREE");
	CHECK(access(IBDEV, R_OK) == 0);
	setenv("ROCIN_TREE", tree, 1);
	free(tree);
}

static void *use_everything(void *arg)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);

	(void)arg;
	for (unsigned i = 0; i < 200; i++) {
		char *path = realpath(IBDEV, NULL);
		int channel = verbs_comp_channel(fd);
		DIR *dir = opendir(CLASS);

		CHECK_TEXT(path, REAL_IBDEV);
		CHECK(dir);
		CHECK(write(channel, "12345678", 8) == 8);
		closedir(dir);
		close(channel);
		free(path);
	}
	close(fd);
	return NULL;
}

static void threads_do_not_disturb_each_other(void)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, use_everything, NULL));
	for (unsigned i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

static void *open_fifo(void *path)
{
	(void)!open(path, O_RDONLY | O_CLOEXEC); /* blocks: nobody writes */
	return NULL;
}

/* No wait until the thread blocks: a pending cancellation acts at the same point. */
static void open_is_still_a_cancellation_point(void)
{
	char dir[] = "/tmp/rocin-test-XXXXXX";
	char path[64];
	pthread_t thread;
	void *result = NULL;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	CHECK(mkfifo(path, 0600) == 0);
	CHECK(!pthread_create(&thread, NULL, open_fifo, path));
	CHECK(!pthread_cancel(thread));
	CHECK(!pthread_join(thread, &result));
	unlink(path);
	rmdir(dir);
	CHECK(result == PTHREAD_CANCELED);
}

static int channel_of_cancelled; /* handed over by pthread_join() */

static void *make_channel(void *arg)
{
	int fd = *(int *)arg;

	pthread_cancel(pthread_self());
	channel_of_cancelled = verbs_comp_channel(fd); /* comes back */
	pthread_testcancel();
	return NULL;
}

static void ioctl_is_still_no_cancellation_point(void)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);
	pthread_t thread;
	void *result = NULL;

	CHECK(!pthread_create(&thread, NULL, make_channel, &fd));
	CHECK(!pthread_join(thread, &result));
	CHECK(result == PTHREAD_CANCELED);
	CHECK(channel_of_cancelled > 2);
	close(channel_of_cancelled);
	close(fd);
}

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	int fd = open(PORT "/state", O_RDONLY | O_CLOEXEC);

	(void)sig;
	handled = fd >= 0 && access("/etc", R_OK) == 0;
	close(fd);
}

/* The smallest stack that programs give a handler. Sanitized code needs more. */
static void a_handler_on_a_small_stack_may_open_files(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	size_t size = 65536;
#else
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048;
#endif
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size }, old;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	CHECK(stack.ss_sp && sigaltstack(&stack, &old) == 0);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	raise(SIGUSR1);
	CHECK(handled);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
}

static void errno_is_kept_on_success(void)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);
	char buf[64];

	errno = ELOOP;
	CHECK(access(IBDEV, R_OK) == 0);
	close(verbs_comp_channel(fd));
	CHECK(readlink(IBDEV, buf, sizeof(buf)) > 0);
	CHECK(errno == ELOOP);
	close(fd);
}

/* ------------------------------------------------- closing what the device has open */
enum {
	FIRST = 200, /* five descriptors from here on */
	LAST = FIRST + 4,
};

static int kept = RN_OWN_FD_NONE; /* the one of them that is the device's */

static int next_kept(int from)
{
	return from <= kept ? kept : RN_OWN_FD_NONE;
}

static void watch(rn_own_fd_next_fn *next)
{
	rn_fd_watch_fn *begin =
		(__typeof__(begin))dlsym(RTLD_DEFAULT, RN_FD_WATCH_SYMBOL);

	CHECK(begin);
	begin(next);
}

static void open_five(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = FIRST; fd <= LAST; fd++)
		CHECK(fd == kept || dup2(null, fd) == fd);
	close(null);
}

static void check_only_kept_is_open(void)
{
	for (int fd = FIRST; fd <= LAST; fd++)
		CHECK((fcntl(fd, F_GETFD) >= 0) == (fd == kept));
}

/* Wherever it lies among those that go. */
static void ranges_are_closed_but_for_the_devices_descriptor(void)
{
	for (int fd = FIRST; fd <= LAST; fd++) {
		kept = RN_OWN_FD_NONE;
		open_five();
		kept = fd;
		watch(next_kept);
		CHECK(close_range(FIRST, LAST, 0) == 0);
		check_only_kept_is_open();
		open_five();
		closefrom(FIRST);
		check_only_kept_is_open();
		watch(NULL);
		close(fd);
	}
}

static void the_devices_descriptor_cannot_be_closed_or_replaced(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	kept = RN_OWN_FD_NONE;
	open_five();
	kept = FIRST + 1;
	watch(next_kept);
	CHECK(close(kept) == -1 && errno == EBADF);
	CHECK(dup2(null, kept) == -1 && errno == EBUSY);
	CHECK(dup3(null, kept, O_CLOEXEC) == -1 && errno == EBUSY);
	CHECK(!(fcntl(kept, F_GETFD) & FD_CLOEXEC)); /* it is what it was */
	/* Onto itself, which closes nothing. */
	CHECK(dup2(kept, kept) == kept);
	CHECK(dup3(kept, kept, O_CLOEXEC) == -1 && errno == EINVAL);
	/* Its neighbours are the program's. */
	CHECK(dup2(null, kept - 1) == kept - 1);
	CHECK(close(kept - 1) == 0);
	CHECK(close(kept + 1) == 0);
	watch(NULL);
	CHECK(close_range(FIRST, LAST, 0) == 0);
	kept = RN_OWN_FD_NONE;
	check_only_kept_is_open();
	close(null);
}

const struct check life_checks[] = {
	{ "a_vfork_child_that_closes_all_costs_the_parent_nothing",
	  a_vfork_child_that_closes_all_costs_the_parent_nothing },
	{ "a_descriptor_that_is_reused_is_no_device_any_more",
	  a_descriptor_that_is_reused_is_no_device_any_more },
	{ "a_forked_child_sees_the_device", a_forked_child_sees_the_device },
	{ "exec_keeps_the_device_and_a_cleared_environment_loses_it",
	  exec_keeps_the_device_and_a_cleared_environment_loses_it },
	{ "clearing_ones_own_environment_changes_nothing",
	  clearing_ones_own_environment_changes_nothing },
	{ "threads_do_not_disturb_each_other", threads_do_not_disturb_each_other },
	{ "open_is_still_a_cancellation_point", open_is_still_a_cancellation_point },
	{ "ioctl_is_still_no_cancellation_point", ioctl_is_still_no_cancellation_point },
	{ "a_handler_on_a_small_stack_may_open_files",
	  a_handler_on_a_small_stack_may_open_files },
	{ "errno_is_kept_on_success", errno_is_kept_on_success },
	{ "ranges_are_closed_but_for_the_devices_descriptor",
	  ranges_are_closed_but_for_the_devices_descriptor },
	{ "the_devices_descriptor_cannot_be_closed_or_replaced",
	  the_devices_descriptor_cannot_be_closed_or_replaced },
	{ NULL, NULL },
};
