/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* program.c - will LD_PRELOAD take effect in this program? */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "launch.h"

/* Programs that start others with an environment of their own, and how to get ours
 * across. */
static const struct {
	const char *name, *remedy;
} drops_env[] = {
	{ "sudo", "put rocin behind it: sudo rocin run -- PROGRAM" },
	{ "su", "put rocin behind it: su USER -c 'rocin run -- PROGRAM'" },
	{ "doas", "put rocin behind it: doas rocin run -- PROGRAM" },
	{ "ssh",
	  "put rocin behind it, on the other host: ssh HOST rocin run -- PROGRAM" },
	{ "mpirun", "put rocin behind it: mpirun ... rocin run -- PROGRAM" },
	{ "mpiexec", "put rocin behind it: mpiexec ... rocin run -- PROGRAM" },
	{ "srun", "put rocin behind it: srun ... rocin run -- PROGRAM" },
	{ "systemd-run", "put rocin behind it: systemd-run ... rocin run -- PROGRAM" },
};

static bool find_in_path(const char *program, char *path, size_t len)
{
	const char *dirs = getenv("PATH");

	if (strchr(program, '/') ||
	    !*program) { /* "" is no name, and no directory either */
		snprintf(path, len, "%s", program);
		return access(path, F_OK) == 0;
	}
	for (const char *p = dirs ? dirs : "/bin:/usr/bin"; *p;) {
		size_t n = strcspn(p, ":");

		snprintf(path, len, "%.*s/%s", n ? (int)n : 1, n ? p : ".", program);
		if (access(path, X_OK) == 0)
			return true;
		p += n + (p[n] == ':');
	}
	snprintf(path, len, "%s", program);
	return false;
}

/* Does the file ask for a dynamic loader? Only ELF files of our own class are looked at;
 * scripts and the rest count as yes, since it is their interpreter that matters.
 */
static enum rn_program_fault elf_fault(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (pread(fd, &eh, sizeof(eh), 0) != (ssize_t)sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return RN_PROGRAM_OK;
	if (eh.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return RN_PROGRAM_OTHER_CLASS;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64)
		return RN_PROGRAM_OK;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		off_t at = (off_t)(eh.e_phoff + (Elf64_Off)i * eh.e_phentsize);

		if (pread(fd, &ph, sizeof(ph), at) != (ssize_t)sizeof(ph))
			break;
		if (ph.p_type == PT_INTERP)
			return RN_PROGRAM_OK;
	}
	return RN_PROGRAM_STATIC;
}

static enum rn_program_fault file_fault(const char *path)
{
	enum rn_program_fault fault;
	struct stat st;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || access(path, X_OK))
		return RN_PROGRAM_NOT_EXECUTABLE;
	if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getgid()))
		return RN_PROGRAM_SETUID;
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return RN_PROGRAM_SETUID;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return RN_PROGRAM_OK; /* execute-only: nothing to be learnt */
	fault = elf_fault(fd);
	close(fd);
	return fault;
}

static const char *drops_env_remedy(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	for (size_t i = 0; i < RN_ARRAY_SIZE(drops_env); i++)
		if (!strcmp(base, drops_env[i].name))
			return drops_env[i].remedy;
	return NULL;
}

enum rn_program_fault rn_program_check(const char *program, char *path, size_t path_len,
				       char *text, size_t text_len)
{
	enum rn_program_fault fault;
	const char *remedy;

	text[0] = '\0';
	if (!find_in_path(program, path, path_len)) {
		snprintf(text, text_len, "%s: no such program", program);
		return RN_PROGRAM_NOT_FOUND;
	}
	remedy = drops_env_remedy(path);
	if (remedy) {
		snprintf(text, text_len,
			 "%s does not hand the environment on to what it starts; %s",
			 path, remedy);
		return RN_PROGRAM_DROPS_ENV;
	}
	fault = file_fault(path);
	switch (fault) {
	case RN_PROGRAM_NOT_EXECUTABLE:
		snprintf(text, text_len, "%s cannot be executed", path);
		break;
	case RN_PROGRAM_SETUID:
		snprintf(text, text_len,
			 "%s is set-user-ID, set-group-ID or has file capabilities, so "
			 "the "
			 "system ignores LD_PRELOAD for it; run a copy without them",
			 path);
		break;
	case RN_PROGRAM_STATIC:
		snprintf(text, text_len,
			 "%s is statically linked, so LD_PRELOAD does not reach it; link "
			 "it "
			 "with the shared libibverbs",
			 path);
		break;
	case RN_PROGRAM_OTHER_CLASS:
		snprintf(text, text_len,
			 "%s is of another word size than this Rocin; build Rocin for it "
			 "too",
			 path);
		break;
	case RN_PROGRAM_OK:
	case RN_PROGRAM_NOT_FOUND:
	case RN_PROGRAM_DROPS_ENV:
		break;
	}
	return fault;
}
