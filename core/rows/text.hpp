// Text that is read piece by piece, from memory or from a file.
//
// Somebody may write to the file, or cut it short, while it is read. A mapped file would then
// change under the parser, or end the process. So pieces of a file are copied to memory of our own,
// and what one reading found is never believed in the next.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace maxmargin {

class Text {
 public:
  Text(std::string_view memory) : memory_(memory), size_(memory.size()) {}
  // `size` bytes of an open file from `begin` on.
  Text(int file, std::size_t begin, std::size_t size) : file_(file), begin_(begin), size_(size) {}

  std::size_t size() const { return size_; }
  bool may_change() const { return file_ >= 0; }

  // Bytes [begin, end): where they lie in memory, else copied to `buffer`. Throws InvalidInput if
  // the file has become shorter.
  std::string_view read(std::size_t begin, std::size_t end, std::string& buffer) const;

  // One past the first line end at or after `from`; size() if there is none. Looks no further than
  // `most` bytes and returns size() + 1 if there is more to see.
  std::size_t after_line_end(std::size_t from, std::size_t most) const;

 private:
  std::string_view memory_;
  int file_ = -1;
  std::size_t begin_ = 0, size_ = 0;
};

// Buffers that tasks borrow, so that each thread uses the same memory again.
class Buffers {
 public:
  class Borrowed {
   public:
    explicit Borrowed(Buffers& from) : from_(from), buffer_(from.take()) {}
    ~Borrowed() { from_.give_back(std::move(buffer_)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    std::string& operator*() { return *buffer_; }

   private:
    Buffers& from_;
    std::unique_ptr<std::string> buffer_;
  };

 private:
  std::unique_ptr<std::string> take();
  void give_back(std::unique_ptr<std::string> buffer) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<std::string>> free_;
  std::size_t made_ = 0;
};

}  // namespace maxmargin
