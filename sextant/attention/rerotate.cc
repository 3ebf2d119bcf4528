// The quotient of two rotations.
#include "sextant/attention/rerotate.h"

#include <cmath>
#include <string>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

struct Table {
  Array<double, 2> cos, sin;
};

Table TableOf(const RotatedBy& by, Index count) {
  if (by.positions.count() != count) {
    throw Error("rerotate", "positions must be one for each of " + std::to_string(count) +
                                " keys, got " + std::to_string(by.positions.count()));
  }
  const Shape<2> shape{count, by.scheme.rotary_shape().rotated_dims / 2};
  Table table{Array<double, 2>(shape), Array<double, 2>(shape)};
  by.scheme.FillRotary(by.weights, by.positions, Side::kKey, table.cos, table.sin);
  return table;
}

std::string ShapeText(const RotaryShape& shape) {
  static constexpr const char* kPairings[] = {"halves", "adjacent", "adjacent_to_halves"};
  return std::string(kPairings[int(shape.pairing)]) + " of " + std::to_string(shape.rotated_dims) +
         " channels from " + std::to_string(shape.first) +
         (shape.blocks > 1 ? " in " + std::to_string(shape.blocks) + " blocks" : "");
}

void CheckShapes(const RotatedBy& from, const RotatedBy& to) {
  for (const RotatedBy* by : {&from, &to}) {
    if (by->scheme.offers(Hook::kRotary)) continue;
    throw Error("rerotate", by->scheme.name() + " has no rotary table",
                "only rotary schemes write positions into keys that can be turned again");
  }
  const RotaryShape a = from.scheme.rotary_shape(), b = to.scheme.rotary_shape();
  if (a.rotated_dims == b.rotated_dims && a.pairing == b.pairing && a.first == b.first &&
      a.blocks == b.blocks) {
    return;
  }
  throw Error("rerotate", "both schemes must turn the same channels in the same pairs, got " +
                              ShapeText(a) + " and " + ShapeText(b));
}

// R(to) R(from)^-1 of every pair, as a complex number each, in `to`.
void Divide(const RotatedBy& by, const Table& from, Table& to) {
  for (Index n = 0; n < to.cos.extent(0); ++n) {
    for (Index i = 0; i < to.cos.extent(1); ++i) {
      const double magnitude = std::hypot(from.cos(n, i), from.sin(n, i));
      const double c = from.cos(n, i) / magnitude, s = from.sin(n, i) / magnitude;
      const double x = to.cos(n, i) / magnitude, y = to.sin(n, i) / magnitude;
      to.cos(n, i) = x * c + y * s;
      to.sin(n, i) = y * c - x * s;
      if (magnitude > 0 && std::isfinite(to.cos(n, i)) && std::isfinite(to.sin(n, i))) continue;
      throw Error("rerotate", "pair " + std::to_string(i) + " at position " +
                                  std::to_string(by.positions.values(0, n)) +
                                  " has a magnitude of " + ToText(magnitude) + " under " +
                                  by.scheme.name() + ", so what the key was is lost");
    }
  }
}

}  // namespace

void Rerotate(const RotatedBy& from, const RotatedBy& to, View<double, 3> keys) {
  CheckShapes(from, to);
  CheckRotaryFits(from.scheme, keys.extent(2));
  const Index count = keys.extent(1);
  const Table old = TableOf(from, count);
  Table turn = TableOf(to, count);
  Divide(from, old, turn);
  const RotaryShape shape = to.scheme.rotary_shape();
  for (Index h = 0; h < keys.extent(0); ++h) {
    for (Index n = 0; n < count; ++n) {
      for (Index i = 0; i < shape.rotated_dims / 2; ++i) {
        const PairChannels at = ChannelsOf(shape, i);
        double &k0 = keys(h, n, at.write0), &k1 = keys(h, n, at.write1);
        const double x0 = k0, x1 = k1;
        k0 = x0 * turn.cos(n, i) - x1 * turn.sin(n, i);
        k1 = x0 * turn.sin(n, i) + x1 * turn.cos(n, i);
      }
    }
  }
}

}  // namespace sextant
