// For tests: why a spec is refused.
#pragma once

#include <string>
#include <string_view>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {

// The message of the Error that making the scheme throws; "accepted" where it throws none.
inline std::string Refusal(std::string_view spec, const ModelShape& shape = {}) {
  try {
    MakeScheme(spec, shape);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace sextant
