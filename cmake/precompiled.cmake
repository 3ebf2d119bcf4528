# Headers of others that many files include, compiled once a target; ours are not among them, so that a change
# rebuilds what includes it and no more. The release build compiles the libraries without, which shows where an
# #include is missing there, and g++ 12 at -O3 sees overflows in strings of precompiled headers that are not there; -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows it everywhere.
set(standard_headers
  <algorithm> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span> <string>
  <string_view> <utility> <variant> <vector>)

if(SEXTANT_SANITIZE)
  target_precompile_headers(sextant_core PRIVATE ${standard_headers} <fmt/format.h>)
endif()
target_precompile_headers(sextant_cli
  PRIVATE ${standard_headers} <fmt/format.h> <nlohmann/json.hpp>)
if(SEXTANT_TESTS)
  target_precompile_headers(sextant_tests
    PRIVATE ${standard_headers} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
endif()
if(TARGET sextant_lab_base_tests)
  target_precompile_headers(sextant_lab_base_tests
    PRIVATE ${standard_headers} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
endif()
