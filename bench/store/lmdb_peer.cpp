#include <lmdb.h>
#include <sys/stat.h>

#include "checked.hpp"
#include "peer.hpp"

namespace {

// Keys of 16 bytes, values shown where they lie in the map, nothing waits for the disk.
class LmdbPeer final : public Peer {
 public:
  ~LmdbPeer() override {
    if (environment_ != nullptr) mdb_env_close(environment_);
  }
  bool open(const std::string& directory) override {
    ::mkdir(directory.c_str(), 0700);
    MDB_txn* transaction = nullptr;
    return mdb_env_create(&environment_) == 0 &&
           mdb_env_set_mapsize(environment_, std::size_t{8} << 30) == 0 &&
           mdb_env_set_maxreaders(environment_, 512) == 0 &&
           mdb_env_open(environment_, directory.c_str(), MDB_NOSYNC | MDB_NOTLS, 0600) == 0 &&
           mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction) == 0 &&
           mdb_dbi_open(transaction, nullptr, 0, &database_) == 0 && mdb_txn_commit(transaction) == 0;
  }
  std::int64_t get(const larder::Recipe& recipe) override {
    larder::Key number = recipe.key();
    MDB_val key = {sizeof number, &number};
    MDB_val value{};
    MDB_txn* transaction = nullptr;
    if (mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction) != 0) return -1;
    const bool found = mdb_get(transaction, database_, &key, &value) == 0;
    const std::int64_t size = found ? checked_size(value.mv_data, value.mv_size) : -1;
    mdb_txn_abort(transaction);
    return size;
  }
  bool put(const larder::Recipe& recipe, std::string_view product) override {
    larder::Key number = recipe.key();
    const std::string all = with_checksum(product);
    MDB_val key = {sizeof number, &number};
    MDB_val value = {all.size(), const_cast<char*>(all.data())};
    MDB_txn* transaction = nullptr;
    if (mdb_txn_begin(environment_, nullptr, 0, &transaction) != 0) return false;
    const int put = mdb_put(transaction, database_, &key, &value, MDB_NOOVERWRITE);
    if (put != 0) mdb_txn_abort(transaction);
    return put == MDB_KEYEXIST || (put == 0 && mdb_txn_commit(transaction) == 0);
  }

 private:
  MDB_env* environment_ = nullptr;
  MDB_dbi database_ = 0;
};

}  // namespace

std::vector<PeerKind> peer_kinds() {
  return {{"lmdb", [] { return std::unique_ptr<Peer>(std::make_unique<LmdbPeer>()); }}};
}
