/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* examples.h - examples of the rules of the validation layer, from the files
 * provider/validate/rules/CATEGORY.txt.
 */
#ifndef RN_EXAMPLES_H
#define RN_EXAMPLES_H

#include <stddef.h>

/**
 * rn_rule_example() - Find the example of a rule of the validation layer
 * @rule:	Name of the rule, such as "life/destroy-order"
 * @len:	Out: length of the example in bytes
 *
 * Return: the text of the example: "wrong:" and "mended:", with indented lines behind
 * each; NULL: the rule has no example.
 */
const char *rn_rule_example(const char *rule, size_t *len);

#endif /* RN_EXAMPLES_H */
