/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* container.h - from a pointer to a member of a struct to the struct. */
#ifndef RN_CONTAINER_H
#define RN_CONTAINER_H

#include "rocin/types.h"

/* @ptr must point to member @member of a struct @type, and not be NULL. */
#define RN_CONTAINER_OF(ptr, type, member)                             \
	({                                                             \
		__typeof__(((type *)0)->member) *rn_member_ = (ptr);   \
		(type *)((char *)rn_member_ - offsetof(type, member)); \
	})

#endif /* RN_CONTAINER_H */
