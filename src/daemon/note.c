#include "daemon/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void note(enum note_level level, const char *fmt, ...)
{
    char text[2048];
    const char *word = level == NOTE_ERROR ? "error" : level == NOTE_WARN ? "warning" : "info";
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    for (char *p = text; *p != '\0'; p++) {
        *p = (unsigned char)*p < 0x20 ? ' ' : *p;
    }
    if (getenv("JOURNAL_STREAM") != NULL) {
        fprintf(stderr, "<%d>%s\n", (int)level, text);
    } else {
        fprintf(stderr, "musterd: level=%s %s\n", word, text);
    }
}
