/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* declare.h - rules by which registered memory is treated as the memory of a GPU.
 *
 * For programs that do not use GPUs: memory that the program registers with ibv_reg_mr()
 * is treated as device memory if a rule matches it. The rules come from ROCIN_PCIE_DEVICE
 * or from `rocin run --device-memory RULE`:
 *
 *	RULE[|RULE]...		RULE: WORD=VALUE[;WORD=VALUE]...
 *
 *	size>=N, size<=N	bytes, suffix K, M or G
 *	range=0xA-0xB		lies in [A, B)
 *	access=FLAG		has the access flag: relaxed, remote-write, remote-read,
 *				remote-atomic or local-write
 *	program=NAME		file name of the program
 *	gpu=N			the GPU, 0 .. 3; GPU 0 if left out
 *
 * A rule matches if all its words match; the first rule that matches is used. `all`
 * matches everything.
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
	uint32_t access; /* RN_ACCESS_* flags that the registration must have */
	char program[RN_DECLARE_NAME];
	int gpu;
};

struct rn_declare {
	unsigned count;
	struct rn_declare_rule rule[RN_DECLARE_RULES];
};

/**
 * rn_declare_parse() - Parse rules
 * @out:	Changed only on success
 * @err:	Out on failure: an error text that quotes the wrong word
 *
 * Return: 0 or -EINVAL.
 */
int rn_declare_parse(struct rn_declare *out, const char *text, char *err, size_t err_len);

/**
 * rn_declare_match() - Find the GPU whose memory a rule makes of registered memory
 * @program:	File name of the program, without its folder
 * @access:	RN_ACCESS_* flags
 *
 * Return: number of the GPU, or -1 if no rule matches: host memory.
 */
int rn_declare_match(const struct rn_declare *d, const char *program, uint64_t addr,
		     uint64_t len, uint32_t access);

#endif /* RN_DECLARE_H */
