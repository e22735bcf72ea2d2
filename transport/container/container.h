/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* container.h - converts a pointer to a member of a struct to a pointer to the struct. */
#ifndef RN_CONTAINER_H
#define RN_CONTAINER_H

#include "rocin/types.h"

/* Returns the struct of type @type whose member @member is at @ptr. @ptr must not
 * be NULL.
 */
#define RN_CONTAINER_OF(ptr, type, member)                             \
	({                                                             \
		__typeof__(((type *)0)->member) *rn_member_ = (ptr);   \
		(type *)((char *)rn_member_ - offsetof(type, member)); \
	})

#endif /* RN_CONTAINER_H */
