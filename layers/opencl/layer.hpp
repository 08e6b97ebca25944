// Where the layer stands: above the functions of a loader, or of drivers, in the place that asks first.
#pragma once

#include "program/opencl/functions.hpp"
// Which version of OpenCL is meant is said above.
#include <CL/cl_icd.h>

namespace larder::layer {

// The functions that a host is to be given for those of `beneath`, of which a copy is taken; what is null
// there stays null. Null: larder is switched off, or stands somewhere else already, or cannot do without
// something that `beneath` lacks.
const cl_icd_dispatch* stand_above(const cl_icd_dispatch& beneath) noexcept;

}  // namespace larder::layer
