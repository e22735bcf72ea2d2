/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* html.h - pages without scripts that need nothing from outside, and the escaping of text
 * in HTML, SVG and XML.
 */
#ifndef RN_HTML_H
#define RN_HTML_H

#include <stdio.h>

#include "rocin/types.h"

/* The head of a page in the common style, up to its title as a headline. @styles: more
 * style sheets, the last is NULL; or NULL. The head is well-formed XML.
 */
void rn_html_begin(FILE *to, const char *title, const char *const *styles);
void rn_html_end(FILE *to);

/* Text with &, <, >, " and ' replaced; bytes that are no printable ASCII become '?', as
 * they may come from anybody and might break the encoding.
 */
void rn_html_text(FILE *to, const char *text);

/* For XML whose texts are our own, its attributes in double quotation marks: UTF-8 stays,
 * control characters go.
 */
void rn_xml_text(FILE *to, const char *text);

#endif /* RN_HTML_H */
