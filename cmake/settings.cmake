# Language, warnings, sanitizers and the compiler cache, for our own code only.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(ccache ccache)
if(ccache)
  # Precompiled headers are cached only when their time stamps are left out.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${ccache})
endif()

# g++ 12 at -O3 sees overlaps in std::string concatenation (-Wrestrict, GCC bug 105651) and unset members
# of strings built in place (-Wmaybe-uninitialized) that are not there; the asan build looks for real ones.
add_library(sextant_settings INTERFACE)
target_compile_options(sextant_settings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wno-restrict -Wno-maybe-uninitialized
  $<$<BOOL:${PROJECT_IS_TOP_LEVEL}>:-Werror>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  # Kernels keep vectors in arrays and structs. SVE's have no size that the compiler knows, so NEON is the one
  # target; and as a target to dispatch to, g++ 12 cannot construct such structs of it, so there is no dispatch
  # (the second definition's effect, and AES is not asked for then).
  target_compile_definitions(sextant_settings INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)" TOOLCHAIN_MISS_SYS_AUXV_H)
endif()
if(SEXTANT_SANITIZE)
  # Lines and functions are what a report of theirs names; all of -g takes a third of the compile time.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=address,undefined)
endif()

# For files that run little: tests of what is optimised elsewhere, and the command line. g++ needs half the time
# for them.
add_library(sextant_runs_little INTERFACE)
target_compile_options(sextant_runs_little INTERFACE
  $<$<CONFIG:Release>:-O1> $<$<BOOL:${SEXTANT_SANITIZE}>:-O0>)
