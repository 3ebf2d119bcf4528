// Tables of schemes as float32, as the torch layer makes them, with their error.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "bench/buffer.h"
#include "bench/subject.h"
#include "sextant/schemes/spec.h"

namespace sextant::bench {
namespace {

using Extended = long double;

// Rows of `tokens` positions and heads x head_dim channels.
class Rows {
 public:
  explicit Rows(const Sizes& sizes)
      : tokens_(sizes.tokens),
        width_(sizes.heads * sizes.head_dim),
        positions_(PositionList::Range(0, tokens_)),
        table_(tokens_ * width_) {
    scheme_ = MakeScheme("sinusoidal", {{"model_dim", width_}});
  }

  void Fill() {
    Array<double, 2> rows({tokens_, width_});
    scheme_->FillAdditive({}, positions_, rows.view());
    std::copy_n(rows.values().data(), table_.count(), table_.data());
  }

  // Against extended precision, at every 4099th position to 2^20.
  double LargestError() const {
    std::vector<std::int64_t> some;
    for (std::int64_t position = 0; position <= 1 << 20; position += 4099) {
      some.push_back(position);
    }
    Array<double, 2> rows({Index(some.size()), width_});
    scheme_->FillAdditive({}, PositionList(some), rows.view());
    double largest = 0;
    for (Index n = 0; n < Index(some.size()); ++n) {
      for (Index c = 0; c < width_; ++c) {
        const Extended exponent = -2 * Extended(c / 2) / Extended(width_);
        const Extended angle = Extended(some[std::size_t(n)]) * std::pow(Extended(1e4), exponent);
        const Extended right = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
        largest = std::max(largest, double(std::abs(Extended(float(rows(n, c))) - right)));
      }
    }
    return largest;
  }

  double bytes() const { return table_.bytes(); }

 private:
  Index tokens_, width_;
  PositionList positions_;
  SchemePtr scheme_;
  Buffer<float> table_;
};

Subject Sinusoidal(const Sizes& sizes) {
  auto rows = std::make_shared<Rows>(sizes);
  Subject subject = Repeated(rows->bytes(), [rows] { rows->Fill(); });
  subject.figures["largest error"] = rows->LargestError();
  return subject;
}

}  // namespace

void AddTables(SubjectList& list) { list["table/sinusoidal"] = Sinusoidal; }

}  // namespace sextant::bench
