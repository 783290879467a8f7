/* document - JSON as a YAML document. */
#ifndef MUSTER_CLI_DOCUMENT_H
#define MUSTER_CLI_DOCUMENT_H

#include <jansson.h>
#include <stdio.h>

void document_print(const json_t *json, FILE *out);

#endif
