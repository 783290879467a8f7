#include "daemon/notify.h"

#ifdef MUSTER_SYSTEMD

#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void notify_ready(void)
{
    (void)sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
    struct timespec now;
    char text[96];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    (void)sd_notify(0, text);
}

void notify_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

void notify_status(const char *text)
{
    (void)sd_notifyf(0, "STATUS=%s", text);
}

void notify_watchdog(void)
{
    (void)sd_notify(0, "WATCHDOG=1");
}

#else

void notify_ready(void)
{
}

void notify_reloading(void)
{
}

void notify_stopping(void)
{
}

void notify_status(const char *text)
{
    (void)text;
}

void notify_watchdog(void)
{
}

#endif
