/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_main.h - is included before a test that shares a program with others (dispatch.h).
 * A macro renames its main() to test_NAME there, and that function needs this prototype.
 */
int main(void);
