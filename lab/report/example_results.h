// A results document as `sextant compare` writes it, made up, for the tests of the report.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sextant::lab {

// Ten schemes with `seeds` seeds each, all finished, baseline none; the learned table cannot run
// beyond the training length of 128.
nlohmann::ordered_json ExampleResults(int seeds);

}  // namespace sextant::lab
