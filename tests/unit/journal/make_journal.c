/* make_journal - a journal of COUNT records in PATH, for the tests of the program muster-journal.
 * With a third argument it stays open, as musterd would keep it, until its input ends. */
#include "journal_fixture.h"

#include "base/check.h"
#include "base/str.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct journal *j = NULL;
    struct err err = {0};
    int64_t count;

    CHECK(argc >= 3 && str_to_int(argv[2], &count));
    if (journal_open_sqlite(argv[1], false, &j, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (; count > 0; count -= count % 100 == 0 ? 100 : count % 100) {
        CHECK(fixture_append(j, (size_t)(count % 100 == 0 ? 100 : count % 100), false, &err) == 0);
    }
    if (argc > 3) {
        puts("open");
        fflush(stdout);
        (void)getchar();
    }
    journal_close(j);
    return 0;
}
