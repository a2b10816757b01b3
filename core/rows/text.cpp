#include "rows/text.hpp"

#if defined(_WIN32)
#define NOMINMAX
#include <io.h>
#include <windows.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/check.hpp"

namespace maxmargin {

namespace {

// Bytes of a file from a place on, without moving its position: threads read side by side.
#if defined(_WIN32)
std::ptrdiff_t read_at(int file, std::size_t begin, char* to, std::size_t count) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(begin & 0xffffffff);
  place.OffsetHigh = static_cast<DWORD>(static_cast<std::uint64_t>(begin) >> 32);
  const DWORD most = static_cast<DWORD>(std::min<std::size_t>(count, 1u << 30));
  DWORD done = 0;
  const HANDLE handle = reinterpret_cast<HANDLE>(::_get_osfhandle(file));
  if (::ReadFile(handle, to, most, &done, &place)) return static_cast<std::ptrdiff_t>(done);
  if (::GetLastError() == ERROR_HANDLE_EOF) return 0;
  errno = EIO;
  return -1;
}
#else
std::ptrdiff_t read_at(int file, std::size_t begin, char* to, std::size_t count) {
  return ::pread(file, to, count, static_cast<off_t>(begin));
}
#endif

void read_fully(int file, std::size_t begin, char* to, std::size_t count) {
  while (count > 0) {
    const std::ptrdiff_t done = read_at(file, begin, to, count);
    if (done < 0 && errno == EINTR) continue;
    check(done >= 0, std::string("the file cannot be read: ") + std::strerror(errno));
    check(done > 0, "the file has become shorter while it was read; read it again");
    to += done;
    begin += static_cast<std::size_t>(done);
    count -= static_cast<std::size_t>(done);
  }
}

}  // namespace

std::string_view Text::read(std::size_t begin, std::size_t end, std::string& buffer) const {
  if (!may_change()) return memory_.substr(begin, end - begin);
  if (buffer.size() < end - begin) buffer.resize(end - begin);
  read_fully(file_, begin_ + begin, buffer.data(), end - begin);
  return std::string_view(buffer).substr(0, end - begin);
}

std::size_t Text::after_line_end(std::size_t from, std::size_t most) const {
  constexpr std::size_t kLook = 4096;
  std::string buffer;
  const std::size_t stop = most < size_ - from ? from + most : size_;
  for (std::size_t at = from; at < stop;) {
    const std::size_t next = may_change() ? std::min(at + kLook, stop) : stop;
    const std::size_t found = read(at, next, buffer).find('\n');
    if (found != std::string_view::npos) return at + found + 1;
    at = next;
  }
  return stop < size_ ? size_ + 1 : size_;
}

std::unique_ptr<std::string> Buffers::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    free_.reserve(made_ + 1);  // so that giving back, which destructors do, cannot fail
    auto buffer = std::make_unique<std::string>();
    ++made_;
    return buffer;
  }
  std::unique_ptr<std::string> buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void Buffers::give_back(std::unique_ptr<std::string> buffer) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace maxmargin
