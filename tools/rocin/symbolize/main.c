/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - rocin-symbolize: copies a report from standard input to standard output, and
 * replaces the addresses in stack traces by functions and source lines.
 *
 * usage: rocin-symbolize [PID]
 *
 * PID is the process that the report is about. Rocin's libraries start this program when
 * they report something (transport/io/process/stack.h, which describes the lines of a
 * stack trace). Lines that the program cannot resolve are copied unchanged. The program
 * writes its whole output at the end, so a reader gets all of it or nothing.
 *
 * libdw finds separate debug information itself: by the build-id below
 * /usr/lib/debug/.build-id, by the name in .gnu_debuglink, and what dwz has shared. The
 * program removes DEBUGINFOD_URLS from its environment, because a download would keep the
 * process waiting that reads the output.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocin/types.h"
#include "transport/io/host/write_all.h"

enum {
	/* maximum number of functions at one address that are inlined into each other */
	FUNCTIONS_MAX = 16,
	PATH_TEXT_MAX = 4096,
	FOUND_PATH_MAX = PATH_TEXT_MAX + 64,
};

/* A function whose code contains an address. If other functions were inlined there, an
 * address has several symbols. The source line of the innermost one is that of the
 * address; the source line of each of the others is the call that was inlined into it.
 * Texts are valid until close_files().
 */
struct symbol {
	const char *function; /* name of the function; NULL: unknown */
	/* offset of the address from the start of the function, if @file is NULL */
	uint64_t offset;
	const char *file; /* absolute path if the compiler has kept it; NULL: unknown */
	/* directory to which a relative file name refers; or NULL */
	const char *directory;
	int line, column; /* position in the file; 0: unknown */
};

/* The loaded file that contains an address. */
struct module {
	const char *path;
	/* build ID of the loaded file, hexadecimal; NULL: the file has none */
	const char *build_id;
	pid_t pid; /* process that has loaded the file; 0: unknown */
};

/* ----------------------------------------------------- opening the files of modules */
/* A file that was opened, or that could not be opened. */
struct file {
	struct file *next;
	char *path, *build_id;
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: there is no such file */
};
static struct file *files;

static bool has_build_id(int fd, const char *wanted)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *bytes = NULL;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
	bool is_same = len > 0 && strlen(wanted) == 2 * (size_t)len;
	char hex[3];

	for (ssize_t i = 0; i < len && is_same; i++) {
		snprintf(hex, sizeof(hex), "%02x", ((const unsigned char *)bytes)[i]);
		is_same = strncmp(hex, wanted + 2 * i, 2) == 0;
	}
	elf_end(elf);
	return is_same;
}

/* Opens @path if the file has the build ID @build_id, or if @build_id is NULL. Returns a
 * descriptor, or -1.
 */
static int open_if_same(const char *path, const char *build_id)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !build_id || has_build_id(fd, build_id))
		return fd;
	close(fd);
	return -1;
}

/* Opens the file of the module, and sets @path to its path. If the path leads to no file
 * with the build-id, tries the working directory of the process, its program
 * (/proc/PID/exe), and the debug file that is installed for the build-id. Returns a
 * descriptor, or -1.
 */
static int open_module(const struct module *m, char path[FOUND_PATH_MAX])
{
	int fd;

	snprintf(path, FOUND_PATH_MAX, "%s", m->path);
	fd = open_if_same(path, m->build_id);
	if (fd < 0 && m->pid && *m->path != '/') {
		snprintf(path, FOUND_PATH_MAX, "/proc/%d/cwd/%s", (int)m->pid, m->path);
		fd = open_if_same(path, m->build_id);
	}
	if (fd < 0 && m->pid && m->build_id) {
		snprintf(path, FOUND_PATH_MAX, "/proc/%d/exe", (int)m->pid);
		fd = open_if_same(path, m->build_id);
	}
	if (fd < 0 && m->build_id && strlen(m->build_id) > 2) {
		snprintf(path, FOUND_PATH_MAX, "/usr/lib/debug/.build-id/%.2s/%s.debug",
			 m->build_id, m->build_id + 2);
		fd = open_if_same(path, m->build_id);
	}
	return fd;
}

static void load(struct file *f, const struct module *m)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	char path[FOUND_PATH_MAX];
	int fd = open_module(m, path);

	if (fd < 0)
		return;
	f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl) {
		dwfl_report_begin(f->dwfl);
		/* The file is reported to libdw with load address 0, so that offsets in
		 * the file are its addresses.
		 */
		f->module = dwfl_report_elf(f->dwfl, path, path, fd, 0, true);
		dwfl_report_end(f->dwfl, NULL, NULL);
	}
	if (!f->module)
		close(fd);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns the file of a module. Opens the file when it is requested for the first time.
 */
static const struct file *file_of(const struct module *m)
{
	struct file *f = files;

	while (f && !(is_same_text(f->path, m->path) &&
		      is_same_text(f->build_id, m->build_id)))
		f = f->next;
	if (f)
		return f;
	if (!files) {
		unsetenv("DEBUGINFOD_URLS");
		elf_version(EV_CURRENT);
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->path = strdup(m->path);
	f->build_id = m->build_id ? strdup(m->build_id) : NULL;
	f->next = files;
	files = f;
	load(f, m);
	return f;
}

/* Closes all files. */
static void close_files(void)
{
	while (files) {
		struct file *f = files;

		files = f->next;
		dwfl_end(f->dwfl);
		free(f->path);
		free(f->build_id);
		free(f);
	}
}

/* ------------------------------------------------------ finding functions and lines */
static const char *directory_of(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
}

static int number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attr), &value) ? 0 : (int)value;
}

/* Sets the source line of @s to that of an inlined call. @inlined: the debug entry of the
 * function that was inlined there.
 */
static void set_call(struct symbol *s, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	size_t number = (size_t)number_of(inlined, DW_AT_call_file), count = 0;
	Dwarf_Files *names;

	s->directory = directory_of(unit);
	if (number && !dwarf_getsrcfiles(unit, &names, &count) && number < count)
		s->file = dwarf_filesrc(names, number, NULL, NULL);
	s->line = number_of(inlined, DW_AT_call_line);
	s->column = number_of(inlined, DW_AT_call_column);
}

/* Returns the debug entries (DIEs) that enclose the address: first the innermost one,
 * then those around it. Sets *@count to their number. The caller must free the array.
 */
static Dwarf_Die *scopes_of(Dwarf_Die *unit, Dwarf_Addr addr, int *count)
{
	Dwarf_Die *by_meaning = NULL, *by_place = NULL;
	Dwarf_Die innermost;

	*count = 0;
	if (dwarf_getscopes(unit, addr, &by_meaning) > 0) {
		innermost = by_meaning[0];
		*count = dwarf_getscopes_die(&innermost, &by_place);
	}
	free(by_meaning);
	return by_place;
}

static size_t find_functions(Dwarf_Die *unit, Dwarf_Addr addr, struct symbol found[],
			     size_t max)
{
	size_t used = 0;
	int count;
	Dwarf_Die *scope = scopes_of(unit, addr, &count);

	for (int i = 0; i < count && used < max; i++) {
		int tag = dwarf_tag(&scope[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		found[used++].function = dwarf_diename(&scope[i]);
		if (tag == DW_TAG_subprogram)
			break;
		if (used < max)
			set_call(&found[used], unit, &scope[i]);
	}
	free(scope);
	return used;
}

/* Finds the functions at @addr, which is an address in the file of the module, not in the
 * process. The innermost function comes first; each function except the last was inlined
 * into the next one. If the file at the module's path has another build ID, it was
 * replaced after the program had started. Then this function uses the file that the
 * process has mapped, or the debug file that is installed for the build ID. Returns the
 * number of functions; 0: none is known.
 */
static size_t find_symbols(const struct module *m, uint64_t addr, struct symbol found[],
			   size_t max)
{
	const struct file *f = file_of(m);
	Dwarf_Addr bias = 0;
	GElf_Off offset = 0;
	Dwarf_Die *unit;
	Dwfl_Line *line;
	GElf_Sym symbol;
	size_t count = 0;

	memset(found, 0, max * sizeof(*found));
	if (!f || !f->module)
		return 0;
	line = dwfl_module_getsrc(f->module, addr);
	if (line) {
		found->file = dwfl_lineinfo(line, NULL, &found->line, &found->column,
					    NULL, NULL);
		found->directory = dwfl_line_comp_dir(line);
	}
	unit = dwfl_module_addrdie(f->module, addr, &bias);
	if (unit)
		count = find_functions(unit, addr - bias, found, max);
	if (count)
		return count;
	found->function =
		dwfl_module_addrinfo(f->module, addr, &offset, &symbol, NULL, NULL, NULL);
	found->offset = offset;
	return found->function || found->file ? 1 : 0;
}

/* --------------------------------------------------------------- copying the report */
/* A line of a stack trace in the report. */
struct frame {
	char address[24];
	const char *rest; /* the text of the line after the address */
	/* path of the file that contains the address; empty: none */
	char path[PATH_TEXT_MAX];
	char build_id[80];
	unsigned long long offset;
};

static unsigned number; /* number of the next line of the stack trace */

/* Parses what follows the address in a line of a stack trace: " in FUNCTION+0xN
 * (PATH+0xN) (BuildId: ID)".
 */
static void parse_file(const char *at, struct frame *f)
{
	const char *end, *plus;
	int n = 0;

	if (sscanf(at, " in %*[^ ] (%n", &n), n == 0)
		n = strncmp(at, " (", 2) == 0 ? 2 : 0;
	if (n == 0)
		return;
	at += n;
	end = strstr(at, ") (BuildId: ");
	if (end)
		sscanf(end, ") (BuildId: %79[0-9a-f]", f->build_id);
	else
		end = strrchr(at, ')');
	plus = end ? memrchr(at, '+', (size_t)(end - at)) : NULL;
	if (!plus || (size_t)(plus - at) >= sizeof(f->path))
		return;
	memcpy(f->path, at, (size_t)(plus - at));
	f->path[plus - at] = '\0';
	f->offset = strtoull(plus + 1, NULL, 16);
}

/* Parses a line of a report. Returns false if it is no line of a stack trace. */
static bool parse_frame(const char *line, struct frame *f)
{
	unsigned read_number;
	int n = 0;

	*f = (struct frame){ .offset = 0 };
	if (sscanf(line, " #%u %23[0-9a-fx]%n", &read_number, f->address, &n) != 2 ||
	    strncmp(f->address, "0x", 2) != 0)
		return false;
	if (read_number == 0)
		number = 0;
	f->rest = line + n;
	parse_file(f->rest, f);
	return true;
}

/* Writes a path without the parts "." and "DIRECTORY/..". */
static void print_path(FILE *to, const char *directory, const char *file)
{
	char path[2 * PATH_TEXT_MAX], *up;

	if (*file == '/' || !directory)
		snprintf(path, sizeof(path), "%s", file);
	else
		snprintf(path, sizeof(path), "%s/%s", directory, file);
	while ((up = strstr(path, "/./")))
		memmove(up, up + 2, strlen(up + 2) + 1);
	while ((up = strstr(path, "/../"))) {
		char *from = up;

		while (from > path && from[-1] != '/')
			from--;
		if (from == path || strncmp(from, "..", 2) == 0)
			break;
		memmove(from, up + 4, strlen(up + 4) + 1);
	}
	fputs(path, to);
}

static void print_symbol(FILE *to, const struct frame *f, const struct symbol *s,
			 bool is_inlined)
{
	fprintf(to, "    #%u %s in %s", number++, f->address,
		s->function ? s->function : "??");
	if (!s->file) {
		fprintf(to, "+%#llx (%s+%#llx)", (unsigned long long)s->offset, f->path,
			f->offset);
		if (*f->build_id)
			fprintf(to, " (BuildId: %s)", f->build_id);
	} else {
		fputc(' ', to);
		print_path(to, s->directory, s->file);
		if (s->line)
			fprintf(to, ":%d", s->line);
		if (s->line && s->column)
			fprintf(to, ":%d", s->column);
	}
	fputs(is_inlined ? " (inlined)\n" : "\n", to);
}

/* Writes a line of the report. If it is a line of a stack trace, replaces its address by
 * functions and source lines.
 */
static void print_line(FILE *to, const char *line, pid_t pid)
{
	struct symbol found[FUNCTIONS_MAX];
	static struct frame f;
	size_t count = 0;

	if (!parse_frame(line, &f)) {
		fputs(line, to);
		return;
	}
	if (*f.path)
		count = find_symbols(
			&(struct module){ .path = f.path,
					  .build_id = *f.build_id ? f.build_id : NULL,
					  .pid = pid },
			f.offset, found, FUNCTIONS_MAX);
	if (count == 0)
		fprintf(to, "    #%u %s%s", number++, f.address, f.rest);
	for (size_t i = 0; i < count; i++)
		print_symbol(to, &f, &found[i], i + 1 < count);
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	char *line = NULL, *text = NULL;
	size_t room = 0, len = 0;
	FILE *to = open_memstream(&text, &len);
	int status;

	if (!to)
		return EXIT_FAILURE;
	while (getline(&line, &room, stdin) > 0)
		print_line(to, line, pid);
	free(line);
	close_files();
	status = fclose(to) || !rn_write_all(STDOUT_FILENO, text, len);
	free(text);
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
