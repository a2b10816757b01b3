// An array whose entries start unwritten, so that many threads can be the first to touch its pages,
// and that can be cut to what was used without a copy.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace maxmargin {

template <class T>
class Array {
  static_assert(std::is_trivial_v<T>);

 public:
  Array() = default;
  explicit Array(std::size_t size) : size_(size) {
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    data_ = static_cast<T*>(std::malloc(size ? size * sizeof(T) : 1));
    if (!data_) throw std::bad_alloc();
  }
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Array() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t k) { return data_[k]; }
  const T& operator[](std::size_t k) const { return data_[k]; }

  // Makes room for more entries; those there are stay, mostly without a copy.
  void grow(std::size_t size) {
    if (size <= size_) return;
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    void* larger = std::realloc(data_, size * sizeof(T));
    if (!larger) throw std::bad_alloc();
    data_ = static_cast<T*>(larger);
    size_ = size;
  }

  // Gives the memory behind the first `size` entries back to the system.
  void shrink(std::size_t size) {
    if (size >= size_) return;
    if (void* smaller = std::realloc(data_, size ? size * sizeof(T) : 1))
      data_ = static_cast<T*>(smaller);
    size_ = size;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace maxmargin
