# Test programs for what needs no torch and for the lab, plus the scripts' own checks.
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)

# The conformance checks are a library: tests of the lab run them on schemes of their own.
file(GLOB conformance_sources CONFIGURE_DEPENDS tests/conformance/*.cc)
list(FILTER conformance_sources EXCLUDE REGEX "_test\\.cc$")
add_library(sextant_conformance STATIC ${conformance_sources})
target_link_libraries(sextant_conformance PUBLIC sextant_core PRIVATE sextant_settings)

file(GLOB_RECURSE core_tests CONFIGURE_DEPENDS sextant/*_test.cc tests/*_test.cc)
list(FILTER core_tests EXCLUDE REGEX "/tests/lab/")
add_executable(sextant_tests ${core_tests})
target_link_libraries(sextant_tests PRIVATE
  sextant_cli_no_lab sextant_conformance GTest::gmock_main hwy::hwy sextant_settings sextant_runs_little)
target_compile_definitions(sextant_tests PRIVATE SEXTANT_SOURCE="${PROJECT_SOURCE_DIR}")
if(SEXTANT_SANITIZE)
  # A process of this build takes a tenth of a second to start, so tests share a few.
  set(shards 16)
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    add_test(NAME sextant_tests.${shard} COMMAND sextant_tests)
    set_tests_properties(sextant_tests.${shard} PROPERTIES TIMEOUT 300
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
else()
  gtest_discover_tests(sextant_tests PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endif()

if(TARGET sextant_lab_base)
  file(GLOB_RECURSE base_tests CONFIGURE_DEPENDS lab/text/*_test.cc lab/report/*_test.cc lab/simd/*_test.cc)
  add_executable(sextant_lab_base_tests ${base_tests})
  target_link_libraries(sextant_lab_base_tests PRIVATE
    sextant_lab_base fmt::fmt GTest::gmock_main hwy::hwy sextant_settings sextant_runs_little)
  target_compile_definitions(sextant_lab_base_tests PRIVATE SEXTANT_SOURCE="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(sextant_lab_base_tests PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endif()

if(SEXTANT_LAB)
  file(GLOB lab_tests CONFIGURE_DEPENDS torch/*_test.cc lab/*_test.cc tests/lab/*_test.cc)
  add_executable(sextant_lab_tests ${lab_tests})
  target_link_libraries(sextant_lab_tests PRIVATE
    sextant_cli_lab sextant_torch sextant_conformance GTest::gmock_main sextant_settings sextant_runs_little)
  target_compile_definitions(sextant_lab_tests PRIVATE
    SEXTANT_PROGRAM="$<TARGET_FILE:sextant>" SEXTANT_SOURCE="${PROJECT_SOURCE_DIR}")
  target_precompile_headers(sextant_lab_tests REUSE_FROM sextant_torch)
  add_dependencies(sextant_lab_tests sextant)
  gtest_discover_tests(sextant_lab_tests PROPERTIES TIMEOUT 600 DISCOVERY_TIMEOUT 60)
endif()

# The installed package, with Ninja and nothing but the compiler (tests/package/package_test.cmake).
if(SEXTANT_INSTALL AND NOT SEXTANT_SANITIZE)
  function(add_package_test step)
    add_test(NAME package.${step} COMMAND ${CMAKE_COMMAND}
      -DSTEP=${step} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
      -DFOLDER=${PROJECT_BINARY_DIR}/package-test -DCOMPILER=${CMAKE_CXX_COMPILER} ${ARGN}
      -P ${PROJECT_SOURCE_DIR}/tests/package/package_test.cmake)
    set_tests_properties(package.${step} PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED installed_package)
  endfunction()
  add_package_test(install)
  set_tests_properties(package.install PROPERTIES
    FIXTURES_REQUIRED "" FIXTURES_SETUP installed_package)
  string(REPLACE ";" "\\;" prefixes "$CACHE{CMAKE_PREFIX_PATH}")
  add_package_test(examples -DPREFIXES=${prefixes})
  if(SEXTANT_LAB)
    add_package_test(torch -DPREFIXES=${prefixes} -DTORCH_PREFIX=${torch_prefix})
  endif()
endif()
