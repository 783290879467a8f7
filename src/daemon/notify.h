/* notify - what musterd tells the service manager: ready, status, watchdog, stopping.  Nothing
 * happens where there is none. */
#ifndef MUSTER_DAEMON_NOTIFY_H
#define MUSTER_DAEMON_NOTIFY_H

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);
void notify_status(const char *text);
void notify_watchdog(void);

#endif
