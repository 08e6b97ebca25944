// How keys, values and functions of a graph lose their types: what stands in a node's words, and the calls
// that know what it is. Not for users.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/detail/graph_core.hpp"
#include "larder/detail/graph_written.hpp"

namespace larder::detail {

LARDER_API Digest digest_of(BytesView bytes) noexcept;
LARDER_API std::uint64_t hash_of_text(std::string_view text) noexcept;

// Types whose objects are a run of bytes.
template <typename T>
inline constexpr bool kIsText = std::is_same_v<T, std::string> || std::is_same_v<T, Bytes>;
template <typename T>
inline constexpr bool kIsRun = false;
template <typename T>
inline constexpr bool kIsRun<std::vector<T>> =
    std::has_unique_object_representations_v<T> && !std::is_same_v<T, bool>;

template <typename T>
BytesView run_bytes(const T& object) noexcept {
  if constexpr (kIsText<T>) {
    return {reinterpret_cast<const std::byte*>(object.data()), object.size()};
  } else {
    return std::as_bytes(std::span(object.data(), object.size()));
  }
}

template <typename T>
struct HashOf {
  std::uint64_t operator()(const T& object) const { return mixed(std::hash<T>()(object)); }
};
template <>
struct HashOf<std::string> {
  std::uint64_t operator()(const std::string& text) const noexcept { return hash_of_text(text); }
};
template <typename... T>
struct HashOf<std::tuple<T...>> {
  std::uint64_t operator()(const std::tuple<T...>& objects) const {
    std::uint64_t hash = 0;
    std::apply(
        [&](const T&... each) { ((hash = mixed(hash + 0x9e3779b97f4a7c15u + HashOf<T>()(each))), ...); },
        objects);
    return hash;
  }
};
template <typename A, typename B>
struct HashOf<std::pair<A, B>> {
  std::uint64_t operator()(const std::pair<A, B>& objects) const {
    return HashOf<std::tuple<A, B>>()({objects.first, objects.second});
  }
};

template <typename K>
std::string text_of(const K& key) {
  if constexpr (std::is_same_v<K, std::monostate>) {
    return {};
  } else if constexpr (std::is_integral_v<K>) {
    return std::to_string(key);
  } else if constexpr (std::is_enum_v<K>) {
    return std::to_string(static_cast<std::underlying_type_t<K>>(key));
  } else if constexpr (std::is_convertible_v<const K&, std::string_view>) {
    return std::string(std::string_view(key));
  } else {
    return "...";
  }
}

template <typename K>
struct KeyOf {
  static_assert(!std::is_pointer_v<K> && !std::is_same_v<K, std::string_view>,
                "a key must own what it says: std::string, not a pointer or a view");
  static constexpr bool kIsWord =
      kFits<K> && (std::has_unique_object_representations_v<K> || std::is_empty_v<K>);

  static std::uint64_t hash(const K& key) {
    if constexpr (kIsWord) {
      return to_word(key);
    } else {
      return HashOf<K>()(key);
    }
  }
  static Word make(const K& key) {
    if constexpr (kIsWord) {
      return to_word(key);
    } else {
      return boxed<K>(key);
    }
  }
  static bool same(Word word, const K& key) {
    if constexpr (kIsWord) {
      return word == to_word(key);
    } else {
      return unboxed<K>(word) == key;
    }
  }
  static K load(Word word) {
    if constexpr (kIsWord) {
      return from_word<K>(word);
    } else {
      return unboxed<K>(word);
    }
  }
};

template <typename V>
struct ValueOf {
  static_assert(!std::is_pointer_v<V> && !std::is_reference_v<V> && !std::is_same_v<V, std::string_view>,
                "a value must own what it says");
  static Word make(V value) {
    if constexpr (kFits<V>) {
      return to_word(value);
    } else {
      return boxed<V>(std::move(value));
    }
  }
  static const V& look(Word word) noexcept { return unboxed<V>(word); }
};

// How a key or value is written down, where its type knows.
template <typename T, bool kInWord, typename Type>
void give_writing(Type& type) {
  type.name = typeid(T).name();
  if constexpr (IsWritten<T>) {
    type.write = [](Word word, std::string& to) {
      if constexpr (kInWord)
        Written<T>::write(from_word<T>(word), to);
      else
        Written<T>::write(unboxed<T>(word), to);
    };
    type.read = [](std::string_view from, Word& word) {
      T object{};
      if (!Written<T>::read(from, object)) return false;
      if constexpr (kInWord)
        word = to_word(object);
      else
        word = boxed<T>(std::move(object));
      return true;
    };
  }
}

template <typename K, typename V>
FunctionSpec spec_of(std::string name) {
  FunctionSpec spec;
  spec.name = std::move(name);
  spec.key.is_boxed = !KeyOf<K>::kIsWord;
  spec.key.text = [](Word word) { return text_of(KeyOf<K>::load(word)); };
  spec.key.hash = [](Word word) { return KeyOf<K>::hash(KeyOf<K>::load(word)); };
  spec.key.same = [](Word a, Word b) {
    if constexpr (KeyOf<K>::kIsWord) {
      return a == b;
    } else {
      return unboxed<K>(a) == unboxed<K>(b);
    }
  };
  give_writing<K, KeyOf<K>::kIsWord>(spec.key);
  spec.value.is_boxed = !kFits<V>;
  give_writing<V, kFits<V>>(spec.value);
  if constexpr (kFits<V>) {
    if constexpr (!kBitwise<V> && !std::is_empty_v<V>) {
      static_assert(std::equality_comparable<V>, "values are compared: give the type an operator==");
      spec.value.equal = [](Word a, Word b) { return from_word<V>(a) == from_word<V>(b); };
    }
  } else {
    static_assert(std::equality_comparable<V>, "values are compared: give the type an operator==");
    spec.value.equal = [](Word a, Word b) { return unboxed<V>(a) == unboxed<V>(b); };
    if constexpr (kIsText<V> || kIsRun<V>) {
      spec.value.weight = [](Word word) { return sizeof(BoxOf<V>) + run_bytes(unboxed<V>(word)).size(); };
      spec.value.digest = [](Word word, Digest& digest) {
        digest = digest_of(run_bytes(unboxed<V>(word)));
        return true;
      };
    } else {
      spec.value.weight = [](Word) { return std::uint64_t{sizeof(BoxOf<V>)}; };
    }
  }
  return spec;
}

// A set that waits for its batch.
struct Change {
  FunctionCore* input;
  std::uint64_t hash;
  Word key;
  Word value;
  bool is_erased;
};

template <typename T>
struct Unwrapped {
  using Type = T;
  static constexpr bool kIsResult = false;
};
template <typename T>
struct Unwrapped<Result<T>> {
  using Type = T;
  static constexpr bool kIsResult = true;
};

// The key and value types of a callable, and how the engine calls it.
template <typename Call, typename Signature>
struct CallShape;

template <typename Call, typename Returned, typename... Keys>
struct CallShape<Call, Returned(Context&, Keys...)> {
  static_assert(sizeof...(Keys) <= 1,
                "a tracked function takes its Context and at most one key (std::tuple holds more)");
  using Unwrap = Unwrapped<std::decay_t<Returned>>;
  using Value = typename Unwrap::Type;
  using KeyType = std::tuple_element_t<0, std::tuple<std::decay_t<Keys>..., std::monostate>>;

  static Word run(void* callable, Context& context, Word key, bool& has_failed) {
    Call& call = *static_cast<Call*>(callable);
    if constexpr (Unwrap::kIsResult) {
      Result<Value> made = invoke(call, context, key);
      if (!made) {
        has_failed = true;
        return error_word(std::move(made.error()));
      }
      return ValueOf<Value>::make(std::move(*made));
    } else {
      return ValueOf<Value>::make(invoke(call, context, key));
    }
  }
  static Returned invoke(Call& call, Context& context, Word key) {
    if constexpr (sizeof...(Keys) == 0) {
      return call(context);
    } else if constexpr (KeyOf<KeyType>::kIsWord) {
      return call(context, from_word<KeyType>(key));
    } else {
      return call(context, unboxed<KeyType>(key));
    }
  }
};

template <typename Call, typename Member>
struct OfMember;
template <typename Call, typename Of, typename Returned, typename... Arguments>
struct OfMember<Call, Returned (Of::*)(Arguments...) const> : CallShape<Call, Returned(Arguments...)> {};
template <typename Call, typename Of, typename Returned, typename... Arguments>
struct OfMember<Call, Returned (Of::*)(Arguments...)> : CallShape<Call, Returned(Arguments...)> {};

template <typename Call>
struct CallOf : OfMember<Call, decltype(&Call::operator())> {};
template <typename Returned, typename... Arguments>
struct CallOf<Returned (*)(Arguments...)> : CallShape<Returned (*)(Arguments...), Returned(Arguments...)> {};

}  // namespace larder::detail
