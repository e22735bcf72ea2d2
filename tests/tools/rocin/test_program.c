/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_program.c - which programs LD_PRELOAD does not reach. */
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/common/launch.h"

static char dir[PATH_MAX];
static char found[PATH_MAX], text[RN_PROGRAM_TEXT_MAX];

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.2000s/rocin-test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st;
	(void)flag;
	(void)at;
	return remove(path);
}

static int remove_dir(void **state)
{
	(void)state;
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in_dir(const char *name)
{
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static const char *make_file(const char *name, const void *bytes, size_t len, mode_t mode)
{
	const char *path = in_dir(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

/* An ELF header and one program header of type @type. */
struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
};

static struct image elf(unsigned char class, Elf64_Word type)
{
	struct image image = {
		.eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class },
			.e_phoff = offsetof(struct image, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1 },
		.ph = { .p_type = type },
	};

	return image;
}

static enum rn_program_fault check(const char *program)
{
	enum rn_program_fault fault;

	strcpy(text, "untouched");
	fault = rn_program_check(program, found, sizeof(found), text, sizeof(text));
	/* A sentence if and only if there is something to say. */
	assert_int_equal(text[0] != '\0', fault != RN_PROGRAM_OK);
	return fault;
}

static void dynamic_programs_are_reached(void **state)
{
	const unsigned char native = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	struct image image = elf(native, PT_INTERP);

	(void)state;
	assert_int_equal(check(make_file("dynamic", &image, sizeof(image), 0755)),
			 RN_PROGRAM_OK);
	assert_int_equal(check("/proc/self/exe"), RN_PROGRAM_OK);
}

static void static_programs_are_not(void **state)
{
	struct image image = elf(ELFCLASS64, PT_LOAD);

	(void)state;
	if (sizeof(void *) != 8)
		skip();
	assert_int_equal(check(make_file("static", &image, sizeof(image), 0755)),
			 RN_PROGRAM_STATIC);
	assert_non_null(strstr(text, in_dir("static")));
	/* A header that promises more program headers than there are */
	image.eh.e_phnum = 0xffff;
	assert_int_equal(check(make_file("static", &image, sizeof(image), 0755)),
			 RN_PROGRAM_STATIC);
	image.eh.e_phoff = UINT64_MAX - 8;
	assert_int_equal(check(make_file("static", &image, sizeof(image), 0755)),
			 RN_PROGRAM_STATIC);
}

static void programs_of_another_word_size_are_not(void **state)
{
	const unsigned char other = sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64;
	struct image image = elf(other, PT_INTERP);

	(void)state;
	assert_int_equal(check(make_file("other", &image, sizeof(image), 0755)),
			 RN_PROGRAM_OTHER_CLASS);
}

/* A program with a loader and a section, as a linker would write them. */
struct sections {
	struct image image;
	char loader[32], names[64];
	Elf64_Nhdr note;
	char note_name[4];
	Elf64_Shdr sh[2];
};

static struct sections linked(const char *loader, const char *section)
{
	struct sections s = { .image = elf(ELFCLASS64, loader ? PT_INTERP : PT_LOAD) };

	s.image.ph.p_offset = offsetof(struct sections, loader);
	if (loader)
		strcpy(s.loader, loader);
	strcpy(s.names + 1, section);
	s.image.eh.e_shoff = offsetof(struct sections, sh);
	s.image.eh.e_shentsize = sizeof(Elf64_Shdr);
	s.image.eh.e_shnum = 2;
	s.image.eh.e_machine = rn_program_machine();
	s.sh[0].sh_offset = offsetof(struct sections, names);
	s.sh[1].sh_name = 1;
	return s;
}

#define LOADER "/lib64/ld-linux-x86-64.so.2"

static void go_programs_make_system_calls_themselves(void **state)
{
	static const char *const sections[] = { ".go.buildinfo", ".note.go.buildid" };
	struct sections s;

	(void)state;
	if (sizeof(void *) != 8)
		skip();
	for (unsigned i = 0; i < RN_ARRAY_SIZE(sections); i++) {
		s = linked(NULL, sections[i]);
		assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)),
				 RN_PROGRAM_STATIC_GO);
		assert_true(rn_program_is_fault(RN_PROGRAM_STATIC_GO));
		assert_non_null(strstr(text, "CGO_ENABLED=1"));
		s = linked(LOADER, sections[i]);
		assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)),
				 RN_PROGRAM_GO);
		assert_false(rn_program_is_fault(RN_PROGRAM_GO));
		assert_non_null(strstr(text, "by cgo"));
		assert_non_null(strstr(text, in_dir("go")));
	}
	s = linked(LOADER, ".go.buildinfo2");
	assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)), RN_PROGRAM_OK);
	/* Sections that are not there, names that do not end. */
	s = linked(LOADER, ".go.buildinfo");
	s.image.eh.e_shoff = UINT64_MAX;
	assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)), RN_PROGRAM_OK);
	s = linked(LOADER, ".go.buildinfo");
	s.image.eh.e_shstrndx = 9;
	assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)), RN_PROGRAM_OK);
	s = linked(LOADER, ".go.buildinfo");
	s.sh[1].sh_name = UINT32_MAX;
	assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)), RN_PROGRAM_OK);
}

/* strip(1) takes sections away, the note stays. */
static void go_programs_are_known_by_their_note(void **state)
{
	struct sections s = linked(NULL, "");

	(void)state;
	if (sizeof(void *) != 8)
		skip();
	s.image.eh.e_shnum = 0;
	s.image.ph.p_type = PT_NOTE;
	s.image.ph.p_offset = offsetof(struct sections, note);
	s.note = (Elf64_Nhdr){ .n_namesz = 4, .n_type = 4 };
	memcpy(s.note_name, "Go\0", 4);
	assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)),
			 RN_PROGRAM_STATIC_GO);
	s.note.n_type = 3;
	assert_int_equal(check(make_file("go", &s, sizeof(s), 0755)), RN_PROGRAM_STATIC);
}

static void another_c_library_and_another_architecture_are_not_reached(void **state)
{
	struct sections s = linked("/lib/ld-musl-x86_64.so.1", ".text");

	(void)state;
	if (sizeof(void *) != 8 || !rn_program_machine())
		skip();
	assert_int_equal(check(make_file("musl", &s, sizeof(s), 0755)), RN_PROGRAM_MUSL);
	assert_non_null(strstr(text, "glibc"));
	s = linked("/opt/ld-musl-x86_64.so.1/ld-linux.so.2", ".text");
	assert_int_equal(check(make_file("glibc", &s, sizeof(s), 0755)), RN_PROGRAM_OK);
	s.image.eh.e_machine = EM_SPARCV9;
	assert_int_equal(check(make_file("sparc", &s, sizeof(s), 0755)),
			 RN_PROGRAM_OTHER_MACHINE);
}

static enum rn_program_fault check_script(const char *line)
{
	return check(make_file("script", line, strlen(line), 0755));
}

static void scripts_are_as_their_interpreters(void **state)
{
	struct sections s = linked(NULL, ".text"), go = linked(LOADER, ".go.buildinfo");
	char line[3 * PATH_MAX];

	(void)state;
	if (sizeof(void *) != 8)
		skip();
	make_file("interpreter", &s, sizeof(s), 0755);
	snprintf(line, sizeof(line), "#! %.4000s -e\n", in_dir("interpreter"));
	assert_int_equal(check_script(line), RN_PROGRAM_SCRIPT);
	assert_false(rn_program_is_fault(RN_PROGRAM_SCRIPT));
	assert_non_null(strstr(text, "statically linked"));
	/* By a script that is interpreted by it. */
	make_file("between", line, strlen(line), 0755);
	snprintf(line, sizeof(line), "#!%.4000s\n", in_dir("between"));
	assert_int_equal(check_script(line), RN_PROGRAM_SCRIPT);
	/* By one that is interpreted by itself. */
	snprintf(line, sizeof(line), "#!%.4000s\n", in_dir("script"));
	assert_int_equal(check_script(line), RN_PROGRAM_OK);
	make_file("interpreter", &go, sizeof(go), 0755);
	snprintf(line, sizeof(line), "#!%.4000s\n", in_dir("interpreter"));
	assert_int_equal(check_script(line), RN_PROGRAM_OK);
	assert_int_equal(check_script("#!/nowhere/sh\n"), RN_PROGRAM_NO_INTERPRETER);
	assert_non_null(strstr(text, "/nowhere/sh"));
	assert_int_equal(check_script("#!/usr/bin/env rocin-no-such-program\n"),
			 RN_PROGRAM_NO_INTERPRETER);
	assert_int_equal(check_script("#!/usr/bin/env sh\n"), RN_PROGRAM_OK);
	assert_int_equal(check_script("#!/usr/bin/env -S sh -e\n"), RN_PROGRAM_OK);
	assert_int_equal(check_script("#!\n"), RN_PROGRAM_OK);
	assert_int_equal(check_script("#!        \n"), RN_PROGRAM_OK);
}

static void scripts_count_as_reached(void **state)
{
	(void)state;
	assert_int_equal(check(make_file("script", "#!/bin/sh\n", 10, 0755)),
			 RN_PROGRAM_OK);
	assert_int_equal(check(make_file("empty", "", 0, 0755)), RN_PROGRAM_OK);
	assert_int_equal(check(make_file("short", ELFMAG, SELFMAG, 0755)), RN_PROGRAM_OK);
}

static void missing_programs_are_named(void **state)
{
	(void)state;
	assert_int_equal(check(in_dir("nothing")), RN_PROGRAM_NOT_FOUND);
	assert_non_null(strstr(text, in_dir("nothing")));
	assert_int_equal(check("rocin-no-such-program"), RN_PROGRAM_NOT_FOUND);
	assert_string_equal(text, "rocin-no-such-program: no such program");
}

static void what_cannot_be_executed_is_told_apart(void **state)
{
	(void)state;
	assert_int_equal(check(make_file("plain", "text", 4, 0644)),
			 RN_PROGRAM_NOT_EXECUTABLE);
	assert_int_equal(check(dir), RN_PROGRAM_NOT_EXECUTABLE);
}

static void the_path_is_searched_in_order(void **state)
{
	char path[3 * PATH_MAX], where[PATH_MAX];
	const char *old = getenv("PATH");
	char *saved = old ? strdup(old) : NULL;

	(void)state;
	assert_int_equal(mkdir(in_dir("first"), 0700), 0);
	assert_int_equal(mkdir(in_dir("second"), 0700), 0);
	make_file("first/tool", "#!", 2, 0644); /* there, but not executable */
	make_file("second/tool", "#!", 2, 0755);
	snprintf(path, sizeof(path), "%s/first:%s/second", dir, dir);
	setenv("PATH", path, 1);
	assert_int_equal(check("tool"), RN_PROGRAM_OK);
	assert_string_equal(found, in_dir("second/tool"));
	/* An empty element is the working directory. */
	assert_non_null(getcwd(where, sizeof(where)));
	assert_int_equal(chdir(in_dir("second")), 0);
	setenv("PATH", ":/nowhere", 1);
	assert_int_equal(check("tool"), RN_PROGRAM_OK);
	assert_string_equal(found, "./tool");
	assert_int_equal(chdir(where), 0);
	if (saved)
		setenv("PATH", saved, 1);
	else
		unsetenv("PATH");
	free(saved);
}

/* Such a file belongs to somebody else, which only root can make. */
static void set_user_id_programs_are_not_reached(void **state)
{
	struct image image = elf(ELFCLASS64, PT_INTERP);
	const char *path = make_file("setuid", &image, sizeof(image), 0755);

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(path, 65534, 0), 0);
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(check(path), RN_PROGRAM_SETUID);
	assert_non_null(strstr(text, "LD_PRELOAD"));
	assert_int_equal(chown(path, 0, 65534), 0);
	assert_int_equal(chmod(path, 02755), 0);
	assert_int_equal(check(path), RN_PROGRAM_SETUID);
	/* Of a script the system ignores the bits. */
	path = make_file("setuid", "#!/bin/sh\n", 10, 0755);
	assert_int_equal(chown(path, 65534, 0), 0);
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(check(path), RN_PROGRAM_OK);
}

static void set_user_id_to_oneself_does_not_matter(void **state)
{
	struct image image =
		elf(sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32, PT_INTERP);
	const char *path = make_file("own", &image, sizeof(image), 0755);

	(void)state;
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(check(path), RN_PROGRAM_OK);
}

static void programs_that_drop_the_environment_come_with_a_remedy(void **state)
{
	static const char *const names[] = { "sudo", "ssh", "mpirun", "srun" };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(names); i++) {
		const char *path = make_file(names[i], "#!", 2, 0755);

		assert_int_equal(check(path), RN_PROGRAM_DROPS_ENV);
		assert_non_null(strstr(text, "rocin run -- PROGRAM"));
	}
	assert_int_equal(check(make_file("sudoku", "#!", 2, 0755)), RN_PROGRAM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dynamic_programs_are_reached),
		cmocka_unit_test(static_programs_are_not),
		cmocka_unit_test(programs_of_another_word_size_are_not),
		cmocka_unit_test(go_programs_make_system_calls_themselves),
		cmocka_unit_test(go_programs_are_known_by_their_note),
		cmocka_unit_test(
			another_c_library_and_another_architecture_are_not_reached),
		cmocka_unit_test(scripts_are_as_their_interpreters),
		cmocka_unit_test(scripts_count_as_reached),
		cmocka_unit_test(missing_programs_are_named),
		cmocka_unit_test(what_cannot_be_executed_is_told_apart),
		cmocka_unit_test(the_path_is_searched_in_order),
		cmocka_unit_test(set_user_id_programs_are_not_reached),
		cmocka_unit_test(set_user_id_to_oneself_does_not_matter),
		cmocka_unit_test(programs_that_drop_the_environment_come_with_a_remedy),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
