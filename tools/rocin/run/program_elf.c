/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* program_elf.c - see program_elf.h */
#include "program_elf.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

enum {
	NOTE_NAME_LEN = 4,
	NOTE_GO_BUILD_ID = 4,
	SECTION_NAME_MAX = 32,
};

static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, len, (off_t)at) == (ssize_t)len;
}

/* A string that ends within @len bytes, or "". */
static void read_string(int fd, char *to, size_t len, uint64_t at)
{
	ssize_t n = at <= INT64_MAX ? pread(fd, to, len, (off_t)at) : -1;

	if (n <= 0 || !memchr(to, '\0', (size_t)n))
		to[0] = '\0';
}

static void read_loader(struct rn_program_elf *elf, int fd, const Elf64_Phdr *ph)
{
	read_string(fd, elf->loader, sizeof(elf->loader), ph->p_offset);
	/* It asks for one, whatever that is. */
	if (!elf->loader[0])
		strcpy(elf->loader, "?");
}

/* The first note of a segment: the Go linker writes a build ID of its own there. */
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

/* Return: false behind the last that can be read. */
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

void rn_program_elf_read(struct rn_program_elf *elf, int fd)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	*elf = (struct rn_program_elf){ 0 };
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
