// Archives for tests, through libarchive: what a tar of a trace holds, and making one.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft::traces::testing {

// File name -> text of every regular file.
inline std::map<std::string, std::string> read_archive(const std::string& path) {
  std::map<std::string, std::string> out;
  archive* a = archive_read_new();
  archive_read_support_filter_all(a);
  archive_read_support_format_tar(a);
  EXPECT_EQ(archive_read_open_filename(a, path.c_str(), 1 << 20), ARCHIVE_OK) << path;
  archive_entry* e = nullptr;
  while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
    if (archive_entry_filetype(e) != AE_IFREG) continue;
    std::string& text = out[archive_entry_pathname(e)];
    char buffer[1 << 16];
    for (la_ssize_t n = 0; (n = archive_read_data(a, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
  }
  archive_read_free(a);
  return out;
}

// Writes files in the given order. `filter`: ARCHIVE_FILTER_NONE, _GZIP, _ZSTD ...; `raw` = one compressed
// text.
inline void write_archive(const std::string& path, int filter,
                          const std::vector<std::pair<std::string, std::string>>& files, bool raw = false) {
  archive* a = archive_write_new();
  ASSERT_GE(archive_write_add_filter(a, filter), ARCHIVE_WARN);
  if (raw)
    archive_write_set_format_raw(a);
  else
    archive_write_set_format_ustar(a);
  ASSERT_EQ(archive_write_open_filename(a, path.c_str()), ARCHIVE_OK) << archive_error_string(a);
  for (const auto& [name, text] : files) {
    archive_entry* e = archive_entry_new();
    archive_entry_set_pathname(e, name.c_str());
    archive_entry_set_size(e, static_cast<la_int64_t>(text.size()));
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    ASSERT_EQ(archive_write_header(a, e), ARCHIVE_OK) << archive_error_string(a);
    ASSERT_EQ(archive_write_data(a, text.data(), text.size()), static_cast<la_ssize_t>(text.size()));
    archive_entry_free(e);
  }
  ASSERT_EQ(archive_write_close(a), ARCHIVE_OK);
  archive_write_free(a);
}

}  // namespace weft::traces::testing
