# One test program for what needs no torch, one for the lab; plus the scripts' own checks.
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
  sextant_cli sextant_conformance GTest::gmock_main hwy::hwy sextant_settings)
target_compile_definitions(sextant_tests PRIVATE
  SEXTANT_PROGRAM="$<TARGET_FILE:sextant>" SEXTANT_SOURCE="${PROJECT_SOURCE_DIR}")
add_dependencies(sextant_tests sextant)
gtest_discover_tests(sextant_tests PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)

if(SEXTANT_LAB)
  file(GLOB_RECURSE text_tests CONFIGURE_DEPENDS lab/text/*_test.cc lab/report/*_test.cc)
  add_executable(sextant_text_tests ${text_tests})
  target_link_libraries(sextant_text_tests PRIVATE sextant_lab_text GTest::gmock_main sextant_settings)
  target_compile_definitions(sextant_text_tests PRIVATE SEXTANT_SOURCE="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(sextant_text_tests PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)

  file(GLOB lab_tests CONFIGURE_DEPENDS torch/*_test.cc lab/*_test.cc tests/lab/*_test.cc)
  add_executable(sextant_lab_tests ${lab_tests})
  target_link_libraries(sextant_lab_tests PRIVATE
  sextant_cli sextant_torch sextant_conformance GTest::gmock_main sextant_settings)
  target_compile_definitions(sextant_lab_tests PRIVATE
    SEXTANT_PROGRAM="$<TARGET_FILE:sextant>" SEXTANT_SOURCE="${PROJECT_SOURCE_DIR}")
  target_precompile_headers(sextant_lab_tests REUSE_FROM sextant_torch)
  add_dependencies(sextant_lab_tests sextant)
  gtest_discover_tests(sextant_lab_tests PROPERTIES TIMEOUT 600 DISCOVERY_TIMEOUT 60)
endif()
