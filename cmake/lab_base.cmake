# What of the lab needs no torch: corpora, tokens, statistics, the report, and GELU.
find_package(PkgConfig REQUIRED)
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece)
file(GLOB lab_base_sources CONFIGURE_DEPENDS lab/text/*.cc lab/report/*.cc lab/simd/*.cc)
list(FILTER lab_base_sources EXCLUDE REGEX "_test\\.cc$")
add_library(sextant_lab_base STATIC ${lab_base_sources})
target_link_libraries(sextant_lab_base
  PUBLIC sextant_core PRIVATE fmt::fmt PkgConfig::sentencepiece hwy::hwy sextant_settings)
