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

/* Stop as the child did, and go on together.  Not before it: the shell would have the terminal and
 * write to it while the child still puts its settings back. */
static void stop_too(pid_t child)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    kill(getpid(), SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* here it stops */
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(child, SIGCONT);
}

static int wait_for(pid_t child, const sigset_t *set)
{
    int status = 0;

    for (;;) {
        siginfo_t info;
        int sig = sigwaitinfo(set, &info);

        if (sig > 0 && sig != SIGCHLD && (sig != SIGTSTP || info.si_code == SI_USER)) {
            kill(child, sig == SIGINT || sig == SIGQUIT ? SIGTERM : sig);
        } /* the Ctrl-Z of a terminal is told to both */
        if (waitpid(child, &status, WNOHANG | WUNTRACED) != child) {
            continue;
        }
        if (!WIFSTOPPED(status)) {
            return status;
        }
        stop_too(child);
    }
}

int termguard_run(int (*run)(void *arg), void *arg)
{
    static const int SIGNALS[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP};
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
