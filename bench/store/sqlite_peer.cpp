#include <sqlite3.h>
#include <sys/stat.h>

#include "checked.hpp"
#include "peer.hpp"

namespace {

// WAL, synchronous off, blobs in a rowid table with an index: the fastest of its layouts for blobs.
class SqlitePeer final : public Peer {
 public:
  ~SqlitePeer() override {
    sqlite3_finalize(get_);
    sqlite3_finalize(put_);
    sqlite3_close(database_);
  }
  bool open(const std::string& directory) override {
    ::mkdir(directory.c_str(), 0700);
    if (sqlite3_open((directory + "/db").c_str(), &database_) != SQLITE_OK) return false;
    sqlite3_busy_timeout(database_, 20'000);
    constexpr const char* kSetUp =
        "pragma journal_mode=wal; pragma synchronous=off; pragma mmap_size=268435456;"
        "create table if not exists kept(key blob primary key, value blob)";
    return sqlite3_exec(database_, kSetUp, nullptr, nullptr, nullptr) == SQLITE_OK &&
           sqlite3_prepare_v2(database_, "select value from kept where key=?", -1, &get_, nullptr) ==
               SQLITE_OK &&
           sqlite3_prepare_v2(database_, "insert or ignore into kept values(?,?)", -1, &put_, nullptr) ==
               SQLITE_OK;
  }
  std::int64_t get(const larder::Recipe& recipe) override {
    const larder::Key key = recipe.key();
    sqlite3_bind_blob(get_, 1, &key, sizeof key, SQLITE_STATIC);
    std::int64_t size = -1;
    if (sqlite3_step(get_) == SQLITE_ROW) {
      size =
          checked_size(sqlite3_column_blob(get_, 0), static_cast<std::size_t>(sqlite3_column_bytes(get_, 0)));
    }
    sqlite3_reset(get_);
    return size;
  }
  bool put(const larder::Recipe& recipe, std::string_view product) override {
    const larder::Key key = recipe.key();
    const std::string all = with_checksum(product);
    sqlite3_bind_blob(put_, 1, &key, sizeof key, SQLITE_STATIC);
    sqlite3_bind_blob(put_, 2, all.data(), static_cast<int>(all.size()), SQLITE_STATIC);
    const bool good = sqlite3_step(put_) == SQLITE_DONE;
    sqlite3_reset(put_);
    return good;
  }

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* get_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
};

}  // namespace

std::vector<PeerKind> peer_kinds() {
  return {{"sqlite", [] { return std::unique_ptr<Peer>(std::make_unique<SqlitePeer>()); }}};
}
