/* cmd_completion - the completion of the shells: a script for each, and what answers them.
 *
 * The names of jobs, queues, pools and nodes are asked of musterd in a moment that nobody notices;
 * when it is away there are none, and never a message in the middle of somebody's line. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/completion.h"
#include "cli/display.h"

#include <string.h>

#define ASK_MS 400

static const char BASH[] =
    "# bash completion of muster: source <(muster completion bash)\n"
    "_muster() {\n"
    "    local line hint= cur=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "            :*) hint=$line ;;\n"
    "            *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" _complete \"$COMP_CWORD\" \"${COMP_WORDS[@]:1}\" "
    "2>/dev/null)\n"
    "    [ \"$cur\" = = ] && cur=\n"
    "    case $hint in\n"
    "        :files)\n"
    "            compopt -o filenames\n"
    "            while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- "
    "\"$cur\")\n"
    "            ;;\n"
    "        :programs)\n"
    "            while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -c -- "
    "\"$cur\")\n"
    "            ;;\n"
    "        :part) compopt -o nospace ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _muster muster\n";

static const char ZSH[] =
    "#compdef muster\n"
    "# zsh completion of muster: source <(muster completion zsh), or a file _muster in $fpath\n"
    "_muster() {\n"
    "    local line hint tab=$'\\t'\n"
    "    local -a lines rows bare\n"
    "    lines=(\"${(@f)$(${~words[1]} _complete $((CURRENT - 1)) \"${(@)words[2,-1]}\" "
    "2>/dev/null)}\")\n"
    "    for line in $lines; do\n"
    "        case $line in\n"
    "            :*) hint=$line ;;\n"
    "            *$tab*) rows+=(\"${${line%%$tab*}//:/\\\\:}:${line#*$tab}\") ;;\n"
    "            *) bare+=(\"$line\") ;;\n"
    "        esac\n"
    "    done\n"
    "    local -a more\n"
    "    [[ $hint == :part ]] && more=(-S '')\n"
    "    (( $#rows )) && _describe -t words muster rows $more\n"
    "    (( $#bare )) && compadd $more -- $bare\n"
    "    case $hint in\n"
    "        :files) [[ $PREFIX == --*=* ]] && compset -P '*='; _files ;;\n"
    "        :programs) _command_names -e ;;\n"
    "    esac\n"
    "    return 0\n"
    "}\n"
    "if [[ $funcstack[1] == _muster ]]; then _muster \"$@\"; else compdef _muster muster; fi\n";

static const char FISH[] =
    "# fish completion of muster: muster completion fish | source\n"
    "function __muster_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l current (commandline -ct)\n"
    "    set -l hint\n"
    "    for line in (eval $words[1] _complete (count $words) (string escape -- $words[2..-1] "
    "\"$current\") 2>/dev/null)\n"
    "        if string match -q ':*' -- $line\n"
    "            set hint $line\n"
    "        else\n"
    "            echo $line\n"
    "        end\n"
    "    end\n"
    "    switch \"$hint\"\n"
    "        case :files\n"
    "            __fish_complete_path \"$current\"\n"
    "        case :programs\n"
    "            __fish_complete_command\n"
    "    end\n"
    "end\n"
    "complete -c muster -f -a '(__muster_complete)'\n";

static int run_completion(struct cli *cli, const struct args *args)
{
    static const struct {
        const char *shell;
        const char *script;
    } SCRIPTS[] = {{"bash", BASH}, {"zsh", ZSH}, {"fish", FISH}};
    const char *shell = args_word(args, 0);
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(SCRIPTS); i++) {
        if (strcmp(SCRIPTS[i].shell, shell) == 0) {
            fputs(SCRIPTS[i].script, stdout);
            return 0;
        }
    }
    (void)err_set(&err, ERR_INVALID, "no completion for '%s': bash, zsh or fish", shell);
    return cli_fail(cli, &err);
}

/* ---- the answers ---- */

static void print_row(const struct completion *c, const char *text, size_t len, const char *help)
{
    struct str raw = {0}, row = {0};

    str_add_n(&raw, text, len);
    if (strncmp(str_text(&raw), c->typed, strlen(c->typed)) == 0) {
        str_add(&row, c->prefix);
        display_text(&row, str_text(&raw));
        if (help[0] != '\0') {
            str_add_char(&row, '\t');
            display_text(&row, help);
        }
        printf("%s\n", str_text(&row));
    }
    str_fini(&raw);
    str_fini(&row);
}

static const struct source {
    enum completion_kind kind;
    const char *path;
    const char *key;
    const char *help[3]; /* members that describe it */
} SOURCES[] = {
    {COMPLETION_JOBS, "/v1/jobs?limit=1000", "job", {"name", "queue", "state"}},
    {COMPLETION_ENDED_JOBS, "/v1/jobs?limit=1000&all=true", "job", {"name", "queue", "state"}},
    {COMPLETION_QUEUES, "/v1/queues?limit=1000", "queue", {"parent", NULL, NULL}},
    {COMPLETION_POOLS, "/v1/pools?limit=1000", "pool", {NULL, NULL, NULL}},
    {COMPLETION_NODES, "/v1/nodes?limit=1000", "node", {"pool", "state", NULL}},
};

static void print_source(struct cli *cli, const struct completion *c, const struct source *s)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    const json_t *item;
    size_t i;

    cli->timeout_ms = ASK_MS;
    if (cli_get(cli, s->path, &answer, NULL) != 0) {
        return;
    }
    json_array_foreach(json_object_get(answer, "items"), i, item)
    {
        const char *text = member_text(item, s->key);
        struct str help = {0};

        for (size_t k = 0; k < ARRAY_LEN(s->help) && s->help[k] != NULL; k++) {
            const char *word = member_text(item, s->help[k]);

            str_addf(&help, "%s%s", help.len > 0 && word[0] != '\0' ? " " : "", word);
        }
        print_row(c, text, strlen(text), str_text(&help));
        str_fini(&help);
    }
}

static int run_complete(struct cli *cli, const struct args *args)
{
    struct completion c;
    int64_t at = 0;
    bool part = false;

    if (args->words.count == 0 || !str_to_int(args->words.items[0], &at) || at < 1 ||
        (size_t)at > args->words.count) {
        return 2;
    }
    completion_find(args->words.count - 1, args->words.items + 1, (size_t)at - 1, &c);
    for (size_t i = 0; i < c.rows.count; i++) {
        const struct completion_row *row = &c.rows.items[i];

        print_row(&c, row->text, row->len, row->help);
        part = part || row->text[row->len - 1] == '=';
    }
    for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++) {
        if (SOURCES[i].kind == c.kind) {
            print_source(cli, &c, &SOURCES[i]);
        }
    }
    if (c.kind == COMPLETION_FILES || c.kind == COMPLETION_PROGRAMS) {
        printf("%s\n", c.kind == COMPLETION_FILES ? ":files" : ":programs");
    } else if (part) {
        printf(":part\n");
    }
    completion_fini(&c);
    return 0;
}

const struct verb COMPLETION_VERBS[] = {{"completion", "SHELL",
                                         "print a completion script for bash, zsh or fish",
                                         "Packages install the scripts; by hand: source <(muster "
                                         "completion bash).  Jobs, queues, pools "
                                         "and nodes are completed by their present names.",
                                         NULL, 1, 1, VERB_MIXED, run_completion},
                                        {"_complete", "INDEX WORD...", "answer the scripts", NULL,
                                         NULL, 1, -1, VERB_RAW, run_complete},
                                        {0}};
