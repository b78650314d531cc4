/* Level types of the Universal Sparse Tensor in a shared library.
 *
 * The library exports one function, `ust_plugin`, which returns a table of level types. A program loads it with
 * `ust --plugin libmy_level.so` or `ust::plugin::load`, and any format text may then use their names.
 * `ust/docs/plugins.md` says how one is written.
 *
 * Rules
 *   - All functions may be called from several threads at once, on the same level.
 *   - Functions return UST_OK, or another code after having written why into `error`, which the host has cleared.
 *   - Memory that a function gets belongs to the host, and is valid until the function returns. Memory for arrays
 *     is asked for from the host, and is the host's as well. Nobody frees memory of the other.
 *   - Texts that the library gives (UST_TEXT) stay valid: those of the table for ever, those of a level until it is
 *     dropped. The host copies them at once.
 *   - What the library says is checked: a mistake is an error of the call that noticed it. A write beyond the memory
 *     that it was given is not.
 */
#ifndef UST_PLUGIN_H
#define UST_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UST_PLUGIN_ABI 2

#if defined(_WIN32)
#define UST_EXPORT __declspec(dllexport)
#else
#define UST_EXPORT __attribute__((visibility("default")))
#endif

/* UTF-8 text of `len` bytes, without a zero byte at the end. Empty: {0, 0}. */
typedef struct ust_text {
    const char *data;
    uint64_t len;
} ust_text;

/* A string literal as the initial value of a text. */
#define UST_TEXT(literal) {(literal), sizeof(literal) - 1}

/* What functions return, and what they write into `error` then. */
enum {
    UST_OK = 0,
    UST_BAD_ARGUMENT = 1, /* subject: the argument, empty for all; message: what the level type takes */
    UST_MISPLACED = 2,    /* subject: why; message: what to write instead */
    UST_CANNOT_HOLD = 3,  /* first, second: parent and coordinate; message: the rule, and what to do */
    UST_INVALID = 4,      /* subject: the array; first, second: index and element; message: the rule */
    UST_LENGTH = 5,       /* subject: the array; first: its length; message: the length it must have, and why */
    UST_TOO_LARGE = 6,    /* subject: the quantity; message: the numbers it was computed from */
    UST_FAILED = 7        /* message: why */
};

/* Strings end in a zero byte: write them with snprintf(error->message, sizeof error->message, ...). */
typedef struct ust_error {
    int64_t first;
    int64_t second;
    char subject[128];
    char message[512];
} ust_error;

/* An argument in format text: in `my_level(4, sorted)` the number 4 and the word `sorted`. */
typedef struct ust_arg {
    ust_text text;
    uint64_t number;
    uint32_t is_number;
} ust_arg;

/* Properties, as bits. */
enum {
    UST_FULL = 1,        /* each coordinate has the position parent * size + (crd - lower). The level has no arrays,
                            and only `describe` and `fits` are called */
    UST_ORDERED = 2,     /* coordinates under one parent ascend */
    UST_UNIQUE = 4,      /* coordinates under one parent are distinct */
    UST_BRANCHLESS = 8,  /* each parent has one child, at its own position */
    UST_COMPACT = 16,    /* every position belongs to a child */
    UST_PADDED = 32,     /* positions may hold padding: a value that equals the fill value is no entry */
    UST_OVERHANGS = 64,  /* the coordinate of padding may be outside the shape */
    UST_BOUNDED = 128,   /* `assemble` may refuse entries for want of room */
    UST_CONTIGUOUS = 256 /* children of consecutive parents have consecutive positions */
};

/* What a level is besides, as bits. */
enum {
    UST_JOINS_ALIKE = 1, /* neighbours whose values are equal get one position: assembly is told which are. Such a level
                            has to be the last one */
    UST_BATCH = 2        /* what stands below is stored for each position as if it were alone. The level is full */
};

/* What an array holds. */
enum {
    UST_POSITIONS = 0,   /* in the width that `posWidth` gives */
    UST_COORDINATES = 1, /* in the width that `crdWidth` gives */
    UST_OWN = 2          /* data of the level's own, of `kind` */
};

/* What the elements of an array stand for: its length follows. */
enum {
    UST_PER_POSITION = 0,
    UST_PER_PARENT = 1,
    UST_PER_PARENT_BOUND = 2, /* one for each parent, and one more */
    UST_PER_PARENT_PAIR = 3,  /* two for each parent */
    UST_PER_OTHER = 4         /* by a rule of the level's own, which `length` tells people */
};

/* Kinds of elements. */
enum {
    UST_U2 = 2,
    UST_U8 = 8,
    UST_U16 = 16,
    UST_U32 = 32,
    UST_U64 = 64,
    UST_I8 = 264,
    UST_I16 = 272,
    UST_I32 = 288,
    UST_I64 = 320
};

/* An array that a level owns. */
typedef struct ust_array_spec {
    ust_text name;
    ust_text length;   /* for UST_PER_OTHER */
    uint32_t role;     /* UST_POSITIONS, ... */
    uint32_t per;      /* UST_PER_POSITION, ... */
    uint32_t kind;     /* for UST_OWN: UST_U8, ...; else 0 */
    uint32_t min_bits; /* the least number of bits of an element: 8, 16, 32, 64, or 2; 0 means 8 */
} ust_array_spec;

/* The cost to find a coordinate. */
enum {
    UST_LOCATE_BY_WALKING = 0,
    UST_LOCATE_CONSTANT = 1,
    UST_LOCATE_LOGARITHMIC = 2
};

typedef struct ust_description {
    ust_text text;                /* the canonical text, with arguments, such as `my_level(4)` */
    ust_text mlir;                /* the same in MLIR's spelling; empty if it is the same */
    const ust_array_spec *arrays; /* in storage order */
    uint64_t array_count;
    uint32_t properties;
    uint32_t locate; /* UST_LOCATE_BY_WALKING, ... */
    uint32_t traits; /* UST_JOINS_ALIKE, ... */
} ust_description;

/* Expressions that a level stores. */
enum {
    UST_DIMENSION = 0,        /* a dimension alone */
    UST_DIMENSION_RANGED = 1, /* the same, and a level above stores a sum or difference with it */
    UST_COUNTER = 2,
    UST_QUOTIENT = 3,  /* by `number` */
    UST_REMAINDER = 4, /* by `number` */
    UST_OTHER = 5
};

/* The level above. */
typedef struct ust_parent {
    ust_text name;
    ust_text text;
    uint32_t properties;
    uint32_t locate;
} ust_parent;

/* A place in a format. */
typedef struct ust_place {
    const ust_parent *parent; /* null at the root */
    uint64_t number;
    uint32_t expression; /* UST_DIMENSION, ... */
    uint32_t last;       /* 1 for the last level */
    uint32_t single;     /* 1 if no parent has several children */
    uint32_t leading;    /* 1 if all levels above are batches, or there are none */
} ust_place;

/* Shape and options of a level. */
typedef struct ust_site {
    uint64_t size;          /* number of coordinates */
    int64_t lower;          /* the smallest */
    uint64_t max_positions; /* the largest number of positions that there may be */
    uint32_t pos_width;     /* 8, 16, 32, 64, or 0 for the default */
    uint32_t crd_width;
    uint32_t room; /* 1 if assembly leaves each parent room for children that are inserted later: about as many places
                      as it has children, and a few. A level without `insert` leaves none */
} ust_site;

/* What is assembled: children, those of one parent behind those of the parent before. Coordinates lie in
 * lower .. lower + size, ascend under one parent, and are distinct if the level is unique. */
typedef struct ust_children {
    uint64_t parents;
    const int64_t *offsets; /* parents + 1: the children of p are offsets[p] .. offsets[p + 1] */
    const int64_t *crd;     /* offsets[parents]: the coordinate of each child */
    const uint8_t *alike;   /* for UST_JOINS_ALIKE: 1 if the child has the value of the child before. May be null: then
                               none is known to have it */
} ust_children;

/* What `assemble` makes. */
typedef struct ust_assembly {
    void *host;
    /* Memory for `length` elements, all 0, of the array of this number: to be called once for each array of the
     * description. Null if the host refuses; then return UST_FAILED. */
    int64_t *(*array)(void *host, uint64_t number, uint64_t length);
    int64_t *position;  /* to be written: the position of each child */
    uint64_t positions; /* to be set: the number of positions */
} ust_assembly;

/* An array that is checked. */
typedef struct ust_array {
    const int64_t *data;
    uint64_t length;
} ust_array;

/* Positions lo .. hi. */
typedef struct ust_interval {
    uint64_t lo;
    uint64_t hi;
} ust_interval;

/* The parents that can be reached: only under these, arrays have to be valid. */
typedef struct ust_parents {
    uint64_t positions; /* number of parents, reachable or not */
    const ust_interval *intervals;
    uint64_t interval_count;
} ust_parents;

/* What `check` gives back. */
typedef struct ust_reach {
    void *host;
    void (*add)(void *host, uint64_t lo, uint64_t hi);
    uint64_t positions; /* to be set: the number of positions */
    uint32_t listed;    /* to be set to 1 if only the positions that were added can be reached; else all can be */
} ust_reach;

/* An array that is changed. */
typedef struct ust_changed_array {
    int64_t *data;
    uint64_t length;
} ust_changed_array;

/* What `insert` and `remove` did. The host does the same to the values, in this order: as many as there are positions,
 * moved, and the freed ones set to the fill value. */
typedef struct ust_change {
    void *host;
    /* Gives the array of this number another length, at most four times that of the longest array, and 64 more. Returns
     * its memory, with the elements that it had, and 0 behind them; the memory that it had before is no longer its
     * own. Null if the host refuses; then return UST_FAILED. */
    int64_t *(*resize)(void *host, uint64_t number, uint64_t length);
    /* Says that the children at the positions lo .. hi are at those from `to` on now. One move after another; what a
     * move goes to may overlap with where it comes from. */
    void (*moved)(void *host, uint64_t lo, uint64_t hi, uint64_t to);
    uint64_t pos;       /* to be set: the position of the new child, or that of the removed one */
    uint64_t positions; /* to be set: the number of positions afterwards, no fewer than before */
    ust_interval freed; /* to be set: positions that belonged to a child, and belong to none now; lo = hi for none */
    uint32_t done;      /* to be set to 1. Left at 0, what was done to the arrays is forgotten, and the host builds them
                           anew, with room */
} ust_change;

/* An estimate of what a level would store. */
typedef struct ust_population {
    double parents;
    double stored; /* coordinates under all parents */
    double runs;   /* runs of neighbouring coordinates */
    double span;   /* coordinates from the first under each parent to the last */
} ust_population;

typedef struct ust_footprint {
    double positions;
    double bytes; /* of the level's arrays */
} ust_footprint;

/* Statistics of a tensor. */
typedef struct ust_statistics {
    const uint64_t *shape;
    uint64_t rank;
    uint64_t entries;
    uint64_t runs; /* along the last dimension */
    uint64_t span; /* coordinates from the first entry of each row to the last */
    uint64_t value_bytes;
    ust_text full; /* the text of a full level type, for levels above; empty if there is none */
} ust_statistics;

/* Takes the formats that `candidates` proposes: the text of a level, which is then the last under full levels, or of
 * a whole format. */
typedef struct ust_proposals {
    void *host;
    void (*add)(void *host, ust_text text);
} ust_proposals;

/* Another spelling. `with` is an argument that has to be written, and that `make` does not get; empty if none. */
typedef struct ust_alias {
    ust_text name;
    ust_text with;
} ust_alias;

/* A level, with its arguments: whatever the library makes it, null as well. */
typedef struct ust_level ust_level;

typedef struct ust_level_type {
    ust_text name;    /* in format text: letters, digits and _ */
    ust_text summary; /* one line for `ust levels` */
    const ust_alias *aliases;
    uint64_t alias_count;
    const ust_text *samples; /* level texts that are tried: one for each combination of arguments that differs */
    uint64_t sample_count;
    const void *data; /* the library's own */

    /* Makes a level of the arguments in format text. */
    int32_t (*make)(const struct ust_level_type *type, const ust_arg *args, uint64_t arg_count, ust_level **level,
                    ust_error *error);
    int32_t (*describe)(const ust_level *level, ust_description *description, ust_error *error);
    /* May be null: then the level fits everywhere. */
    int32_t (*fits)(const ust_level *level, const ust_place *place, ust_error *error);
    int32_t (*assemble)(const ust_level *level, const ust_site *site, const ust_children *children,
                        ust_assembly *assembly, ust_error *error);
    /* `arrays` has the arrays of the description. */
    int32_t (*check)(const ust_level *level, const ust_site *site, const ust_array *arrays, const ust_parents *parents,
                     ust_reach *reach, ust_error *error);
    /* How the children of a parent are walked, and how a coordinate is found: as text, see below. */
    int32_t (*walk)(const ust_level *level, ust_text *text, ust_error *error);
    int32_t (*locate)(const ust_level *level, ust_text *text, ust_error *error); /* may be null */
    /* The rest may be null. */
    int32_t (*footprint)(const ust_level *level, const ust_site *site, const ust_population *population,
                         ust_footprint *footprint, ust_error *error);
    int32_t (*candidates)(const ust_level *level, const ust_statistics *statistics, const ust_proposals *proposals,
                          ust_error *error);
    /* The text of the same level type that is tried where the level below does not fit under this one, such as
     * `my_level(nonunique)`; and where this one does not fit at a place. Empty if there is none. */
    int32_t (*relaxed)(const ust_level *level, ust_text *text, ust_error *error);
    int32_t (*adapted)(const ust_level *level, const ust_place *place, ust_text *text, ust_error *error);
    /* Makes a place for one more child: the coordinate lies within the level, and the parent does not have it. And
     * removes the child that the parent has at this position. */
    int32_t (*insert)(const ust_level *level, const ust_site *site, const ust_changed_array *arrays, uint64_t parent,
                      int64_t crd, ust_change *change, ust_error *error);
    int32_t (*remove)(const ust_level *level, const ust_site *site, const ust_changed_array *arrays, uint64_t parent,
                      uint64_t pos, ust_change *change, ust_error *error);
    void (*drop)(ust_level *level);
} ust_level_type;

typedef struct ust_plugin_table {
    uint32_t abi; /* UST_PLUGIN_ABI */
    uint32_t level_count;
    const ust_level_type *levels;
} ust_plugin_table;

UST_EXPORT const ust_plugin_table *ust_plugin(void);

/* The text of a walk. A compressed level:
 *
 *     cursor position at from pos[parent] to pos[parent_end];
 *     step {
 *         coordinate crd[at];
 *         position at;
 *     }
 *
 * One whose array holds how many coordinates are left out before each:
 *
 *     let next = lower;
 *     cursor position at from pos[parent] to pos[parent + 1];
 *     step {
 *         coordinate next + gap[at];
 *         position at;
 *     }
 *     advance {
 *         next = next + gap[at] + 1;
 *     }
 *
 * The text of a search:
 *
 *     let at, found = search(crd, pos[parent], pos[parent + 1], wanted);
 *     position at;
 *     found found;
 *
 * A cursor is an integer from .. up to .., which is the `position` of the child, its `coordinate`, or `other`. `step`
 * says which child stands there: its `coordinate` and its `position`; with `where` a condition, without which there
 * is none; with `run` several children from there on:
 *
 *     run consecutive n;           n consecutive coordinates, at consecutive positions
 *     run shared n;                n consecutive coordinates, all at this position
 *     run ones mask;               for each one of the lowest 32 bits of a mask the coordinate plus the place of the
 *                                  bit, at consecutive positions
 *     run gaps n of width 4 in a;  n consecutive positions, each with a number in array a: how many coordinates are
 *                                  left out before its own. A number has 1, 2, 4, 8, 16 or 32 bits; those of less
 *                                  than 8 lie side by side in an element, the first in the lowest bits
 *
 * `advance` runs after the child was handled.
 *
 * Known names: `parent`, `parent_end` (one past the last parent that is walked: parent + 1, but more for a
 * contiguous level whose cursor is a position), `size` and `lower` of the level, in a search `wanted`, and the
 * level's arrays: name[index] and len(name).
 *
 * Lines:       let x = e;   x = e;   if c {} else {}   while c {}   for i in lo..hi {}   // comment
 *              let at, found = search(array, lo, hi, e);     binary search among ascending elements
 * Expressions: integers of 64 bits and conditions, with the precedence of C, but & binds before comparisons:
 *              + - * floordiv mod (which round towards minus infinity)  min(a, b)  max(a, b)  >> &
 *              count_ones(a)  trailing_zeros(a), of 64 bits
 *              == != < <= > >= (which do not chain)  && || !  c ? a : b (of which one is computed)  true false
 */

#ifdef __cplusplus
}
#endif

#endif
