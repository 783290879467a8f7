/* openapi - doc/openapi.yaml as JSON, put in by the build. */
#ifndef MUSTER_HTTP_OPENAPI_H
#define MUSTER_HTTP_OPENAPI_H

#include <stddef.h>

extern const unsigned char OPENAPI_JSON[];
extern const size_t OPENAPI_JSON_BYTES;

#endif
