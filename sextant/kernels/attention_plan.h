// What all pieces of one call of fused attention share: checked shapes, who sees whom, tables cut
// to the distances that are seen and scaled for 2^x, packed keys and values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sextant/kernels/attention.h"

namespace sextant {

constexpr Index kQueryBlock = 48, kKeyBlock = 256;
constexpr Index kPanel = 64;    // rows of a transposed panel: four vectors of the widest target
constexpr Index kPadding = 16;  // floats of the widest target

[[noreturn]] void FailAttention(const std::string& rule);

constexpr Index RoundUp(Index count, Index to) { return (count + to - 1) / to * to; }

// Floats at a vector's boundary, with room for a panel's row past the end; in huge pages where they
// fill some and the system has them.
class Floats {
 public:
  Floats() = default;
  explicit Floats(Index count);
  float* get() const { return data_.get(); }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float[], Free> data_;
};

// Floats for pieces of work: one slab for each thread at work, used again by the next piece.
class Scratch {
 public:
  explicit Scratch(Index floats) : floats_(floats) {}

  // A slab for as long as this lives, cut into parts from its start.
  class Slab {
   public:
    explicit Slab(Scratch& scratch);
    ~Slab();
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;
    float* Cut(Index count);

   private:
    Scratch& scratch_;
    Floats floats_;
    Index used_ = 0;
  };

 private:
  Index floats_;
  std::mutex mutex_;
  std::vector<Floats> free_;
};

// Rows of one head and their transpose in panels: panel p holds [head_dim][kPanel] of rows p kPanel
// on. Zeros fill up both; null where not packed.
struct PackedRows {
  const float* rows = nullptr;    // [RoundUp(count, kPanel), width]
  const float* panels = nullptr;  // [RoundUp(count, kPanel) / kPanel][head_dim][kPanel]
  float longest = 0;              // norm of the longest row, where panels are packed
  bool finite = true;             // no infinity and no NaN
};
// Packs tokens of a head into `rows` and `panels`, each as long as above or null;
// attention_pack.cc.
PackedRows PackTokens(const HeadsIn& from, Index head, Index first, Index count, float* rows,
                      float* panels);

// The same of a table [count, head_dim], with its memory.
class PackedTable {
 public:
  PackedTable() = default;
  PackedTable(const float* from, Index count, Index head_dim);
  const PackedRows& operator*() const { return packed_; }

 private:
  Floats floats_;
  PackedRows packed_;
};

// Reads one number of each line of memory that heads lie in, a token of all of them after the
// other, where a token's heads lie together and all is small enough for a near cache. The work
// itself goes head by head, in steps over memory that the processor does not foresee.
void Fetch(std::initializer_list<const HeadsIn*> heads);

// |x|^2, in sixteen sums.
float SquaredNorm(const float* x, Index count);

// How a block of queries sees a tile of keys.
enum class Sight { kNone, kSome, kAll };

// The vectors of one head of a table by distance; `rows` of the pack are in the order of the plan's
// row numbers.
struct PackedVectors {
  PackedTable key, query, value;
};

struct AttentionPlan {
  // Checks everything; throws Error.
  explicit AttentionPlan(const FusedAttention& in);

  const FusedAttention& in;
  Index queries, keys, heads, kv_heads, group, head_dim, width;

  std::int64_t window = 0;  // no wider than positions can be apart; 0: none
  // Where positions run on by one, query i stands beside key i + lead, and [queries - 1 + j - i] is
  // the place of a distance in `bias` and `row`; else it is key_at[j] - query_at[i] - first_place,
  // held within 0 .. places - 1.
  bool run = true;
  Index lead = 0;
  // Keys are hidden by more than a range of places; `*_at` and `*_group` are filled.
  bool cellwise = false;
  std::vector<std::int32_t> query_at, key_at, query_group, key_group;
  // Without `cellwise`, query i sees keys i + first_diagonal .. i + last_diagonal; else past all.
  Index first_diagonal = 0, last_diagonal = 0;
  std::int32_t first_place = 0;
  Index places = 0;
  Index covered = 0;                 // places that have a distance of the caller's tables ...
  Index first_covered = 0;           // ... from this place on
  Index first_covered_distance = 0;  // ... and the caller's number of the first

  Floats bias;  // [heads, bias_stride], log2(e) folded in; where run, zeros outside what is covered
  Index bias_stride = 0;
  std::vector<std::int32_t> row;       // [places + kPadding]
  bool rows_backwards = false;         // the caller's row is vectors.rows - 1 - row
  bool rows_by_one = false;            // row[p + 1] - row[p] is 0 or 1
  std::vector<PackedVectors> vectors;  // [1 or heads]

  const float* BiasOf(Index head) const { return bias.get() + head * bias_stride; }
  const PackedVectors& VectorsOf(Index head) const {
    return vectors[vectors.size() == 1 ? 0 : std::size_t(head)];
  }
  bool has_vectors() const { return !vectors.empty(); }
  // The caller's row of a packed row of vectors.
  Index CallersRow(Index packed) const {
    return rows_backwards ? in.vectors.rows - 1 - packed : packed;
  }
  // What a score is times a bare product with the keys of query i, in base 2.
  float ScoreScale(Index i) const;
  // Throws Error unless `out` has the shape of `like` and lies apart from all inputs.
  void CheckOutput(const char* name, const HeadsOut& out, const HeadsLayout& like) const;
  // The keys that query i sees, which rise with i; where `cellwise`, all keys.
  Index SeenFrom(Index i) const { return std::clamp<Index>(i + first_diagonal, 0, keys); }
  Index SeenTo(Index i) const { return std::clamp<Index>(i + last_diagonal + 1, 0, keys); }
  // Queries q0 .. q0 + rows - 1 and keys k0 .. k0 + count - 1, of one block and one tile.
  Sight Sees(Index q0, Index rows, Index k0, Index count) const;
  // The places of the distances between them, ends included.
  struct Places {
    Index first, last;
  };
  Places PlacesOf(Index q0, Index rows, Index k0, Index count) const;
  // The packed rows that those places read, ends included.
  Places RowsOf(const Places& places) const;
  // Whether tiles may be left out, and how far below a row's largest score theirs must be, in
  // base 2.
  bool skips() const {
    return in.skip == TileSkip::kWhereProvable && run && bias_stride > 0 && !has_vectors() &&
           in.tile.values == nullptr;
  }
  float cut = 0;
  // The caller's executor, or the calling thread where waking others would take longer than all.
  Executor& ExecutorFor(Executor& callers) const;
  // The most rows of vectors that one block and tile read, in whole panels.
  Index most_rows() const;

 private:
  struct Range {
    std::int32_t at_min, at_max, group_min, group_max;
  };
  void CheckShapes() const;
  void CheckVectors() const;
  void FindPositions();
  void FindGroups();
  void FindDiagonals();
  void FindPlaces();
  void SetBias();
  void SetVectors();
  static std::vector<Range> RangesOf(const std::vector<std::int32_t>& at,
                                     const std::vector<std::int32_t>& group, Index count,
                                     Index block);

  std::vector<Range> query_ranges_, key_ranges_;  // by block and by tile, where cellwise or not run
};

// A group of its own for keys that are padding.
constexpr std::int32_t kNoGroup = INT32_MIN;

}  // namespace sextant
