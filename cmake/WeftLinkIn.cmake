# weft_link_in(TARGET): the C++ libraries that a program uses are linked into it where there are archives of them. To look up
# their symbols, and those of the standard library for each of them, is half of what a small command takes: 9.6 of 21.6 million
# instructions of `weft --version`. Libraries that are not there as archives stay shared.
option(WEFT_LINK_IN "Link C++ libraries into the program where there are archives of them" ON)

# Whether fmt_inside.cpp stands for the shared library of this version of {fmt}.
function(weft_find_fmt_inside)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/fmt_inside.cpp.in ${PROJECT_BINARY_DIR}/fmt_inside.cpp COPYONLY)
  if(DEFINED WEFT_FMT_INSIDE)
    return()
  endif()
  set(probe ${PROJECT_BINARY_DIR}/fmt_probe.cpp)
  file(WRITE ${probe} "#include <fmt/format.h>\n#include <fmt/ranges.h>\n#include <cstdio>\n#include <vector>\n"
    "int main(int argc, char**) {\n"
    "  const std::string s = fmt::format(\"{} {:.3f} {:L} {}\", argc, 1.5 * argc, 1000000 * argc, 1.25f) +\n"
    "    fmt::format(\"{}\", fmt::join(std::vector<int>{argc, 2}, \",\"));\n"
    "  return std::puts(s.c_str()) < 0;\n}\n")
  get_target_property(headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  try_compile(works ${PROJECT_BINARY_DIR}/fmt_probe
    SOURCES ${probe} ${PROJECT_BINARY_DIR}/fmt_inside.cpp
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${headers}" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  set(WEFT_FMT_INSIDE ${works} CACHE INTERNAL "fmt_inside.cpp compiles and is all that a program needs")
endfunction()

function(weft_link_in target)
  # The linker takes what it needs from the first file that has it, archives before shared libraries, and leaves out shared
  # libraries that then nothing needs: lld does so whatever their order.
  if(NOT WEFT_LINK_IN OR NOT WEFT_LLD OR WEFT_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(all_there TRUE)
  foreach(library protobuf pugixml zstd xxhash z)
    find_library(WEFT_ARCHIVE_OF_${library} lib${library}.a)
    mark_as_advanced(WEFT_ARCHIVE_OF_${library})
    if(WEFT_ARCHIVE_OF_${library})
      target_link_libraries(${target} PRIVATE ${WEFT_ARCHIVE_OF_${library}})
    elseif(library MATCHES "^(protobuf|pugixml)$")
      set(all_there FALSE)
    endif()
  endforeach()
  target_link_options(${target} PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
  weft_find_fmt_inside()
  if(WEFT_FMT_INSIDE)
    target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/fmt_inside.cpp)
    set_source_files_properties(${PROJECT_BINARY_DIR}/fmt_inside.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    # Where no shared library is left that uses the standard library.
    if(all_there)
      target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
    endif()
  endif()
endfunction()
