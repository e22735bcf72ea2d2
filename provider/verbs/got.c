/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* got.c - the place through which a loaded library calls a function of another. */
#include "got.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum {
	JUMP_SLOT = R_X86_64_JUMP_SLOT,
	GLOB_DAT = R_X86_64_GLOB_DAT
};
#elif defined(__aarch64__)
enum {
	JUMP_SLOT = R_AARCH64_JUMP_SLOT,
	GLOB_DAT = R_AARCH64_GLOB_DAT
};
#else
enum {
	JUMP_SLOT = -1,
	GLOB_DAT = -1
};
#endif

/* NOLINTBEGIN(performance-no-int-to-ptr): the ELF tables hold addresses as integers */
struct relocations {
	const ElfW(Rela) * first;
	size_t count;
};

struct dynamic {
	const ElfW(Sym) * symbols;
	const char *strings;
	struct relocations plt, other;
};

/* glibc has added the load address to the pointers in the dynamic section. */
static struct dynamic read_dynamic(const struct link_map *map)
{
	struct dynamic d = { 0 };

	for (const ElfW(Dyn) *dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
		const void *ptr = (const void *)dyn->d_un.d_ptr;

		switch (dyn->d_tag) {
		case DT_SYMTAB:
			d.symbols = ptr;
			break;
		case DT_STRTAB:
			d.strings = ptr;
			break;
		case DT_JMPREL:
			d.plt.first = ptr;
			break;
		case DT_PLTRELSZ:
			d.plt.count = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			d.other.first = ptr;
			break;
		case DT_RELASZ:
			d.other.count = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
	return d;
}

static void **find_in(const struct dynamic *d, struct relocations r, ElfW(Addr) base,
		      const char *symbol)
{
	for (size_t i = 0; r.first && i < r.count; i++) {
		const ElfW(Rela) *rela = &r.first[i];
		int type = (int)ELF64_R_TYPE(rela->r_info);
		const ElfW(Sym) *sym = &d->symbols[ELF64_R_SYM(rela->r_info)];

		if ((type == JUMP_SLOT || type == GLOB_DAT) &&
		    !strcmp(d->strings + sym->st_name, symbol))
			return (void **)(base + rela->r_offset);
	}
	return NULL;
}

static const struct link_map *map_of(void *handle)
{
	struct link_map *map = NULL;

	return dlinfo(handle, RTLD_DI_LINKMAP, &map) ? NULL : map;
}

void **rnp_got_find(void *handle, const char *symbol)
{
	const struct link_map *map = map_of(handle);
	struct dynamic d;
	void **slot;

	if (!map)
		return NULL;
	d = read_dynamic(map);
	if (!d.symbols || !d.strings)
		return NULL;
	slot = find_in(&d, d.plt, map->l_addr, symbol);
	return slot ? slot : find_in(&d, d.other, map->l_addr, symbol);
}

/* ------------------------------------------------------------------------- writing */
struct relro_query {
	ElfW(Addr) base, addr;
	bool inside;
};

static int look_for_relro(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct relro_query *q = arg;

	(void)size;
	if (info->dlpi_addr != q->base)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) start = q->base + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO && q->addr >= start &&
		    q->addr < start + p->p_memsz)
			q->inside = true;
	}
	return 1;
}

int rnp_got_set(void *handle, void **slot, void *fn)
{
	const struct link_map *map = map_of(handle);
	uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)slot & ~(page_size - 1));
	struct relro_query q = { .addr = (ElfW(Addr))slot };

	if (!map)
		return -EINVAL;
	q.base = map->l_addr;
	dl_iterate_phdr(look_for_relro, &q);
	if (mprotect(page, page_size, PROT_READ | PROT_WRITE))
		return -errno;
	/* Other threads may be calling through it. */
	__atomic_store_n(slot, fn, __ATOMIC_RELEASE);
	if (q.inside)
		mprotect(page, page_size, PROT_READ);
	return 0;
}
/* NOLINTEND(performance-no-int-to-ptr) */
