/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_main.h - included ahead of a test that shares a program with others; see
 * dispatch.h. There `main' is defined as test_NAME, which needs a prototype.
 */
int main(void);
