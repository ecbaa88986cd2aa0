# cmake -DFROM=page.html -DTO=bundle.cpp -P embed.cmake: a file as an array of bytes (a string literal of its size is more than
# compilers promise to take).
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${TO} "#include \"report/html/bundle.hpp\"

namespace weft::report {
namespace {
constexpr unsigned char kBytes[] = {
${bytes}};
}  // namespace

std::string_view page_bundle() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }

}  // namespace weft::report
")
