/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* example_list.h - the programs in tools/examples, and what each shows. */
#ifndef RN_EXAMPLE_LIST_H
#define RN_EXAMPLE_LIST_H

struct rn_example {
	const char *name;     /* of the program */
	const char *question; /* one line */
	const char *knobs;    /* --pcie */
	const char *expected; /* what one might think */
	const char *why;      /* it is not so; names the rule */
	const char *remedy;
};

/* Ends with name == NULL. */
extern const struct rn_example rn_examples[];

#endif /* RN_EXAMPLE_LIST_H */
