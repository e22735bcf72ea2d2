/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* got.h - the place through which a loaded library calls a function of another. */
#ifndef RNP_GOT_H
#define RNP_GOT_H

/**
 * rnp_got_find() - Find the slot of an imported function
 * @handle:	Of the calling library, from dlopen()
 * @symbol:	Name of the function
 *
 * Return: address of the slot, which holds the address of the function (or of the code
 *	   that binds it at the first call); NULL if the library does not import it or the
 *	   processor is neither x86-64 nor aarch64.
 */
void **rnp_got_find(void *handle, const char *symbol);

/* Store @fn in a slot found so; works on read-only relocations too.
 * Return: 0 or -errno of mprotect().
 */
int rnp_got_set(void *handle, void **slot, void *fn);

#endif /* RNP_GOT_H */
