#include "daemon/services.h"

#include "base/check.h"
#include "base/hash.h"
#include "daemon/bodyread.h"
#include "daemon/jsonout.h"
#include "daemon/signing.h"

static const char *const NO_PARAMS[] = {NULL};

void service_journal_key(struct daemon *d, const struct asked *a)
{
    CLEANUP(str_fini) struct str pem = {0};
    unsigned char bytes[SIGNKEY_PUBLIC_BYTES];
    char public_key[HASH_TEXT_MAX];
    json_t *o;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    signkey_public_bytes(signing_key(d), bytes);
    hash_hex(bytes, sizeof(bytes), public_key);
    signkey_public_pem(signing_key(d), &pem);
    o = json_object();
    jsonout_text(o, "key", signkey_id(signing_key(d)));
    jsonout_text(o, "public_key", public_key);
    jsonout_text(o, "pem", str_text(&pem));
    answer_json(a, o);
}

void service_journal_rotate(struct daemon *d, const struct asked *a)
{
    if (answer_params(a, NO_PARAMS) && bodyread_nothing(a)) {
        signing_rotate(d, a);
    }
}

void service_journal_checkpoint(struct daemon *d, const struct asked *a)
{
    if (answer_params(a, NO_PARAMS) && bodyread_nothing(a)) {
        signing_checkpoint(d, a);
    }
}
