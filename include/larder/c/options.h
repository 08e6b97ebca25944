/* Options: what a program says about its cache; what it leaves unset comes from the environment, the config
   file or the default. docs/settings.md lists every setting. Conventions: larder/larder.h. */
#ifndef LARDER_C_OPTIONS_H
#define LARDER_C_OPTIONS_H

#include "larder/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larder_options larder_options;

LARDER_API larder_options* larder_options_create(larder_error** error);
LARDER_API void larder_options_destroy(larder_options* options);

/* Sets the setting called `name` from text such as `10G`, `7d` or `off`: larder_text("size-max"),
   larder_text("10G"). LARDER_INVALID_ARGUMENT, and nothing set, when there is no such setting or the text
   does not fit it; the message says what to write instead. */
LARDER_API bool larder_options_set(larder_options* options, larder_view name, larder_view text,
                                   larder_error** error);

/* The text of what was set; NULL with LARDER_NOT_FOUND when the options say nothing of it. */
LARDER_API larder_bytes* larder_options_get(const larder_options* options, larder_view name,
                                            larder_error** error);

/* What would count for these options here: environment, config files and defaults filled in. */
LARDER_API larder_bytes* larder_options_resolve(const larder_options* options, larder_view name,
                                                larder_error** error);

#ifdef __cplusplus
}
#endif

#endif
