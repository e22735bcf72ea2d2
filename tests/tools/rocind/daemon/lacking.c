/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lacking.c - a program in the place of rocind whose shared library the dynamic linker
 * does not find by itself; and that library.
 */
__attribute__((visibility("default"))) int rocin_test_lacking(void);

#ifdef IS_LIBRARY
int rocin_test_lacking(void)
{
	return 1;
}
#else
int main(void)
{
	return rocin_test_lacking();
}
#endif
