/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stack.c - writes stacks as addresses in modules, and lets another process find their
 * functions and lines; see stack.h.
 */
#include "stack.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spawn.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/write_all.h"

/* ---------------------------------------------------------- loaded modules */
enum {
	BUILD_ID_MAX = 32, /* bytes; linkers make 16 or 20 */
	/* Reading the debug information of a large program takes a second or two. */
	SYMBOLIZE_TIMEOUT_MS = 15000,
};

/* A loaded ELF file. */
struct module {
	const char *path;
	uintptr_t bias; /* address in memory minus address in the file */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len;
};

/* Reads the build-id from a segment of notes. */
static void read_notes(struct module *m, const char *at, size_t len)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		size_t name = (note->n_namesz + 3UL) & ~3UL;
		size_t size = sizeof(*note) + name + ((note->n_descsz + 3UL) & ~3UL);

		if (size > len)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(note + 1, "GNU", 4) == 0 && note->n_descsz <= BUILD_ID_MAX) {
			m->build_id_len = note->n_descsz;
			memcpy(m->build_id, at + sizeof(*note) + name, note->n_descsz);
			return;
		}
		at += size;
		len -= size;
	}
}

/* Reads the headers of a module, whose first page is mapped at @base. */
static void read_headers(struct module *m, const char *base)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)base;
	const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + elf->e_phoff);
	bool has_bias = false;

	m->bias = (uintptr_t)base;
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
		return;
	for (unsigned i = 0; i < elf->e_phnum && !has_bias; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		m->bias = (uintptr_t)base - (p[i].p_vaddr - p[i].p_offset);
		has_bias = true;
	}
	for (unsigned i = 0; i < elf->e_phnum && !m->build_id_len; i++)
		if (p[i].p_type == PT_NOTE)
			// NOLINTNEXTLINE(performance-no-int-to-ptr)
			read_notes(m, (const char *)(m->bias + p[i].p_vaddr),
				   p[i].p_memsz);
}

size_t rn_stack_frame(unsigned number, void *at, bool is_return, char *buf, size_t len)
{
	char *pc = (char *)at - (is_return ? 1 : 0);
	struct module m = { 0 };
	char function[200] = "", id[2 * BUILD_ID_MAX + 1] = "";
	Dl_info info;
	int n;

	if (dladdr(pc, &info) && info.dli_fname) {
		m.path = info.dli_fname;
		read_headers(&m, info.dli_fbase);
	}
	if (m.path && info.dli_sname)
		snprintf(function, sizeof(function), " in %s+%#tx", info.dli_sname,
			 pc - (char *)info.dli_saddr);
	for (size_t i = 0; i < m.build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", m.build_id[i]);
	if (!m.path)
		n = snprintf(buf, len, "    #%u %p\n", number, pc);
	else
		n = snprintf(buf, len, "    #%u %p%s (%s+%#tx)%s%s%s\n", number, pc,
			     function, m.path, (uintptr_t)pc - m.bias,
			     *id ? " (BuildId: " : "", id, *id ? ")" : "");
	return n > 0 && (size_t)n < len ? (size_t)n : 0;
}

/* ------------------------------------------- functions and lines of frames */
/* Finds the program that looks up functions and lines, which is beside this library.
 * Return: 0 or -errno.
 */
static int find_program(char *path, size_t path_len)
{
	Dl_info here;
	const char *slash = NULL;

	if (dladdr((const void *)&rn_stack_symbolize, &here) && here.dli_fname)
		slash = strrchr(here.dli_fname, '/');
	if (!slash ||
	    (size_t)snprintf(path, path_len, "%.*s/rocin-symbolize",
			     (int)(slash - here.dli_fname), here.dli_fname) >= path_len)
		return -ENOENT;
	return access(path, X_OK) ? -errno : 0;
}

/* Reads to the end of file. Returns the number of bytes, or -errno. */
static ssize_t read_all(int fd, char *text, size_t len)
{
	rn_ns end = rn_clock(CLOCK_MONOTONIC) + RN_MSEC(SYMBOLIZE_TIMEOUT_MS);
	size_t used = 0;

	while (used < len) {
		rn_ns left = end - rn_clock(CLOCK_MONOTONIC);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)(left / RN_MSEC(1)) + 1) == 0)
			return -ETIMEDOUT;
		n = read(fd, text + used, len - used);
		if (n == 0)
			return (ssize_t)used;
		if (n < 0 && errno != EINTR)
			return -errno;
		used += n > 0 ? (size_t)n : 0;
	}
	return -EFBIG;
}

/* Runs the program @path, which adds functions and lines to @text; stores its output in
 * @named, and returns the number of bytes or -errno. The text fits into the buffer of a
 * pipe, so this process never waits for the program while the program waits for this
 * process. The reading end of the pipe stays open here until all is written: if it were
 * closed, a program that ends at once, because a library is missing, would cause a
 * SIGPIPE.
 */
static ssize_t ask_program(const char *path, const char *text, size_t len, char *named,
			   size_t named_len)
{
	char name[] = "rocin-symbolize", pid[24], locale[] = "LC_ALL=C";
	char *argv[] = { name, pid, NULL }, *envp[] = { locale, NULL };
	int in, feed, out = -1, answer = -1, err = -1;
	ssize_t rc;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	rc = rn_spawn_pipe(&in, &feed, O_NONBLOCK);
	if (rc)
		return rc;
	fcntl(in, F_SETFL, 0);
	rc = rn_spawn_pipe(&answer, &out, 0);
	if (!rc)
		rc = rn_spawn_null(&err);
	if (!rc)
		rc = rn_spawn(&(struct rn_spawn){ .path = path,
						  .argv = argv,
						  .envp = envp,
						  .fds = { in, out, err },
						  .fd_count = 3 });
	close(out);
	close(err);
	if (!rc && !rn_write_all(feed, text, len))
		rc = -errno;
	close(in);
	close(feed);
	if (!rc)
		rc = read_all(answer, named, named_len);
	close(answer);
	return rc;
}

ssize_t rn_stack_symbolize(const char *text, size_t len, char *named, size_t named_len)
{
	static _Atomic int failed; /* -errno of an earlier call */
	char path[PATH_MAX];
	int saved = errno;
	ssize_t rc = failed;

	if (!rc)
		rc = find_program(path, sizeof(path));
	if (!rc)
		rc = ask_program(path, text, len, named, named_len);
	if (rc == 0)
		rc = -EIO;
	if (rc < 0)
		failed = (int)rc;
	errno = saved;
	return rc;
}
