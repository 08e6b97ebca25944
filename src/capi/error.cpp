#include <cstring>
#include <exception>
#include <stdexcept>

#include "capi/convert.hpp"

struct larder_error {
  larder::Code code;
  const char* message;
};

namespace larder::capi {
namespace {

// Given out when there is no memory for an error; belongs to nobody.
constinit larder_error out_of_memory{Code::out_of_resources, "out of memory"};

static_assert(LARDER_INVALID_ARGUMENT == static_cast<int>(Code::invalid_argument));
static_assert(LARDER_INTERNAL == static_cast<int>(Code::internal));

}  // namespace

larder_error* make_error(Code code, std::string_view what) noexcept {
  char* const message = new (std::nothrow) char[what.size() + 1];
  larder_error* const error = new (std::nothrow) larder_error{code, message};
  if (message == nullptr || error == nullptr) {
    delete[] message;
    delete error;
    return &out_of_memory;
  }
  std::memcpy(message, what.data(), what.size());
  message[what.size()] = '\0';
  return error;
}

larder_error* error_in_flight() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return &out_of_memory;
  } catch (const std::invalid_argument& error) {
    return make_error(Code::invalid_argument, error.what());
  } catch (const std::length_error& error) {
    return make_error(Code::invalid_argument, error.what());
  } catch (const std::exception& error) {
    return make_error(Code::internal, error.what());
  } catch (...) {
    return make_error(Code::internal, "an exception that is no std::exception");
  }
}

}  // namespace larder::capi

using namespace larder;

larder_error* larder_error_create(larder_code code, larder_view message) {
  const bool is_code = code >= LARDER_INVALID_ARGUMENT && code <= LARDER_INTERNAL;
  return larder::capi::make_error(is_code ? static_cast<larder::Code>(code) : larder::Code::invalid_argument,
                                  larder::capi::to_text(message));
}

larder_code larder_error_code(const larder_error* error) {
  return static_cast<larder_code>(static_cast<int>(error->code));
}

const char* larder_error_message(const larder_error* error) {
  return error->message;
}

void larder_error_destroy(larder_error* error) {
  if (error == nullptr || error == &capi::out_of_memory) return;
  delete[] error->message;
  delete error;
}

const char* larder_code_name(larder_code code) {
  return capi::name_of<Code>(code);
}
