// Tables of cosines and sines with their error, and rows added to activations.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "bench/buffer.h"
#include "bench/subject.h"
#include "sextant/kernels/add_rows.h"
#include "sextant/kernels/angles.h"

namespace sextant::bench {
namespace {

using Extended = long double;

std::vector<double> Frequencies(Index width) {
  std::vector<double> frequencies;
  for (Index i = 0; i < (width + 1) / 2; ++i) {
    frequencies.push_back(std::pow(1e4, -2.0 * double(i) / double(width)));
  }
  return frequencies;
}

// Rows of `tokens` positions, heads x head_dim wide.
class Rows {
 public:
  explicit Rows(const Sizes& sizes)
      : tokens_(sizes.tokens),
        width_(sizes.heads * sizes.head_dim),
        frequencies_(Frequencies(width_)),
        table_(tokens_ * width_) {}

  void Fill() { Fill(RowPositions(0, tokens_), table_); }

  // Against extended precision, at 64 positions side by side up to each of 64 places to 2^20.
  double LargestError() const {
    std::vector<std::int64_t> some;
    for (std::int64_t place = 1; place <= 64; ++place) {
      for (std::int64_t before = 0; before < 64; ++before) some.push_back(place * 16384 - before);
    }
    const Buffer<float> rows(Index(some.size()) * width_);
    Fill(RowPositions(some), rows);
    double largest = 0;
    for (Index n = 0; n < Index(some.size()); ++n) {
      for (Index c = 0; c < width_; ++c) {
        const Extended angle =
            Extended(some[std::size_t(n)]) * Extended(frequencies_[std::size_t(c / 2)]);
        const Extended right = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
        const Extended value = Extended(rows.data()[n * width_ + c]);
        largest = std::max(largest, double(std::abs(value - right)));
      }
    }
    return largest;
  }

  double bytes() const { return table_.bytes(); }

 private:
  void Fill(const RowPositions& positions, const Buffer<float>& to) const {
    WaveRows rows;
    rows.data = to.data();
    rows.width = rows.row_stride = width_;
    FillWaves(positions, frequencies_, 1, rows, DefaultExecutor());
  }

  Index tokens_, width_;
  std::vector<double> frequencies_;
  Buffer<float> table_;
};

Subject Sinusoidal(const Sizes& sizes) {
  auto rows = std::make_shared<Rows>(sizes);
  Subject subject = Repeated(rows->bytes(), [rows] { rows->Fill(); });
  subject.figures["largest error"] = rows->LargestError();
  return subject;
}

// Cosines and sines of a head's pairs.
Subject Turns(const Sizes& sizes) {
  const Index pairs = sizes.head_dim / 2, tokens = sizes.tokens;
  auto cos = std::make_shared<Buffer<float>>(tokens * pairs);
  auto sin = std::make_shared<Buffer<float>>(tokens * pairs);
  return Repeated(2 * cos->bytes(), [=, frequencies = Frequencies(sizes.head_dim)] {
    FillTurns(RowPositions(0, tokens), frequencies, 1, {cos->data(), sin->data(), pairs},
              DefaultExecutor());
  });
}

// Rows added in place to the activations of one sequence.
Subject AddedRows(const Sizes& sizes) {
  const Index tokens = sizes.tokens, width = sizes.heads * sizes.head_dim;
  auto x = std::make_shared<Buffer<float>>(tokens * width);
  auto rows = std::make_shared<Buffer<float>>(tokens * width);
  FillNormal(*x, 1);
  std::fill_n(rows->data(), rows->count(), 1e-6f);
  return Repeated(2 * x->bytes() + rows->bytes(), [=] {
    AddRows(ActivationsOf<const float>{x->data(), 1, tokens, width, tokens * width, width},
            {rows->data(), width},
            ActivationsOf<float>{x->data(), 1, tokens, width, tokens * width, width},
            DefaultExecutor());
  });
}

}  // namespace

void AddTables(SubjectList& list) {
  list["table/sinusoidal"] = Sinusoidal;
  list["table/turns"] = Turns;
  list["add_rows/f32"] = AddedRows;
}

}  // namespace sextant::bench
