# libtorch, the torch layer and the lab.
execute_process(
  COMMAND ${PROJECT_SOURCE_DIR}/.venv/bin/python -c "import torch; print(torch.utils.cmake_prefix_path)"
  OUTPUT_VARIABLE torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
list(APPEND CMAKE_PREFIX_PATH ${torch_prefix})
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR "The lab needs libtorch: run script/setup, or configure with -DSEXTANT_LAB=OFF")
endif()
find_package(Threads REQUIRED)

# Files that include torch share one precompiled header.
file(GLOB torch_sources CONFIGURE_DEPENDS torch/*.cc)
list(FILTER torch_sources EXCLUDE REGEX "_test\\.cc$")
add_library(sextant_torch STATIC ${torch_sources})
# The wheel's headers hold a copy of {fmt} that hides the system's, so whoever includes them uses that
# copy header-only, and nobody else sees them.
target_compile_definitions(sextant_torch PUBLIC FMT_HEADER_ONLY)
# Who installs Sextant has a libtorch of his own, which the package's config finds (cmake/install.cmake).
target_include_directories(sextant_torch SYSTEM PUBLIC "$<BUILD_INTERFACE:${TORCH_INCLUDE_DIRS}>")
target_compile_options(sextant_torch PUBLIC "$<BUILD_INTERFACE:${TORCH_CXX_FLAGS}>")
target_link_libraries(sextant_torch
  PUBLIC sextant_core "$<BUILD_INTERFACE:${TORCH_LIBRARIES}>"
  PRIVATE $<BUILD_INTERFACE:sextant_settings>)
target_precompile_headers(sextant_torch PRIVATE <torch/torch.h>)
# ATen's threads are OpenMP's, and at::parallel_for uses them only in files compiled with OpenMP; the
# library that libtorch itself loads serves both.
set_source_files_properties(torch/aten_executor.cc
  PROPERTIES COMPILE_OPTIONS -fopenmp SKIP_PRECOMPILE_HEADERS ON)
target_link_libraries(sextant_torch PUBLIC gomp)

file(GLOB lab_sources CONFIGURE_DEPENDS lab/*.cc)
list(FILTER lab_sources EXCLUDE REGEX "_test\\.cc$")
add_library(sextant_lab STATIC ${lab_sources})
target_link_libraries(sextant_lab
  PUBLIC sextant_lab_base Threads::Threads PRIVATE sextant_torch sextant_settings)
target_precompile_headers(sextant_lab REUSE_FROM sextant_torch)

# The subcommands compare and lab.
add_library(sextant_cli_lab OBJECT
  sextant/cli/compare.cc sextant/cli/lab_commands.cc sextant/cli/lab_settings.cc)
target_link_libraries(sextant_cli_lab
  PUBLIC sextant_cli sextant_lab PRIVATE fmt::fmt sextant_settings)
