/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* program_elf.h - what an executable file says of itself, as far as LD_PRELOAD is
 * concerned.
 */
#ifndef RN_PROGRAM_ELF_H
#define RN_PROGRAM_ELF_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RN_PROGRAM_LOADER_MAX = 256
};

struct rn_program_elf {
	bool is_elf;
	bool is_other_class; /* not of our word size; nothing below is valid */
	uint16_t machine;    /* EM_*; 0 is nobody's */
	bool is_go;	     /* made by the Go compiler, with or without cgo */
	/* The dynamic loader that it asks for; empty: none, LD_PRELOAD does not reach it.
	 */
	char loader[RN_PROGRAM_LOADER_MAX];
};

/* Read what there is: a damaged or cut off file says less, and is no error. */
void rn_program_elf_read(struct rn_program_elf *elf, int fd);

/* EM_* of programs that this one can be loaded into; 0: not known. */
uint16_t rn_program_machine(void);

#endif /* RN_PROGRAM_ELF_H */
