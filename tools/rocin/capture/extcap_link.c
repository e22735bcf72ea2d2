/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* extcap_link.c - see extcap_link.h. */
#include "extcap_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocin/types.h"
#include "transport/io/host/sentence.h"

#define LINK_NAME "rocin"

/* As Wireshark prints them. */
struct folders {
	char personal[PATH_MAX]; /* extcap directory of the user; empty: not told */
	char config[PATH_MAX];
	char system[PATH_MAX]; /* extcap directory of the installation */
};

static void take_line(struct folders *f, char *line)
{
	const struct {
		const char *name;
		char *path;
	} wanted[] = {
		{ "Personal Extcap path:", f->personal }, /* since 4.2 */
		{ "Personal configuration:", f->config },
		{ "Extcap path:", f->system },
		{ "Global Extcap path:", f->system }, /* since 4.2 */
	};

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < RN_ARRAY_SIZE(wanted); i++) {
		size_t len = strlen(wanted[i].name);

		if (strncmp(line, wanted[i].name, len) == 0)
			snprintf(wanted[i].path, PATH_MAX, "%s",
				 line + len + strspn(line + len, " \t"));
	}
}

/* Return: the process, whose standard output @from reads; -1. */
static pid_t start(char *program, FILE **from)
{
	char option[] = "-G", what[] = "folders";
	char *argv[] = { program, option, what, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
					 0);
	*from = fdopen(fds[0], "r");
	if (*from && posix_spawnp(&pid, program, &actions, NULL, argv, environ) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (!*from)
		close(fds[0]);
	else if (pid < 0)
		(void)fclose(*from);
	return pid;
}

static bool ask(char *program, struct folders *f)
{
	char line[PATH_MAX + 100];
	FILE *answer;
	pid_t pid = start(program, &answer);

	if (pid < 0)
		return false;
	while (fgets(line, sizeof(line), answer))
		take_line(f, line);
	(void)fclose(answer);
	waitpid(pid, NULL, 0);
	return f->config[0] == '/';
}

/* Directory and link. */
static int find_place(struct folders *f, char *dir, char *link, char *text, size_t len)
{
	char tshark[] = "tshark", wireshark[] = "wireshark";

	*f = (struct folders){ 0 };
	if (!ask(tshark, f) && !ask(wireshark, f))
		return rn_fail(text, len, -ENOENT,
			       "neither tshark nor wireshark says where extcap programs "
			       "belong; install one of them");
	if (f->personal[0] == '/'
		    ? snprintf(dir, PATH_MAX, "%s", f->personal) >= PATH_MAX
		    : snprintf(dir, PATH_MAX, "%s/extcap", f->config) >= PATH_MAX)
		return rn_fail(text, len, -ENAMETOOLONG, "%s: name too long", f->config);
	if (snprintf(link, PATH_MAX, "%s/" LINK_NAME, dir) >= PATH_MAX)
		return rn_fail(text, len, -ENAMETOOLONG, "%s: name too long", dir);
	return 0;
}

static int make_directories(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", dir);
	for (char *slash = path; slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (slash)
			*slash = '/';
	}
	return 0;
}

/* Is there anything but a link of ours? */
static int check_old(const char *link, char *text, size_t len)
{
	struct stat st;

	if (lstat(link, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;
	return rn_fail(text, len, -EEXIST, "%s is no link: it was left as it is", link);
}

static int replace_link(const char *self, const char *link)
{
	char temp[PATH_MAX];

	if (snprintf(temp, sizeof(temp), "%s.%d", link, getpid()) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	if (symlink(self, temp) < 0)
		return -errno;
	if (rename(temp, link) == 0)
		return 0;
	unlink(temp);
	return -errno;
}

static bool is_installed(const struct folders *f, char *path)
{
	return f->system[0] == '/' &&
	       snprintf(path, PATH_MAX, "%s/" LINK_NAME, f->system) < PATH_MAX &&
	       access(path, X_OK) == 0;
}

int rn_extcap_install(char *text, size_t len)
{
	char dir[PATH_MAX], link[PATH_MAX], self[PATH_MAX];
	struct folders f;
	int rc = find_place(&f, dir, link, text, len);

	if (rc)
		return rc;
	if (is_installed(&f, self)) {
		snprintf(text, len, "%s is there: Wireshark finds it, and needs no link",
			 self);
		return 0;
	}
	if (!realpath("/proc/self/exe", self))
		return rn_fail(text, len, -errno, "/proc/self/exe: %m");
	rc = check_old(link, text, len);
	if (rc)
		return rc;
	rc = make_directories(dir);
	if (!rc)
		rc = replace_link(self, link);
	if (rc)
		return rn_fail(text, len, rc, "%s cannot be made: %m", link);
	snprintf(text, len,
		 "%s is a link to %s; Wireshark shows Rocin's devices when it looks for "
		 "interfaces again (F5)",
		 link, self);
	return 0;
}

int rn_extcap_remove(char *text, size_t len)
{
	char dir[PATH_MAX], link[PATH_MAX];
	struct folders f;
	int rc = find_place(&f, dir, link, text, len);

	if (!rc)
		rc = check_old(link, text, len);
	if (rc)
		return rc;
	if (unlink(link) == 0)
		snprintf(text, len, "%s was removed", link);
	else if (errno == ENOENT)
		snprintf(text, len, "%s is not there", link);
	else
		rc = rn_fail(text, len, -errno, "%s cannot be removed: %m", link);
	return rc;
}
