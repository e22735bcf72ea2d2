/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* code.h - the excerpts of C that the stops of the tour show; excerpts.awk makes the
 * source file.
 */
#ifndef RN_TOUR_CODE_H
#define RN_TOUR_CODE_H

/* Returns the lines for a stop, each with a newline; NULL if there is no such stop. */
const char *rn_tour_code(const char *stop);

#endif /* RN_TOUR_CODE_H */
