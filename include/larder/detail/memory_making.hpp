// Turns whatever a maker may return into an object that the core can keep.
// A maker of T returns: T, or something T is made from · unique_ptr or shared_ptr to T · a Disposable handle
// · a Result of one of these.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "larder/detail/memory_core.hpp"

namespace larder {

// Thrown by a maker to say: not now. Nothing is remembered, and one of those who wait tries for himself.
struct TransientFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A handle and what gives it back, for handles that no destructor owns: Disposable(open(path), close_it).
template <typename Handle, typename Dispose>
struct Disposable {
  Disposable(Handle its_handle, Dispose its_dispose)
      : handle(std::move(its_handle)), dispose(std::move(its_dispose)) {}
  Handle handle;
  Dispose dispose;
};
template <typename Handle, typename Dispose>
Disposable(Handle, Dispose) -> Disposable<Handle, Dispose>;

namespace detail {

// The largest T that lives in its slot: with it the slot fills four lines.
inline constexpr std::size_t kHomeSizeMax = 4 * 64 - sizeof(Slot) + 24;

template <typename T>
consteval TypeFacts facts_of() {
  TypeFacts facts;
  if constexpr (requires { sizeof(T); }) {
    constexpr std::size_t head = offsetof(Slot, home) + sizeof(ObjectHead);
    if constexpr (sizeof(T) <= kHomeSizeMax && alignof(T) <= alignof(Slot)) {
      constexpr std::size_t offset = (head + alignof(T) - 1) / alignof(T) * alignof(T);
      facts.home_offset = offset;
      facts.home_size = sizeof(T);
      facts.slot_size = (offset + sizeof(T) + 63) / 64 * 64;
      facts.destroy = [](void* value) noexcept { static_cast<T*>(value)->~T(); };
    }
  }
  return facts;
}

// Asks memory for all the lines of a slot and a product at home.
template <typename T>
void prefetch(const Slot* slot) noexcept {
  for (std::size_t line = 0; line < facts_of<T>().slot_size; line += 64) {
    __builtin_prefetch(reinterpret_cast<const std::byte*>(slot) + line);
  }
}

template <typename T>
void* value_of(ObjectHead& object) noexcept {
  if constexpr (facts_of<T>().home_offset != 0) {
    if (object.is_at_home) {
      return reinterpret_cast<std::byte*>(&object) + (facts_of<T>().home_offset - offsetof(Slot, home));
    }
  }
  return static_cast<AwayObject&>(object).value;
}

template <typename T>
struct Boxed : AwayObject {
  template <typename Make>
  explicit Boxed(Make&& make) : product(std::forward<Make>(make)()) {}
  T product;
};

// An object that somebody else allocated, and how it is given back: by Owner's destructor.
template <typename Owner>
struct Adopted : AwayObject {
  explicit Adopted(Owner from) : owner(std::move(from)) {}
  Owner owner;
};

template <typename T, typename Dispose>
struct DisposableOwner {
  DisposableOwner(T from, Dispose with) : value(std::move(from)), dispose(std::move(with)) {}
  DisposableOwner(DisposableOwner&& other)
      : value(std::move(other.value)),
        dispose(std::move(other.dispose)),
        owns(std::exchange(other.owns, false)) {}
  ~DisposableOwner() {
    if (owns) dispose(value);
  }
  T value;
  Dispose dispose;
  bool owns = true;
};

template <typename Object>
void keep_away(Making& making, Object* object, const void* of_caller) noexcept {
  // A tier of const objects gives them out as such.
  void* const value = const_cast<void*>(of_caller);
  object->slot = making.slot;
  object->value = value;
  object->destroy = [](AwayObject* away) noexcept { delete static_cast<Object*>(away); };
  making.object = object;
  making.value = value;
  making.end = Making::End::made;
}

// Keeps the T that `make()` returns, without moving it.
template <typename T, typename Make>
void keep_value(Making& making, Make&& make) {
  if constexpr (facts_of<T>().home_offset != 0) {
    if (making.home != nullptr) {
      making.value = ::new (making.home) std::remove_const_t<T>(std::forward<Make>(make)());
      making.object = &making.slot->home;
      making.end = Making::End::made;
      return;
    }
  }
  auto* const object = new Boxed<T>(std::forward<Make>(make));
  keep_away(making, object, &object->product);
}

inline void refuse_null(Making& making) {
  making.end = Making::End::failed;
  making.error = Error{Code::maker_failed, "maker: returned a null pointer"};
}

template <typename T, typename U, typename D>
void keep(Making& making, std::unique_ptr<U, D>&& made) {
  if (made == nullptr) return refuse_null(making);
  T* const value = made.get();
  keep_away(making, new Adopted<std::unique_ptr<U, D>>(std::move(made)), value);
}
template <typename T, typename U>
void keep(Making& making, std::shared_ptr<U>&& made) {
  if (made == nullptr) return refuse_null(making);
  T* const value = made.get();
  keep_away(making, new Adopted<std::shared_ptr<U>>(std::move(made)), value);
}
template <typename T, typename Handle, typename Dispose>
void keep(Making& making, Disposable<Handle, Dispose>&& made) {
  using Owner = DisposableOwner<Handle, Dispose>;
  if constexpr (std::is_convertible_v<Handle, T*>) {
    if (made.handle == nullptr) return refuse_null(making);
  }
  Owner owner(std::move(made.handle), std::move(made.dispose));
  auto* const object = new Adopted<Owner>(std::move(owner));
  if constexpr (std::is_convertible_v<Handle, T*>) {
    T* const value = object->owner.value;
    keep_away(making, object, value);
  } else {
    static_assert(std::is_same_v<Handle, std::remove_const_t<T>>,
                  "the handle is neither a T nor a pointer to one");
    keep_away(making, object, &object->owner.value);
  }
}
// Made is one of the above, and no T itself.
template <typename T, typename Made>
concept KeptAs = !std::is_same_v<T, Made> && requires(Making & making, Made made) {
  keep<T>(making, std::move(made));
};

template <typename T, typename Made>
void keep(Making& making, tl::expected<Made, Error>&& made) {
  if (!made) {
    making.error = std::move(made.error());
    making.end = making.error.code == Code::transient          ? Making::End::transient
                 : making.error.code == Code::out_of_resources ? Making::End::out_of_resources
                                                               : Making::End::failed;
  } else if constexpr (KeptAs<T, Made>) {
    keep<T>(making, std::move(*made));
  } else {
    keep_value<T>(making, [&]() -> Made&& { return std::move(*made); });
  }
}
template <typename T, typename Made>
void keep(Making& making, Result<Made>&& made) {
  keep<T>(making, static_cast<tl::expected<Made, Error>&&>(made));
}

template <typename T, typename Maker>
void run_maker(Making& making, Maker& maker) {
  using Made = std::invoke_result_t<Maker&>;
  if constexpr (KeptAs<T, Made>) {
    keep<T>(making, std::invoke(maker));
  } else {
    keep_value<T>(making, [&]() -> Made { return std::invoke(maker); });
  }
}

// A product whose weight cannot be told is too heavy to keep.
template <typename T>
std::uint64_t weigh_safely(const std::function<std::uint64_t(const T&)>& weigh, const T& value) noexcept {
  try {
    if (weigh) return weigh(value);
    if constexpr (requires { sizeof(T); }) return sizeof(T);
    return 0;
  } catch (...) {
    return std::numeric_limits<std::uint64_t>::max();
  }
}

template <typename T, typename Maker>
struct MakerFrame {
  Maker& maker;
  const std::function<std::uint64_t(const T&)>& weigh;

  static void call(void* frame, Making& making) {
    auto& self = *static_cast<MakerFrame*>(frame);
    try {
      run_maker<T>(making, self.maker);
      if (making.end == Making::End::made) {
        making.weight = weigh_safely<T>(self.weigh, *static_cast<T*>(making.value));
      }
    } catch (const std::bad_alloc&) {
      making.end = Making::End::out_of_resources;
      making.exception = std::current_exception();
    } catch (const TransientFailure&) {
      making.end = Making::End::transient;
      making.exception = std::current_exception();
    } catch (...) {
      making.end = Making::End::failed;
      making.exception = std::current_exception();
      // No exception of C++: the thread is being cancelled, and nobody may stop that.
      if (making.exception == nullptr) throw;
    }
  }
};

}  // namespace detail
}  // namespace larder
