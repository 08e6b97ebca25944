// What a memory tier hands out, counted and as small as pointers: InternedRecipe names a recipe, Held holds a
// product, Parent names the product on which another depends. Copies may be used by any threads.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "larder/detail/memory_core.hpp"
#include "larder/export.h"
#include "larder/recipe.hpp"

namespace larder {

template <typename T>
class MemoryTier;
template <typename T>
class Guard;
class Parent;

// A recipe that a tier knows: lookups with it neither hash nor compare anything. A counted handle, as wide
// as a pointer. It belongs to its tier, and may outlive it. To hand it to another tier is a mistake of the
// program: where NDEBUG is not defined an assertion says so; where it is, nothing but get_or_make looks,
// which says invalid_argument as long as nothing is kept under it. Hits look at nothing that they do not
// need.
template <typename T>
class InternedRecipe {
 public:
  InternedRecipe() noexcept = default;
  InternedRecipe(const InternedRecipe& other) noexcept : slot_(other.slot_) {
    if (slot_ != nullptr) detail::MemoryCore::add_claim(slot_);
  }
  InternedRecipe(InternedRecipe&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  InternedRecipe& operator=(InternedRecipe other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~InternedRecipe() {
    if (slot_ != nullptr) detail::MemoryCore::drop_claim(slot_);
  }

  explicit operator bool() const noexcept { return slot_ != nullptr; }
  std::string_view canonical() const noexcept { return detail::MemoryCore::canonical(slot_); }
  Key key() const noexcept { return detail::MemoryCore::key(slot_); }
  // The same recipe in the same tier.
  friend bool operator==(const InternedRecipe&, const InternedRecipe&) noexcept = default;

 private:
  friend class MemoryTier<T>;
  friend class Guard<T>;
  friend class Parent;
  explicit InternedRecipe(detail::Slot* slot) noexcept : slot_(slot) {}
  detail::Slot* slot_ = nullptr;
};

// Holds an object, which lives as long as one of its handles, even when the tier has let it go or is gone.
template <typename T>
class Held {
 public:
  Held() noexcept = default;
  Held(const Held& other) noexcept : value_(other.value_), object_(other.object_) {
    if (object_ != nullptr) detail::hold(*object_);
  }
  Held(Held&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held other) noexcept {
    std::swap(value_, other.value_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() {
    if (object_ != nullptr) detail::let_go(*object_);
  }

  explicit operator bool() const noexcept { return value_ != nullptr; }
  T* get() const noexcept { return value_; }
  T& operator*() const noexcept { return *value_; }
  T* operator->() const noexcept { return value_; }
  // Throws std::bad_alloc.
  std::shared_ptr<T> to_shared() const {
    return value_ == nullptr ? nullptr : std::shared_ptr<T>(value_, [held = *this](T*) {});
  }

 private:
  friend class MemoryTier<T>;
  Held(T* value, detail::ObjectHead* object) noexcept : value_(value), object_(object) {}
  T* value_ = nullptr;
  detail::ObjectHead* object_ = nullptr;
};

// The product under another interned recipe, of any tier, on which one depends.
class Parent {
 public:
  Parent() noexcept = default;
  template <typename T>
  Parent(const InternedRecipe<T>& recipe) noexcept : slot_(recipe.slot_) {}

 private:
  friend class detail::Core;
  detail::Slot* slot_ = nullptr;
};

}  // namespace larder
