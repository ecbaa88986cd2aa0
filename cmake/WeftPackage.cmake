# What a package holds besides the library: completions, manual pages, platforms, sample traces, examples, the Python reader, documentation; and the package itself: cpack makes a .deb.
set(completions ${PROJECT_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${completions})
add_custom_command(OUTPUT ${completions}/weft ${completions}/_weft ${completions}/weft.fish
  COMMAND weft completion bash > ${completions}/weft
  COMMAND weft completion zsh > ${completions}/_weft
  COMMAND weft completion fish > ${completions}/weft.fish
  DEPENDS weft VERBATIM)
add_custom_target(weft_completions ALL DEPENDS ${completions}/weft)
install(FILES ${completions}/weft DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/weft.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# Debian's zsh looks into the first of these below /usr, and into the second below /usr/local.
install(FILES ${completions}/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${completions}/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
# Manual pages, made of the help pages, where help2man is.
find_program(WEFT_HELP2MAN help2man)
if(WEFT_HELP2MAN)
  set(man ${PROJECT_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${man}/weft.1
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/man.sh $<TARGET_FILE:weft> ${man}
    DEPENDS weft scripts/man.sh VERBATIM)
  add_custom_target(weft_man ALL DEPENDS ${man}/weft.1)
  install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
else()
  message(STATUS "No manual pages: no help2man")
endif()
install(DIRECTORY platforms traces/samples examples DESTINATION ${CMAKE_INSTALL_DATADIR}/weft USE_SOURCE_PERMISSIONS)
# Debian's Python looks there below /usr; with another prefix PYTHONPATH says so.
install(FILES python/weft.py DESTINATION lib/python3/dist-packages)
# The pages, with what their links lead to at the places that it has in a checkout.
install(FILES README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES topology/platform/platform.proto DESTINATION ${CMAKE_INSTALL_DOCDIR}/topology/platform)
install(FILES traces/weft/trace.proto DESTINATION ${CMAKE_INSTALL_DOCDIR}/traces/weft)
foreach(of "platforms|." "examples|." "samples|traces")
  string(REPLACE "|" ";" of ${of})
  list(GET of 0 folder)
  list(GET of 1 below)
  cmake_path(SET from NORMALIZE ${CMAKE_INSTALL_FULL_DOCDIR}/${below})
  file(RELATIVE_PATH to ${from} ${CMAKE_INSTALL_FULL_DATADIR}/weft/${folder})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/doc_links)
  file(CREATE_LINK ${to} ${PROJECT_BINARY_DIR}/doc_links/${folder} SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/doc_links/${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${below})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR "Weft")
set(CPACK_PACKAGE_CONTACT "The Weft developers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded by name, for exact pivots, and for archives: shlibdeps does not see them.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0, libarchive13 | libarchive13t64")
# What recording needs beside the library that shlibdeps finds, the reader of outputs, and what find_package(weft) looks for.
set(weft_suggests "openmpi-bin | mpich" python3 g++ cmake pkg-config libboost-dev libfmt-dev libprotobuf-dev protobuf-compiler
  nlohmann-json3-dev libpugixml-dev zlib1g-dev libzstd-dev libxxhash-dev libopen-trace-format2-dev)
string(JOIN ", " CPACK_DEBIAN_PACKAGE_SUGGESTS ${weft_suggests})
include(CPack)
