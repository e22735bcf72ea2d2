/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* program.c - finds out whether LD_PRELOAD has an effect in a program. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/rocin/common/launch.h"

/* ---------------------------------------------------------------- reading ELF files */
/* What an ELF file tells about the effect of LD_PRELOAD. */

enum {
	LOADER_MAX = 256
};

struct elf {
	bool is_elf;
	/* The file has another word size (32 or 64 bits) than this program. The members
	 * below are then not valid.
	 */
	bool is_other_class;
	uint16_t machine; /* EM_* constant in the ELF header; 0: unknown */
	/* the program was made by the Go compiler, with or without cgo */
	bool is_go;
	/* Path of the dynamic loader. Empty: the program has no loader, so LD_PRELOAD has
	 * no effect.
	 */
	char loader[LOADER_MAX];
};

enum {
	NOTE_NAME_LEN = 4,
	NOTE_GO_BUILD_ID = 4,
	SECTION_NAME_MAX = 32,
};

static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, len, (off_t)at) == (ssize_t)len;
}

/* Reads the string at offset @at of the file into @to, which has @len bytes. If the
 * string does not fit, or cannot be read, @to becomes "".
 */
static void read_string(int fd, char *to, size_t len, uint64_t at)
{
	ssize_t n = at <= INT64_MAX ? pread(fd, to, len, (off_t)at) : -1;

	if (n <= 0 || !memchr(to, '\0', (size_t)n))
		to[0] = '\0';
}

static void read_loader(struct elf *elf, int fd, const Elf64_Phdr *ph)
{
	read_string(fd, elf->loader, sizeof(elf->loader), ph->p_offset);
	/* "?" stands for a loader whose name cannot be read. */
	if (!elf->loader[0])
		strcpy(elf->loader, "?");
}

/* Returns true if the first note of the segment is the build ID that the Go linker
 * writes.
 */
static bool is_go_note(int fd, const Elf64_Phdr *ph)
{
	Elf64_Nhdr note;
	char name[NOTE_NAME_LEN];

	return read_at(fd, &note, sizeof(note), ph->p_offset) &&
	       note.n_namesz == sizeof(name) && note.n_type == NOTE_GO_BUILD_ID &&
	       read_at(fd, name, sizeof(name), ph->p_offset + sizeof(note)) &&
	       memcmp(name, "Go\0", sizeof(name)) == 0;
}

static bool is_go_section(const char *name)
{
	return strcmp(name, ".go.buildinfo") == 0 ||
	       strcmp(name, ".note.go.buildid") == 0;
}

/* Reads section header @i. Returns false if there is none, or it cannot be read. */
static bool read_section(int fd, const Elf64_Ehdr *eh, unsigned i, Elf64_Shdr *sh)
{
	return i < eh->e_shnum && eh->e_shentsize == sizeof(*sh) &&
	       read_at(fd, sh, sizeof(*sh), eh->e_shoff + (uint64_t)i * sizeof(*sh));
}

static bool has_go_section(int fd, const Elf64_Ehdr *eh)
{
	Elf64_Shdr names, sh;
	char name[SECTION_NAME_MAX];

	if (!read_section(fd, eh, eh->e_shstrndx, &names))
		return false;
	for (unsigned i = 0; read_section(fd, eh, i, &sh); i++) {
		read_string(fd, name, sizeof(name), names.sh_offset + sh.sh_name);
		if (is_go_section(name))
			return true;
	}
	return false;
}

/* Fills in @elf as far as the file can be read. If the file is damaged or truncated, some
 * members stay empty, which is no error.
 */
static void read_elf(struct elf *elf, int fd)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	*elf = (struct elf){ 0 };
	if (!read_at(fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	elf->is_elf = true;
	elf->is_other_class =
		eh.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
	if (elf->is_other_class || eh.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	elf->machine = eh.e_machine;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (!read_at(fd, &ph, sizeof(ph),
			     eh.e_phoff + (uint64_t)i * eh.e_phentsize))
			break;
		if (ph.p_type == PT_INTERP)
			read_loader(elf, fd, &ph);
		else if (ph.p_type == PT_NOTE)
			elf->is_go |= is_go_note(fd, &ph);
	}
	elf->is_go |= has_go_section(fd, &eh);
}

uint16_t rn_program_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#elif defined(__riscv)
	return EM_RISCV;
#elif defined(__powerpc64__)
	return EM_PPC64;
#elif defined(__s390x__)
	return EM_S390;
#else
	return EM_NONE;
#endif
}

/* ---------------------------------------------------- checking programs and scripts */
enum {
	SCRIPTS_MAX = 5
};

/* Programs that start other programs with a new environment. @remedy: how to run those
 * other programs under rocin.
 */
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
	    !*program) { /* an empty name is neither a program nor a directory */
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

/* Returns true if @loader is the dynamic loader of musl, /lib/ld-musl-x86_64.so.1. */
static bool is_musl(const char *loader)
{
	const char *base = strrchr(loader, '/');

	return strncmp(base ? base + 1 : loader, "ld-musl", 7) == 0;
}

static enum rn_program_fault elf_fault(int fd)
{
	struct elf elf;

	read_elf(&elf, fd);
	if (!elf.is_elf)
		return RN_PROGRAM_OK;
	if (elf.is_other_class)
		return RN_PROGRAM_OTHER_CLASS;
	if (elf.machine && rn_program_machine() && elf.machine != rn_program_machine())
		return RN_PROGRAM_OTHER_MACHINE;
	if (!elf.loader[0])
		return elf.is_go ? RN_PROGRAM_STATIC_GO : RN_PROGRAM_STATIC;
	if (is_musl(elf.loader))
		return RN_PROGRAM_MUSL;
	return elf.is_go ? RN_PROGRAM_GO : RN_PROGRAM_OK;
}

static bool is_setuid(const char *path, const struct stat *st)
{
	return ((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
	       ((st->st_mode & S_ISGID) && st->st_gid != getgid()) ||
	       (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

static enum rn_program_fault file_fault(const char *path)
{
	enum rn_program_fault fault;
	struct stat st;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || access(path, X_OK))
		return RN_PROGRAM_NOT_EXECUTABLE;
	if (is_setuid(path, &st))
		return RN_PROGRAM_SETUID;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		/* the program may be executable but not readable, so it is not refused */
		return RN_PROGRAM_OK;
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

/* Text for programs that LD_PRELOAD does not reach: what --reach=all offers them. */
#define SHOWN                                                                          \
	"with rocin run --reach=all it finds the devices and their counters in /sys, " \
	"but "                                                                         \
	"cannot open them"

/* Sentences for messages; the file name of the program is their subject. */
static const char *const sentences[] = {
	[RN_PROGRAM_NOT_EXECUTABLE] = "cannot be executed",
	[RN_PROGRAM_SETUID] = "is set-user-ID, set-group-ID or has file capabilities, so "
			      "the system ignores LD_PRELOAD for it; run a copy without "
			      "them",
	[RN_PROGRAM_STATIC] = "is statically linked, so LD_PRELOAD does not reach it; "
			      "link it with the shared libibverbs; " SHOWN,
	[RN_PROGRAM_STATIC_GO] =
		"is a Go program without C libraries, statically linked: it makes its "
		"system calls itself, and LD_PRELOAD does not reach it; build it with "
		"CGO_ENABLED=1 and let it call the shared libibverbs by cgo; " SHOWN,
	[RN_PROGRAM_OTHER_CLASS] =
		"is of another word size than this Rocin; build Rocin for it too",
	[RN_PROGRAM_OTHER_MACHINE] = "is a program for another architecture than this "
				     "Rocin, which LD_PRELOAD cannot load into it; build "
				     "Rocin for that one and run it there",
	[RN_PROGRAM_MUSL] = "is linked with musl, and Rocin with glibc: the loader of "
			    "musl cannot load it; link the program with glibc, or run "
			    "it in a container that has glibc",
	[RN_PROGRAM_GO] = "is a Go program with C libraries: Rocin reaches what those "
			  "do, libibverbs and librdmacm called by cgo, but not what Go "
			  "asks of the system itself, so that a look of its own at "
			  "/sys/class/infiniband or /dev/infiniband finds no device; let "
			  "it ask libibverbs, or use rocin run --reach=all",
};

/* Finds the interpreter that the first line of a script ("#!") names. If it is env(1),
 * finds the program that env would start. Returns false if the file has no such line.
 */
static bool find_interpreter(const char *path, char *interpreter, size_t len)
{
	char line[256] = "", word[256] = "", name[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line + 2, " %255s %255s", word, name) < 1)
		return false;
	if (name[0] && name[0] != '-' && strlen(word) >= 4 &&
	    strcmp(word + strlen(word) - 4, "/env") == 0)
		return find_in_path(name, interpreter, len) || name[0];
	snprintf(interpreter, len, "%s", word);
	return true;
}

static bool is_script(const char *path)
{
	char interpreter[PATH_MAX];

	return find_interpreter(path, interpreter, sizeof(interpreter));
}

/* Checks the interpreter of the script @path. The interpreter may itself be a script, up
 * to the depth that the kernel allows. Returns RN_PROGRAM_OK, or what is wrong with an
 * interpreter, with an error text in @text.
 */
static enum rn_program_fault script_fault(const char *path, char *text, size_t text_len)
{
	char at[PATH_MAX], next[PATH_MAX];
	enum rn_program_fault fault;

	snprintf(at, sizeof(at), "%s", path);
	for (unsigned depth = 0; depth < SCRIPTS_MAX; depth++) {
		if (!find_interpreter(at, next, sizeof(next)))
			return RN_PROGRAM_OK;
		fault = access(next, F_OK) ? RN_PROGRAM_NOT_EXECUTABLE : file_fault(next);
		if (fault == RN_PROGRAM_NOT_EXECUTABLE) {
			snprintf(text, text_len,
				 "%s is a script for %s, which is not there or cannot be "
				 "executed; install it",
				 path, next);
			return RN_PROGRAM_NO_INTERPRETER;
		}
		if (fault != RN_PROGRAM_OK && fault != RN_PROGRAM_GO) {
			snprintf(text, text_len,
				 "%s is a script, and Rocin reaches only the programs "
				 "that "
				 "it starts: %s, which interprets it, %s",
				 path, next, sentences[fault]);
			return RN_PROGRAM_SCRIPT;
		}
		memcpy(at, next, sizeof(at));
	}
	return RN_PROGRAM_OK;
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
	/* The set-user-ID bit of a script has no effect, so it is ignored. */
	if (fault == RN_PROGRAM_OK || (fault == RN_PROGRAM_SETUID && is_script(path)))
		return script_fault(path, text, text_len);
	snprintf(text, text_len, "%s %s", path, sentences[fault]);
	return fault;
}
