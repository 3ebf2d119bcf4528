# What `cmake --install` puts where: the library and its headers (component library), the torch layer where
# the lab is built (component torch), and the program (component program). find_package(sextant) gives
# sextant::sextant; find_package(sextant COMPONENTS torch) looks for libtorch and gives sextant::torch too.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sextant)

set_target_properties(sextant_core PROPERTIES EXPORT_NAME sextant OUTPUT_NAME sextant)
add_library(sextant::sextant ALIAS sextant_core)
# The headers that files other than tests include, by way of each other too.
function(find_included_headers result folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS sextant/*.cc torch/*.cc lab/*.cc)
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  file(GLOB_RECURSE ignored CONFIGURE_DEPENDS ${folder}/*.h)
  set(headers)
  while(files)
    list(POP_FRONT files file)
    file(STRINGS ${file} lines REGEX "^#include \"(sextant|torch|lab)/")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"(.*)\".*" "${PROJECT_SOURCE_DIR}/\\1" header "${line}")
      if(NOT header IN_LIST headers)
        list(APPEND headers ${header})
        list(APPEND files ${header})
      endif()
    endforeach()
  endwhile()
  list(FILTER headers INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${folder}/")
  list(SORT headers)
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

find_included_headers(library_headers sextant)
list(FILTER library_headers EXCLUDE REGEX "/sextant/cli/|-inl\\.h$")
target_sources(sextant_core
  PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${library_headers})
install(TARGETS sextant_core EXPORT sextant_library
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT sextant_library
  NAMESPACE sextant:: DESTINATION ${package_folder} FILE sextantTargets.cmake COMPONENT library)

configure_package_config_file(cmake/sextantConfig.cmake.in sextantConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(sextantConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sextantConfig.cmake ${PROJECT_BINARY_DIR}/sextantConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT library)

if(SEXTANT_LAB)
  set_target_properties(sextant_torch PROPERTIES EXPORT_NAME torch)
  add_library(sextant::torch ALIAS sextant_torch)
  install(TARGETS sextant_torch EXPORT sextant_torch
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT torch)
  install(EXPORT sextant_torch
    NAMESPACE sextant:: DESTINATION ${package_folder} FILE sextantTorchTargets.cmake COMPONENT torch)
  # A consumer has libtorch's own torch/ on his path, so ours is installed as sextant/torch/, and the
  # installed headers name each other so.
  find_included_headers(torch_headers torch)
  foreach(header ${torch_headers})
    cmake_path(GET header FILENAME name)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REPLACE "#include \"torch/" "#include \"sextant/torch/" text "${text}")
    file(WRITE ${PROJECT_BINARY_DIR}/installed/sextant/torch/${name} "${text}")
    install(FILES ${PROJECT_BINARY_DIR}/installed/sextant/torch/${name}
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sextant/torch COMPONENT torch)
  endforeach()
  # The lab's program needs libtorch where it was found, which CMake's own rule passes over in .venv, a folder
  # of the sources.
  set_target_properties(sextant PROPERTIES INSTALL_RPATH ${TORCH_INSTALL_PREFIX}/lib)
endif()
install(TARGETS sextant RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
