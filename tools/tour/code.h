/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* code.h - the C that a stop of the tour shows, made by excerpts.awk. */
#ifndef RN_TOUR_CODE_H
#define RN_TOUR_CODE_H

/* Lines with a newline each; NULL: there is no such stop. */
const char *rn_tour_code(const char *stop);

#endif /* RN_TOUR_CODE_H */
