/* LARDER_API marks what leaves the shared library; everything else stays hidden. */
#ifndef LARDER_EXPORT_H
#define LARDER_EXPORT_H

#if defined(__GNUC__)
#define LARDER_API __attribute__((visibility("default")))
#else
#define LARDER_API
#endif

#endif
