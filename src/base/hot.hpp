// LARDER_HOT marks functions on the way from opening a store to its first product. The linker lays them side
// by side, so that a fresh process brings in a page of code or two and not one for each floor: every page
// costs it a fault, and a fault costs as much as reading a small file's data.
#pragma once

#define LARDER_HOT __attribute__((hot))
