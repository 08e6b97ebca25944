// Mesa's caches that hold all shaders in two files, a data file and an index, to which running programs add:
// the single file (MESA_DISK_CACHE_SINGLE_FILE: mesa_shader_cache_sf/BUILD/DRIVER/foz_cache.foz and
// foz_cache_idx.foz) and the database (MESA_DISK_CACHE_DATABASE: mesa_shader_cache_db/mesa_cache.db and
// mesa_cache.idx). A record is known by its folder and the 40 hexadecimal digits of the driver's own key.
// Both files are only ever appended to here, under the locks that Mesa takes. One thread at a time.
//
//   foz        magic "\x81FOSSILIZEDB" 0 0 0, a byte of version (5 or 6); then records
//     record   40 digits; sizes of payload, format, crc, whole size (4 bytes each); payload
//     index    the same, where each payload is the place of the data's sizes (8 bytes)
//   database   magic "MESA_DB" 0, version 1 (4 bytes), number of the database (8 bytes); then records
//     record   key (20 bytes), crc, size (4 bytes each), payload
//     index    the key's first 8 bytes, size (4), time of use (8), place of the record (8)
//   All numbers are little-endian; crc is CRC-32 without its last complement.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "program/adopted_driver.hpp"

namespace larder {

// Mesa's, for AdoptedDriver::records.
extern const RecordFiles kMesaRecords;

}  // namespace larder
