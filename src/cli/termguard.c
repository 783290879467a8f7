#include "cli/termguard.h"

#include "base/check.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* Out of the alternate screen, cursor shown, plain text, keypad off: what every terminal since the
 * VT220 knows or ignores. */
#define RESET "\033[?1049l\033[?25h\033[0m\033[?1l\033>\r\n"

static void restore(const struct termios *saved)
{
    sigset_t set, old;

    /* it may have been in the background when it was ended */
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, &old);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, saved);
    (void)!write(STDOUT_FILENO, RESET, strlen(RESET));
    sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Who ends well puts the settings back; they differ when it was torn off without a signal. */
static bool changed(const struct termios *saved)
{
    struct termios now;

    return tcgetattr(STDIN_FILENO, &now) == 0 &&
           (now.c_iflag != saved->c_iflag || now.c_oflag != saved->c_oflag ||
            now.c_lflag != saved->c_lflag || now.c_cflag != saved->c_cflag);
}

static int wait_for(pid_t child, const sigset_t *set)
{
    int status = 0;

    for (;;) {
        siginfo_t info;
        int sig = sigwaitinfo(set, &info);

        if (sig > 0 && sig != SIGCHLD) {
            kill(child, sig == SIGINT || sig == SIGQUIT ? SIGTERM : sig);
        }
        if (waitpid(child, &status, WNOHANG) == child) {
            return status;
        }
    }
}

int termguard_run(int (*run)(void *arg), void *arg)
{
    static const int SIGNALS[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    struct termios saved;
    sigset_t set, old;
    pid_t parent = getpid();
    pid_t child;
    int status;

    if (tcgetattr(STDIN_FILENO, &saved) != 0) {
        return run(arg); /* there is nothing to give back */
    }
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        sigaddset(&set, SIGNALS[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &old);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        exit(getppid() == parent ? run(arg) : EXIT_FAILURE);
    }
    status = wait_for(child, &set);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (WIFSIGNALED(status) || changed(&saved)) {
        restore(&saved);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
