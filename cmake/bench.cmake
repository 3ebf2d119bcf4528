# Programs that measure: sextant_bench, and sextant_kernel_bench where Google Benchmark is installed.
# script/bench runs them.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cc)
list(FILTER bench_sources EXCLUDE REGEX "/(program|kernel_bench)\\.cc$")
add_library(sextant_bench_subjects STATIC EXCLUDE_FROM_ALL ${bench_sources})
target_link_libraries(sextant_bench_subjects
  PUBLIC sextant_core fmt::fmt TBB::tbb PRIVATE hwy::hwy sextant_settings)
add_executable(sextant_bench EXCLUDE_FROM_ALL bench/program.cc)
target_link_libraries(sextant_bench PRIVATE sextant_bench_subjects CLI11::CLI11 sextant_settings)

find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(sextant_kernel_bench EXCLUDE_FROM_ALL bench/kernel_bench.cc)
  target_link_libraries(sextant_kernel_bench
    PRIVATE sextant_bench_subjects benchmark::benchmark sextant_settings)
endif()

# The harness's own tests, and that its program still fits the kernels.
if(SEXTANT_TESTS)
  set_target_properties(sextant_bench sextant_bench_subjects PROPERTIES EXCLUDE_FROM_ALL OFF)
  add_test(NAME bench COMMAND python3 ${PROJECT_SOURCE_DIR}/bench/bench_test.py)
  set_tests_properties(bench PROPERTIES
    ENVIRONMENT SEXTANT_BENCH=$<TARGET_FILE:sextant_bench> TIMEOUT 120)
endif()
