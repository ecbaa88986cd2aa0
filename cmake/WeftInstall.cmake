# Install and export: find_package(weft) gives weft::core ... weft::report. tests/consume uses it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers that a user can include: not those of the recorder, which is no part of the library, nor those that need what is not
# installed, generated files and libarchive's.
set(weft_own_headers PATTERN recorder EXCLUDE PATTERN compute_reader.hpp EXCLUDE PATTERN platform_source.hpp EXCLUDE
  PATTERN archive_library.hpp EXCLUDE)
# Every library target of the module folders, found rather than listed, so that a new module needs no line here.
set(weft_exported)
foreach(folder core traces topology congestion network hpl_gen replay replay/collectives schedule predict report)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} AND EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(t IN LISTS targets)
      get_target_property(type ${t} TYPE)
      if(type STREQUAL "STATIC_LIBRARY" OR type STREQUAL "INTERFACE_LIBRARY")
        list(APPEND weft_exported ${t})
      endif()
    endforeach()
    if(NOT folder MATCHES "/") # with its module
      install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def" ${weft_own_headers})
    endif()
  endif()
endforeach()
install(TARGETS ${weft_exported} weft_sanitizers EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
