/* A level type like `compressed`, with one lie: about its table, if a macro is defined, or else about itself, named by
 * its argument. Without an argument it is sound. */
#include "ust_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME UST_TEXT("lies")
#endif
#ifndef ABI
#define ABI UST_PLUGIN_ABI
#endif
#ifndef SYMBOL
#define SYMBOL ust_plugin
#endif
#ifndef COUNT
#define COUNT 1
#endif
#ifndef TABLE
#define TABLE &table
#endif
#ifndef LEVELS
#define LEVELS levels
#endif
#ifndef SAMPLES
#define SAMPLES 1
#endif
#ifndef WALK
#define WALK walk
#endif

struct lie {
    char word[32];
    char text[48];
};

static int tells(const ust_level *level, const char *lie) { return strcmp(((const struct lie *)level)->word, lie) == 0; }

static int32_t make(const ust_level_type *type, const ust_arg *args, uint64_t count, ust_level **level, ust_error *error) {
    struct lie *made = calloc(1, sizeof *made);
    (void)type;
    if (count > 0) {
        snprintf(made->word, sizeof made->word, "%.*s", (int)args[0].text.len, args[0].text.data);
        snprintf(made->text, sizeof made->text, "lies(%s)", made->word);
    } else {
        snprintf(made->text, sizeof made->text, "lies");
    }
    *level = (ust_level *)made;
    if (tells(*level, "make_code")) return 77;
    if (tells(*level, "make_long")) {
        /* No zero byte anywhere. */
        memset(error->message, 'x', sizeof error->message);
        memset(error->subject, '\xff', sizeof error->subject);
        return UST_BAD_ARGUMENT;
    }
    return UST_OK;
}

static int32_t describe(const ust_level *level, ust_description *description, ust_error *error) {
    static ust_array_spec arrays[2], wrong[2];
    static const ust_array_spec pos = {UST_TEXT("pos"), {0, 0}, UST_POSITIONS, UST_PER_PARENT_BOUND, 0, 0};
    static const ust_array_spec crd = {UST_TEXT("crd"), {0, 0}, UST_OWN, UST_PER_POSITION, UST_I32, 0};
    static const ust_text other = UST_TEXT("compressed"), bytes = UST_TEXT("\xff\xfe");
    static const ust_text open = UST_TEXT("lies(text_open");
    (void)error;
    arrays[0] = pos, arrays[1] = crd;
    wrong[0] = pos, wrong[1] = crd;
    description->text.data = ((const struct lie *)level)->text;
    description->text.len = strlen(description->text.data);
    description->arrays = arrays;
    description->array_count = 2;
    description->properties = UST_ORDERED | UST_UNIQUE | UST_COMPACT | UST_CONTIGUOUS;
    description->locate = UST_LOCATE_LOGARITHMIC;
    if (tells(level, "text_other")) description->text = other;
    if (tells(level, "text_open")) description->text = open;
    if (tells(level, "text_bytes")) description->text = bytes;
    if (tells(level, "text_null")) description->text.data = 0;
    if (tells(level, "text_long")) description->text.len = 1ull << 40;
    if (tells(level, "arrays_null")) description->arrays = 0;
    if (tells(level, "arrays_many")) description->array_count = 1ull << 40;
    if (tells(level, "bits")) description->properties |= 1u << 20;
    if (tells(level, "full_arrays")) description->properties |= UST_FULL;
    if (tells(level, "cost")) description->locate = 9;
    if (tells(level, "cost_none")) description->locate = UST_LOCATE_BY_WALKING;
    if (tells(level, "name_twice")) wrong[1].name = pos.name, description->arrays = wrong;
    if (tells(level, "name_bytes")) wrong[1].name = bytes, description->arrays = wrong;
    if (tells(level, "role")) wrong[1].role = 5, description->arrays = wrong;
    if (tells(level, "kind")) wrong[1].kind = 7, description->arrays = wrong;
    if (tells(level, "per")) wrong[1].per = 9, description->arrays = wrong;
    if (tells(level, "min_bits")) wrong[1].min_bits = 5, description->arrays = wrong;
    if (tells(level, "narrow")) wrong[1].kind = UST_U8, description->arrays = wrong;
    return UST_OK;
}

static int32_t fits(const ust_level *level, const ust_place *place, ust_error *error) {
    if (!tells(level, "root") || place->parent) return UST_OK;
    snprintf(error->subject, sizeof error->subject, "it is the first level");
    snprintf(error->message, sizeof error->message, "put it under another");
    return UST_MISPLACED;
}

static int32_t assemble(const ust_level *level, const ust_site *site, const ust_children *children,
                        ust_assembly *assembly, ust_error *error) {
    const uint64_t parents = children->parents, count = (uint64_t)children->offsets[parents];
    int64_t *pos = assembly->array(assembly->host, 0, parents + 1);
    (void)site;
    if (tells(level, "array_missing")) return UST_OK;
    if (tells(level, "array_twice")) return assembly->array(assembly->host, 0, 1) ? UST_OK : UST_FAILED;
    if (tells(level, "array_beyond")) return assembly->array(assembly->host, 2, 1) ? UST_OK : UST_FAILED;
    if (tells(level, "array_huge")) return assembly->array(assembly->host, 1, UINT64_MAX) ? UST_OK : UST_FAILED;
    if (tells(level, "array_large")) return assembly->array(assembly->host, 1, 1ull << 50) ? UST_OK : UST_FAILED;
    int64_t *crd = assembly->array(assembly->host, 1, count + tells(level, "length"));
    if (!pos || !crd) return UST_FAILED;
    memcpy(pos, children->offsets, (parents + 1) * sizeof *pos);
    memcpy(crd, children->crd, count * sizeof *crd);
    for (uint64_t child = 0; child < count; child++) assembly->position[child] = (int64_t)child;
    assembly->positions = count;
    if (tells(level, "cannot_hold")) {
        error->first = 3, error->second = 5;
        snprintf(error->message, sizeof error->message, "it is full");
        return UST_CANNOT_HOLD;
    }
    if (tells(level, "code")) return -5;
    if (tells(level, "position_high")) assembly->position[0] = (int64_t)count;
    if (tells(level, "position_low")) assembly->position[0] = -9;
    if (tells(level, "position_none")) assembly->positions = 0;
    if (tells(level, "positions_many")) assembly->positions = UINT64_MAX;
    if (tells(level, "crd_high")) crd[count - 1] = 1000;
    if (tells(level, "crd_low")) crd[0] = -1;
    if (tells(level, "crd_descends")) crd[0] = children->crd[1], crd[1] = children->crd[0];
    if (tells(level, "crd_wide")) crd[0] = 1ll << 40;
    if (tells(level, "narrow")) crd[0] = 300;
    if (tells(level, "pos_beyond")) pos[parents] = 1000000000;
    if (tells(level, "pos_descends")) pos[1] = 4, pos[2] = 1;
    if (tells(level, "pos_negative")) pos[0] = -1000000000;
    return UST_OK;
}

/* Accepts everything, so that others have to look. */
static int32_t check(const ust_level *level, const ust_site *site, const ust_array *arrays, const ust_parents *parents,
                     ust_reach *reach, ust_error *error) {
    (void)site, (void)parents, (void)error;
    reach->positions = arrays[1].length;
    if (tells(level, "check_many")) reach->positions = UINT64_MAX;
    if (tells(level, "check_few")) reach->positions -= 1;
    if (tells(level, "check_beyond")) reach->listed = 1, reach->add(reach->host, 0, 1ull << 40);
    if (tells(level, "check_turned")) reach->listed = 1, reach->add(reach->host, 2, 1);
    if (tells(level, "check_code")) return 99;
    return UST_OK;
}

static int32_t walk(const ust_level *level, ust_text *text, ust_error *error) {
    static const ust_text sound = UST_TEXT(
        "cursor position at from pos[parent] to pos[parent_end]; step { coordinate crd[at]; position at; }");
    static const ust_text lies[][2] = {
        {UST_TEXT("walk_empty"), {0, 0}},
        {UST_TEXT("walk_bytes"), UST_TEXT("\xff")},
        {UST_TEXT("walk_null"), {0, 12}},
        {UST_TEXT("walk_array"),
         UST_TEXT("cursor position at from gap[parent] to 1; step { coordinate at; position at; }")},
        {UST_TEXT("walk_type"),
         UST_TEXT("cursor position at from 0 to 1; step { coordinate at < 1; position at; }")},
        {UST_TEXT("walk_beyond"),
         UST_TEXT("cursor position at from pos[parent] to pos[parent_end];"
                  "step { coordinate crd[at + 1000000000]; position at; }")},
        {UST_TEXT("walk_parent"),
         UST_TEXT("cursor position at from pos[parent - 1000000000] to 1; step { coordinate crd[at]; position at; }")},
        {UST_TEXT("walk_long"),
         UST_TEXT("cursor position at from 0 to 9000000000000000000; step { coordinate at; position at; }")},
        {UST_TEXT("walk_zero"),
         UST_TEXT("cursor position at from pos[parent] floordiv (parent - parent) to 1;"
                  "step { coordinate crd[at]; position at; }")},
        {UST_TEXT("walk_other"),
         UST_TEXT("cursor other at from pos[parent] to pos[parent_end];"
                  "step { coordinate crd[at]; position at + 7; }")},
        {UST_TEXT("walk_coordinate"),
         UST_TEXT("cursor coordinate at from -1000 to 1000; step { coordinate at; position at; }")},
        {UST_TEXT("walk_run"),
         UST_TEXT("cursor other at from pos[parent] to pos[parent_end];"
                  "step { coordinate crd[at]; position at; run consecutive 1000000000; }")},
    };
    (void)error;
    *text = sound;
    for (size_t at = 0; at < sizeof lies / sizeof *lies; at++)
        if (tells(level, lies[at][0].data)) *text = lies[at][1];
    return UST_OK;
}

static int32_t locate(const ust_level *level, ust_text *text, ust_error *error) {
    static const ust_text sound = UST_TEXT(
        "let at, found = search(crd, pos[parent], pos[parent + 1], wanted); position at; found found;");
    static const ust_text beyond = UST_TEXT(
        "position crd[wanted * 1000000000] mod (wanted - wanted); found crd[-1000000000] == 0 && crd[parent] >= 0;");
    static const ust_text type = UST_TEXT("position wanted; found wanted;");
    (void)error;
    *text = sound;
    if (tells(level, "locate_beyond")) *text = beyond;
    if (tells(level, "locate_type")) *text = type;
    if (tells(level, "locate_none")) text->len = 0;
    return UST_OK;
}

static int32_t footprint(const ust_level *level, const ust_site *site, const ust_population *population,
                         ust_footprint *footprint, ust_error *error) {
    (void)level, (void)site, (void)population, (void)error;
    footprint->positions = -1.0;
    return UST_OK;
}

static int32_t candidates(const ust_level *level, const ust_statistics *statistics, const ust_proposals *proposals,
                          ust_error *error) {
    static const ust_text texts[] = {UST_TEXT("\xff"), UST_TEXT("(i) -> nonsense"), UST_TEXT("nonsense"), {0, 7}};
    (void)level, (void)statistics, (void)error;
    for (size_t at = 0; at < 4; at++) proposals->add(proposals->host, texts[at]);
    return UST_OK;
}

/* Puts a coordinate into the segment of the last parent. */
static int32_t insert(const ust_level *level, const ust_site *site, const ust_changed_array *arrays, uint64_t parent,
                      int64_t crd, ust_change *change, ust_error *error) {
    const uint64_t count = arrays[1].length;
    uint64_t at = (uint64_t)arrays[0].data[parent];
    (void)site;
    if (parent + 2 != arrays[0].length) return UST_OK;
    if (tells(level, "insert_code")) return 88;
    if (tells(level, "insert_refuses")) {
        error->first = 3, error->second = 5;
        snprintf(error->message, sizeof error->message, "it is full");
        return UST_CANNOT_HOLD;
    }
    if (tells(level, "insert_beyond")) change->resize(change->host, 2, 1);
    if (tells(level, "insert_huge")) change->resize(change->host, 1, 1ull << 50);
    if (tells(level, "insert_moves"))
        for (uint64_t move = 0; move < 1000; move++) change->moved(change->host, 0, 0, 0);
    int64_t *stored = change->resize(change->host, 1, count + 1);
    if (!stored) return UST_OK;
    while (at < count && stored[at] < crd) at++;
    memmove(stored + at + 1, stored + at, (count - at) * sizeof *stored);
    stored[at] = crd;
    if (at < count) change->moved(change->host, at, count, at + 1);
    arrays[0].data[parent + 1]++;
    change->pos = at;
    change->positions = count + 1;
    change->done = 1;
    if (tells(level, "insert_nothing")) change->resize(change->host, 1, count), change->positions = count;
    if (tells(level, "insert_undone")) arrays[0].data[0] = 7, change->done = 0;
    if (tells(level, "insert_crd")) stored[at] = 1000;
    if (tells(level, "insert_other_crd")) stored[at] = crd + 1;
    if (tells(level, "insert_wide")) stored[at] = 1ll << 40;
    if (tells(level, "insert_bounds")) arrays[0].data[parent + 1] = 1000000000;
    if (tells(level, "insert_others")) arrays[0].data[0] = -1000000000;
    if (tells(level, "insert_pos")) change->pos = 0;
    if (tells(level, "insert_pos_beyond")) change->pos = 1ull << 60;
    if (tells(level, "insert_positions")) change->positions = UINT64_MAX;
    if (tells(level, "insert_fewer")) change->positions = 1;
    if (tells(level, "insert_freed")) change->freed.lo = 9, change->freed.hi = UINT64_MAX;
    if (tells(level, "insert_turned")) change->moved(change->host, 3, 1, 0);
    if (tells(level, "insert_move")) change->moved(change->host, 0, UINT64_MAX, 1);
    if (tells(level, "insert_to")) change->moved(change->host, 0, 2, UINT64_MAX);
    return UST_OK;
}

/* Cannot, or says that it did and did nothing. */
static int32_t removes(const ust_level *level, const ust_site *site, const ust_changed_array *arrays, uint64_t parent,
                       uint64_t pos, ust_change *change, ust_error *error) {
    const uint64_t count = arrays[1].length;
    (void)site, (void)error, (void)parent;
    if (!tells(level, "remove_nothing")) return UST_OK;
    change->pos = pos;
    change->positions = count;
    change->done = 1;
    return UST_OK;
}

static void drop(ust_level *level) { free(level); }

static const ust_text samples[] = {UST_TEXT("lies")};
static const ust_level_type levels[] = {{
    .name = NAME,
    .summary = UST_TEXT("lies about something"),
    .samples = samples,
    .sample_count = SAMPLES,
    .make = make,
    .describe = describe,
    .fits = fits,
    .assemble = assemble,
    .check = check,
    .walk = WALK,
    .locate = locate,
    .footprint = footprint,
    .candidates = candidates,
    .insert = insert,
    .remove = removes,
    .drop = drop,
}};
static const ust_plugin_table table = {ABI, COUNT, LEVELS};

/* What a macro leaves out is not used. */
UST_EXPORT const ust_plugin_table *SYMBOL(void);
UST_EXPORT const ust_plugin_table *SYMBOL(void) {
    (void)levels, (void)table, (void)walk;
    return TABLE;
}
