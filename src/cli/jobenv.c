#include "cli/jobenv.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>

bool jobenv_secret(const char *name)
{
    static const char *const WORDS[] = {"TOKEN",    "TOKENS",     "SECRET",      "SECRETS",
                                        "PASSWORD", "PASSWORDS",  "PASSWD",      "PASSPHRASE",
                                        "APIKEY",   "CREDENTIAL", "CREDENTIALS", "KEY",
                                        "PASS",     "PWD",        "COOKIE"};
    const char *at = name;

    if (strcmp(name, "PWD") == 0 || strcmp(name, "OLDPWD") == 0) {
        return false;
    }
    while (*at != '\0') {
        size_t len = strcspn(at, "_");

        for (size_t i = 0; i < ARRAY_LEN(WORDS); i++) {
            if (strlen(WORDS[i]) == len && strncasecmp(WORDS[i], at, len) == 0) {
                return true;
            }
        }
        at += len + (at[len] != '\0');
    }
    return false;
}

bool jobenv_allowed(const char *name)
{
    static const char *const WHOLE[] = {"PATH", "HOME", "LANG", "TZ", "VIRTUAL_ENV"};
    static const char *const BEGIN[] = {"LC_", "CUDA_", "NCCL_", "OMP_", "PYTHON", "CONDA_"};

    if (jobenv_secret(name)) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(WHOLE); i++) {
        if (strcmp(WHOLE[i], name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(BEGIN); i++) {
        if (strncmp(BEGIN[i], name, strlen(BEGIN[i])) == 0) {
            return true;
        }
    }
    return false;
}

void jobenv_add(struct jobspec *s, char *const *environ_list)
{
    json_t *env = json_object_get(s->body, "env");

    if (env == NULL) {
        env = json_object();
        json_object_set_new(s->body, "env", env);
    }
    for (size_t i = 0; environ_list[i] != NULL; i++) {
        const char *equals = strchr(environ_list[i], '=');
        CLEANUP(mem_freep) char *name = NULL;

        if (equals == NULL || !str_is_utf8(environ_list[i], strlen(environ_list[i]))) {
            continue;
        }
        name = mem_text_n(environ_list[i], (size_t)(equals - environ_list[i]));
        if (jobenv_allowed(name) && json_object_get(env, name) == NULL) {
            json_object_set_new(env, name, json_string(equals + 1));
        }
    }
}
