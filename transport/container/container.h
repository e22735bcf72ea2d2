/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* container.h - from a member that links an object back to the object. */
#ifndef RN_CONTAINER_H
#define RN_CONTAINER_H

#include "rocin/types.h"

/* @ptr must point to member @member of a @type; NULL is not allowed. */
#define RN_CONTAINER_OF(ptr, type, member)                             \
	({                                                             \
		__typeof__(((type *)0)->member) *rn_member_ = (ptr);   \
		(type *)((char *)rn_member_ - offsetof(type, member)); \
	})

#endif /* RN_CONTAINER_H */
