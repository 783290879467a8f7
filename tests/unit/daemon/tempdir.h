/* tempdir - a directory of its own for a test, gone afterwards. */
#ifndef MUSTER_TESTS_DAEMON_TEMPDIR_H
#define MUSTER_TESTS_DAEMON_TEMPDIR_H

/* Setup and teardown for cmocka: *state is the path. */
int tempdir_make(void **state);
int tempdir_drop(void **state);
/* PATH/name; free with mem_free. */
char *tempdir_file(void **state, const char *name);

#endif
