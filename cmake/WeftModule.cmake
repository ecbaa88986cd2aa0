# One CMake target per folder, linking only what the dependency table allows.

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  # Precompiled headers are hits too if ccache need not look at their defines and times (-fpch-preprocess, below). What a file
  # includes is taken from the compiler's own list: a miss is not preprocessed first.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_DEPEND=1 ${WEFT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_program(WEFT_LLD ld.lld)
if(WEFT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# The compiler's own garbage collection, which it does from 128 MB on, is 7 to 12 % of what it takes here; without it a file of a
# unity build takes up to 1.3 GB instead of 1.1.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=2000000>)

add_library(weft_warnings INTERFACE)
target_compile_options(weft_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)

# For targets with precompiled headers. GCC 12 forgets there that std::string is the system's and warns of overflows in it that
# cannot be.
add_library(weft_pch INTERFACE)
target_compile_options(weft_pch INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds>)
set(WEFT_COMMON_HEADERS <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <bit> <cmath> <cstdint> <deque> <functional> <limits>
  <map> <memory> <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <vector>)

# Same bits on every machine that runs the same build: no contraction, no fast-math. Nobody reads errno after a function of <cmath>,
# so that a rounding is an instruction and no call. These are how Weft is compiled, not what its users need, whose floating point is
# theirs. Where a processor multiplies and adds in one instruction, a user whose program is to have the very bits of `weft` gives
# -ffp-contract=off too: functions in our headers are compiled with the program, and of an inline function that both have the linker
# keeps one.
add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -ffp-contract=off -fno-math-errno -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_link_libraries(weft_flags INTERFACE weft_sanitizers)

# What users of an instrumented library need too: its objects call the sanitizers, and what they say of a container holds only if
# all that touches it tells them.
add_library(weft_sanitizers INTERFACE)
set_target_properties(weft_sanitizers PROPERTIES EXPORT_NAME sanitizers)
if(WEFT_SANITIZE)
  target_compile_options(weft_sanitizers INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(weft_sanitizers INTERFACE -fsanitize=address,undefined)
endif()

if(WEFT_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WEFT_BUILD_FUZZERS needs clang: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(weft_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()

# weft_own_flags(TARGET weft_warnings ...): a library that is installed is compiled with weft_flags and with what these say, and those
# who use it are not. A static library's PRIVATE links are its users' to link: only BUILD_INTERFACE keeps them out of the package.
function(weft_own_flags target)
  foreach(flags IN ITEMS weft_flags ${ARGN})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${flags}>)
  endforeach()
  target_link_libraries(${target} PUBLIC weft_sanitizers)
endfunction()

# weft_sources(OUT): the .cpp files of this folder and of its rooms, but for rooms with a CMakeLists.txt of their own. Found
# rather than listed: one more topology, format or collective needs no line here.
function(weft_sources out)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB_RECURSE own RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(f IN LISTS own)
    get_filename_component(room ${f} DIRECTORY)
    list(FILTER found EXCLUDE REGEX "/${room}/.*[.]cpp$")
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# weft_proto(OUT TO FILE.proto): what protoc makes in the folder TO of a file of this folder. TO is to be included as a folder of
# the system: our warnings are not for generated code.
function(weft_proto out to file)
  file(RELATIVE_PATH from ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  string(REGEX REPLACE "[.]proto$" ".pb" made ${to}/${from})
  file(MAKE_DIRECTORY ${to})
  add_custom_command(
    OUTPUT ${made}.cc ${made}.h
    COMMAND protobuf::protoc --cpp_out=${to} -I ${PROJECT_SOURCE_DIR} ${from}
    DEPENDS ${file}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    VERBATIM)
  set_source_files_properties(${made}.cc PROPERTIES COMPILE_OPTIONS -w)
  set(${out} ${made}.cc ${made}.h PARENT_SCOPE)
endfunction()

# weft_soname(VARIABLE FILE): the name by which programs that are linked with the shared library FILE ask the loader for it.
function(weft_soname variable file)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE header ERROR_QUIET)
  if(NOT header MATCHES "SONAME +([^ \n]+)")
    message(FATAL_ERROR "${variable}: ${file} has no SONAME, so it is no shared library")
  endif()
  set(${variable} ${CMAKE_MATCH_1} CACHE INTERNAL "What is loaded from ${file}")
endfunction()

# weft_built_in(OUT.cpp TEMPLATE PATTERN): the files of the repository that PATTERN names as strings of one source: @ROWS@ of
# TEMPLATE becomes rows of {name without extension, text}.
function(weft_built_in out template pattern)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
  list(SORT files)
  set(ROWS "")
  foreach(f IN LISTS files)
    get_filename_component(stem ${f} NAME_WE)
    file(READ ${f} text)
    string(APPEND ROWS "      {\"${stem}\", R\"weft(${text})weft\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${f})
  endforeach()
  configure_file(${template} ${out} @ONLY)
endfunction()

# weft_together(TARGET [APART]): with WEFT_UNITY, the files of a folder and of its rooms are compiled up to sixteen at a time, as
# one. What they include is parsed once and what they instantiate is made once. Two files of a folder must then not give the same
# name to local things; files that call theirs alike on purpose (a verb's options, a topology's parameters) have a namespace each.
# Files marked HEADER_FILE_ONLY are left out. APART: up to eight, of one room. Not CMake's own UNITY_BUILD: its files hold absolute
# paths, so that clones could not share a compiler cache.
function(weft_together target)
  if(NOT WEFT_UNITY)
    return()
  endif()
  set(limit 16)
  if(ARGV1 STREQUAL "APART")
    set(limit 8)
  endif()
  get_target_property(sources ${target} SOURCES)
  set(groups)
  foreach(f IN LISTS sources)
    get_filename_component(f ${f} ABSOLUTE)
    file(RELATIVE_PATH room ${CMAKE_CURRENT_SOURCE_DIR} ${f})
    get_filename_component(room "${room}" DIRECTORY)
    get_source_file_property(left_out ${f} HEADER_FILE_ONLY)
    get_source_file_property(together ${f} WEFT_TOGETHER) # of another target of this folder
    if((left_out AND NOT together) OR NOT f MATCHES "[.]cpp$" OR f MATCHES "^${PROJECT_BINARY_DIR}/")
      continue()
    endif()
    set(group all)
    if(ARGV1 STREQUAL "APART")
      string(MAKE_C_IDENTIFIER "in_${room}" group)
    endif()
    list(APPEND groups ${group})
    list(APPEND ${group} ${f})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    # Batches of equal size: 17 files are 9 and 8.
    list(SORT ${group})
    list(LENGTH ${group} files)
    math(EXPR batches "(${files} + ${limit} - 1) / ${limit}")
    math(EXPR size "(${files} + ${batches} - 1) / ${batches}")
    set(n 0)
    foreach(f IN LISTS ${group})
      math(EXPR batch "${n} / ${size}")
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${f})
      string(APPEND text_${group}_${batch} "#include \"${name}\"\n")
      math(EXPR n "${n} + 1")
    endforeach()
    foreach(batch RANGE ${batch})
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}_together/${group}_${batch}.cpp)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text_${group}_${batch}}" @ONLY)
      target_sources(${target} PRIVATE ${unit})
    endforeach()
    set_source_files_properties(${${group}} PROPERTIES HEADER_FILE_ONLY ON WEFT_TOGETHER ON)
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# weft_module(NAME DEPENDS core ... LIBRARIES fmt::fmt ... [SOURCES generated.cpp ...] [HEADERS_OF OTHER | HEADERS <a> ...] [HOT])
# The common headers and HEADERS are parsed once for the module, or shared with a module of the same compile options.
# HOT: it runs for every message. How much the compiler inlines depends on how much it compiles at a time: sixteen files together
# are 5 % more instructions of a replay than eight. And nothing of it is ever replaced when it is loaded, which position independent
# code allows for: so a function may be inlined where it is called, which saves 2 %.
function(weft_module name)
  cmake_parse_arguments(M "HOT" "HEADERS_OF" "SOURCES;DEPENDS;LIBRARIES;HEADERS" ${ARGN})
  weft_sources(found)
  add_library(weft_${name} STATIC ${found} ${M_SOURCES})
  add_library(weft::${name} ALIAS weft_${name})
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/weft>)
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  weft_own_flags(weft_${name} weft_warnings weft_pch)
  foreach(d IN LISTS M_DEPENDS)
    target_link_libraries(weft_${name} PUBLIC weft::${d})
  endforeach()
  target_link_libraries(weft_${name} PUBLIC ${M_LIBRARIES})
  if(M_HEADERS_OF)
    target_precompile_headers(weft_${name} REUSE_FROM weft_${M_HEADERS_OF})
  else()
    target_precompile_headers(weft_${name} PRIVATE ${WEFT_COMMON_HEADERS} ${M_HEADERS})
  endif()
  if(M_HOT)
    target_compile_options(weft_${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)
    weft_together(weft_${name} APART)
  else()
    weft_together(weft_${name})
  endif()
endfunction()

# weft_tests(NAME [BUT a_test.cpp ...] [SOURCES helper.cpp ...] MODULES ...): weft_test over every *_test.cpp of this folder and of its
# rooms (weft_sources) but those that have a binary of their own.
function(weft_tests name)
  cmake_parse_arguments(T "" "" "BUT;SOURCES;MODULES;LIBRARIES" ${ARGN})
  weft_sources(found)
  list(FILTER found INCLUDE REGEX "_test[.]cpp$")
  list(TRANSFORM T_BUT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM found ${T_BUT})
  weft_test(${name} SOURCES ${found} ${T_SOURCES} MODULES ${T_MODULES} LIBRARIES ${T_LIBRARIES})
endfunction()

# weft_test(NAME SOURCES a_test.cpp ... MODULES replay ... [LABEL slow]): one test binary, one ctest entry per TEST.
function(weft_test name)
  cmake_parse_arguments(T "" "LABEL" "SOURCES;MODULES;LIBRARIES" ${ARGN})
  if(NOT T_LABEL)
    set(T_LABEL quick)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE weft_warnings weft_flags weft_pch GTest::gmock GTest::gtest_main fmt::fmt Boost::headers
    ${T_LIBRARIES})
  # What every test includes is parsed once.
  if(NOT TARGET weft_test_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cpp "int main() {}\n")
    add_executable(weft_test_headers ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(weft_test_headers PRIVATE weft_warnings weft_flags weft_pch GTest::gmock GTest::gtest fmt::fmt Boost::headers
      weft_test_checkout)
    target_compile_options(weft_test_headers PRIVATE $<$<CONFIG:Release>:-O1>)
    target_precompile_headers(weft_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <fmt/format.h>
      <boost/graph/compressed_sparse_row_graph.hpp> <algorithm> <cmath> <cstdint> <filesystem> <fstream> <functional> <map>
      <memory> <optional> <set> <sstream> <string> <vector>)
  endif()
  target_precompile_headers(${name} REUSE_FROM weft_test_headers)
  foreach(m IN LISTS T_MODULES)
    target_link_libraries(${name} PRIVATE weft::${m})
  endforeach()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  # What is tested is optimised; the tests themselves are compiled once and run once: -O1 takes 40 % less time than -O3.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${name} PRIVATE weft_test_checkout)
  weft_together(${name})
  # One mpirun at a time: two that start at once can trip over each other's session.
  set(lock)
  if(T_LABEL STREQUAL mpi)
    set(lock RESOURCE_LOCK mpirun)
  endif()
  # No copies from one run to the next (core/files/kept_copies.hpp): tests see what the program does with its input.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${T_LABEL} TIMEOUT 600 ENVIRONMENT WEFT_CACHE_DIR= ${lock})
endfunction()
