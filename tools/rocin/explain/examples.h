/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* examples.h - the examples of the rules: provider/validate/rules/CATEGORY.txt. */
#ifndef RN_EXAMPLES_H
#define RN_EXAMPLES_H

#include <stddef.h>

/**
 * rn_rule_example() - Find the example of a rule
 * @rule:	Such as "life/destroy-order"
 * @len:	Out: bytes of the example
 *
 * Return: its text, "wrong:" and "mended:" with indented lines each; NULL: there is none.
 */
const char *rn_rule_example(const char *rule, size_t *len);

#endif /* RN_EXAMPLES_H */
