/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs.h - includes the declarations of all verbs, for files that have tables of verbs.
 */
#ifndef RNP_VERBS_H
#define RNP_VERBS_H

#include "context.h"
#include "provider/verbs/memory/mr.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/event.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/queue/comp_cntr.h"
#include "provider/verbs/queue/cq.h"
#include "provider/verbs/queue/post.h"
#include "provider/verbs/queue/qp.h"
#include "provider/verbs/queue/srq.h"
#include "provider/verbs/queue/steering.h"

#endif /* RNP_VERBS_H */
