#include "peer.hpp"
#include "store/store.hpp"

namespace {

template <bool kMap>
class LarderPeer final : public Peer {
 public:
  bool open(const std::string& directory) override {
    larder::StoreOptions options;
    options.root = directory;
    options.free_bytes_min = 0;
    options.lock_directory = directory + ".locks";
    auto store = larder::Store::open(std::move(options));
    if (store) store_ = std::move(*store);
    return store_ != nullptr;
  }
  std::int64_t get(const larder::Recipe& recipe) override {
    const larder::Lookup found = store_->get(recipe, {.may_map = kMap});
    return found ? static_cast<std::int64_t>(found.entry.product.size()) : -1;
  }
  bool put(const larder::Recipe& recipe, std::string_view product) override {
    return static_cast<bool>(store_->put(recipe, larder::as_bytes(product)));
  }
  bool wait_for_turn(const larder::Recipe& recipe) override {
    turn_ = store_->wait_for_turn(recipe.key(), std::chrono::seconds(1));
    return turn_.turn == larder::Turn::published;
  }
  void end_turn() override { turn_ = {}; }

 private:
  std::unique_ptr<larder::Store> store_;
  larder::MakeTurn turn_;
};

}  // namespace

std::unique_ptr<Peer> make_larder() {
  return std::make_unique<LarderPeer<false>>();
}
std::unique_ptr<Peer> make_larder_mapped() {
  return std::make_unique<LarderPeer<true>>();
}
