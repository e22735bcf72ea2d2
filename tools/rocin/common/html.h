/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* html.h - writes HTML pages that need no scripts and no other files, and escapes text
 * for HTML, SVG and XML.
 */
#ifndef RN_HTML_H
#define RN_HTML_H

#include <stdio.h>

#include "rocin/types.h"

/* Writes the head of a page in the common style, and its title as a headline. @styles:
 * further style sheets, ended by NULL; or NULL. The head is well-formed XML.
 */
void rn_html_begin(FILE *to, const char *title, const char *const *styles);
void rn_html_end(FILE *to);

/* Writes text with &, <, >, " and ' escaped. Bytes that are no printable ASCII become
 * '?': they may come from a file of unknown origin and break the encoding.
 */
void rn_html_text(FILE *to, const char *text);

/* Writes text for XML, or for an attribute in double quotes, that our own code made:
 * UTF-8 is kept, control characters are dropped.
 */
void rn_xml_text(FILE *to, const char *text);

#endif /* RN_HTML_H */
