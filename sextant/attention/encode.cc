// Rows and rotations in double.
#include "sextant/attention/encode.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sextant/core/error.h"

namespace sextant {
namespace {

struct RotaryTable {
  RotaryShape shape;
  Array<double, 2> cos, sin;
};

RotaryTable FillTable(const Scheme& scheme, Weights weights, const Positions& positions, Side side,
                      Index head_dim) {
  RotaryTable table;
  table.shape = scheme.rotary_shape();
  CheckRotaryFits(scheme, head_dim);
  const Shape<2> extents{positions.count(), table.shape.rotated_dims / 2};
  table.cos = Array<double, 2>(extents);
  table.sin = Array<double, 2>(extents);
  scheme.FillRotary(weights, positions, side, table.cos, table.sin);
  return table;
}

Array<double, 3> Copy(View<const double, 3> x) {
  Array<double, 3> copy(x.shape());
  for (Index h = 0; h < x.extent(0); ++h) {
    for (Index n = 0; n < x.extent(1); ++n) {
      for (Index c = 0; c < x.extent(2); ++c) copy(h, n, c) = x(h, n, c);
    }
  }
  return copy;
}

}  // namespace

Index RowStep(const Scheme& scheme, Index heads, Index head_dim) {
  const Index width = scheme.model_dim();
  if (width == head_dim) return 0;
  if (width == heads * head_dim) return head_dim;
  throw Error(scheme.name(), "model_dim must be head_dim " + std::to_string(head_dim) +
                                 " or heads * head_dim " + std::to_string(heads * head_dim) +
                                 ", got " + std::to_string(width));
}

void CheckRotaryFits(const Scheme& scheme, Index head_dim) {
  const RotaryShape shape = scheme.rotary_shape();
  if (shape.rotated_dims > head_dim) {
    throw Error(scheme.name(), "rotated_dims must be at most head_dim " + std::to_string(head_dim) +
                                   ", got " + std::to_string(shape.rotated_dims));
  }
  if (shape.first + shape.rotated_dims > head_dim) {
    throw Error(
        scheme.name(),
        "the " + std::to_string(shape.rotated_dims) + " rotated channels from " +
            std::to_string(shape.first) + " on pass the head's " + std::to_string(head_dim),
        "the last window starts at channel " + std::to_string(head_dim - shape.rotated_dims));
  }
}

Array<double, 3> AdditiveRows(const Scheme& scheme, Weights weights, const Positions& positions,
                              Index heads, Index head_dim) {
  Array<double, 3> added({heads, positions.count(), head_dim});
  if (!scheme.offers(Hook::kAdditive)) return added;
  const Index step = RowStep(scheme, heads, head_dim);
  Array<double, 2> rows({positions.count(), scheme.model_dim()});
  scheme.FillAdditive(weights, positions, rows);
  for (Index h = 0; h < heads; ++h) {
    for (Index n = 0; n < positions.count(); ++n) {
      for (Index c = 0; c < head_dim; ++c) added(h, n, c) = rows(n, h * step + c);
    }
  }
  return added;
}

void Rotate(const Scheme& scheme, Weights weights, const Positions& positions, Side side,
            View<double, 3> x) {
  if (!scheme.offers(Hook::kRotary)) return;
  const RotaryTable table = FillTable(scheme, weights, positions, side, x.extent(2));
  std::vector<double> row(static_cast<std::size_t>(x.extent(2)));
  for (Index h = 0; h < x.extent(0); ++h) {
    for (Index n = 0; n < x.extent(1); ++n) {
      const auto from = x[h][n].span();
      std::copy(from.begin(), from.end(), row.begin());
      for (Index i = 0; i < table.shape.rotated_dims / 2; ++i) {
        const PairChannels at = ChannelsOf(table.shape, i);
        const double cos = table.cos(n, i), sin = table.sin(n, i);
        const double x0 = row[std::size_t(at.read0)], x1 = row[std::size_t(at.read1)];
        x(h, n, at.write0) = x0 * cos - x1 * sin;
        x(h, n, at.write1) = x0 * sin + x1 * cos;
      }
    }
  }
}

Array<double, 3> Encode(const Scheme& scheme, Weights weights, const Positions& positions,
                        Side side, View<const double, 3> x) {
  Array<double, 3> encoded = Copy(x);
  if (scheme.offers(Hook::kAdditive)) {
    AddTo(AdditiveRows(scheme, weights, positions, x.extent(0), x.extent(2)).values(),
          encoded.values());
  }
  Rotate(scheme, weights, positions, side, encoded);
  return encoded;
}

Array<double, 3> EncodeBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                                Side side, View<const double, 3> x, View<const double, 3> d_encoded,
                                WeightGradients d_weights) {
  const Index heads = x.extent(0), head_dim = x.extent(2);
  Array<double, 3> d_x = Copy(d_encoded);
  if (scheme.offers(Hook::kRotary)) {
    const RotaryTable table = FillTable(scheme, weights, positions, side, head_dim);
    Array<double, 3> added = Copy(x);
    AddTo(AdditiveRows(scheme, weights, positions, heads, head_dim).values(), added.values());
    Array<double, 2> d_cos(table.cos.shape()), d_sin(table.sin.shape());
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < x.extent(1); ++n) {
        for (Index i = 0; i < table.shape.rotated_dims / 2; ++i) {
          const PairChannels at = ChannelsOf(table.shape, i);
          const double d0 = d_encoded(h, n, at.write0), d1 = d_encoded(h, n, at.write1);
          const double x0 = added(h, n, at.read0), x1 = added(h, n, at.read1);
          d_cos(n, i) += d0 * x0 + d1 * x1;
          d_sin(n, i) += d1 * x0 - d0 * x1;
          d_x(h, n, at.read0) = d0 * table.cos(n, i) + d1 * table.sin(n, i);
          d_x(h, n, at.read1) = d1 * table.cos(n, i) - d0 * table.sin(n, i);
        }
      }
    }
    scheme.BackRotary(weights, positions, side, d_cos, d_sin, d_weights);
  }
  if (scheme.offers(Hook::kAdditive)) {
    const Index step = RowStep(scheme, heads, head_dim);
    Array<double, 2> d_rows({positions.count(), scheme.model_dim()});
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < positions.count(); ++n) {
        for (Index c = 0; c < head_dim; ++c) d_rows(n, h * step + c) += d_x(h, n, c);
      }
    }
    scheme.BackAdditive(weights, positions, d_rows, d_weights);
  }
  return d_x;
}

}  // namespace sextant
