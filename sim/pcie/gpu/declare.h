/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* declare.h - rules that make registered memory the memory of a GPU.
 *
 * For programs that know nothing of GPUs: what ibv_reg_mr() is given and a rule matches
 * is treated as device memory. ROCIN_PCIE_DEVICE, or `rocin run --device-memory RULE`:
 *
 *	RULE[|RULE]...		RULE: WORD=VALUE[;WORD=VALUE]...
 *
 *	size>=N, size<=N	bytes, suffix K, M or G
 *	range=0xA-0xB		lies in [A, B)
 *	access=FLAG		has the access flag: relaxed, remote-write, remote-read,
 *				remote-atomic or local-write
 *	program=NAME		file name of the program
 *	gpu=N			of which GPU, 0 .. 3; 0 if not said
 *
 * All words of a rule must match; the first rule that does decides. `all` matches
 * everything.
 */
#ifndef RN_DECLARE_H
#define RN_DECLARE_H

#include "rocin/types.h"

enum {
	RN_DECLARE_RULES = 16,
	RN_DECLARE_NAME = 64,
};

struct rn_declare_rule {
	uint64_t size_min, size_max;
	uint64_t lo, hi;
	uint32_t access; /* RN_ACCESS_* bits that must all be set */
	char program[RN_DECLARE_NAME];
	int gpu;
};

struct rn_declare {
	unsigned count;
	struct rn_declare_rule rule[RN_DECLARE_RULES];
};

/**
 * rn_declare_parse() - Read rules
 * @out:	Changed only on success
 * @err:	Out on failure: a sentence that names the word
 *
 * Return: 0; -EINVAL.
 */
int rn_declare_parse(struct rn_declare *out, const char *text, char *err, size_t err_len);

/**
 * rn_declare_match() - Which GPU does a registration belong to?
 * @program:	File name of the program, without its folder
 * @access:	RN_ACCESS_* flags
 *
 * Return: number of the GPU; -1: none, it is host memory.
 */
int rn_declare_match(const struct rn_declare *d, const char *program, uint64_t addr,
		     uint64_t len, uint32_t access);

#endif /* RN_DECLARE_H */
