// What tests of rotary schemes ask: tables, figures and refusals of a spec.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/schemes/refusal.h"
#include "sextant/schemes/spec.h"

namespace sextant::rotary_test {

struct Table {
  Array<double, 2> cos, sin;
};

inline Table Fill(const Scheme& scheme, const Positions& positions, Side side = Side::kQuery,
                  Weights weights = {}) {
  const Shape<2> shape{positions.count(), scheme.rotary_shape().rotated_dims / 2};
  Table table{Array<double, 2>(shape), Array<double, 2>(shape)};
  scheme.FillRotary(weights, positions, side, table.cos, table.sin);
  return table;
}

inline Table Fill(const std::string& spec, const Positions& positions, Side side = Side::kQuery) {
  return Fill(*MakeScheme(spec), positions, side);
}

// The list of that name among the figures; empty where there is none.
inline std::vector<double> FigureOf(const std::string& spec, const std::string& name,
                                    std::int64_t length = 1) {
  for (const Figure& figure : MakeScheme(spec)->Figures(length)) {
    if (figure.name == name) return figure.values;
  }
  return {};
}

inline std::vector<double> InvFreq(const std::string& spec, std::int64_t length = 1) {
  return FigureOf(spec, "inv_freq", length);
}

// values[pairs[n]] is expected[n] to `tolerance` of itself.
inline void ExpectPairs(const std::vector<double>& values, const std::vector<std::size_t>& pairs,
                        const std::vector<double>& expected, double tolerance = 1e-15) {
  ASSERT_EQ(pairs.size(), expected.size());
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    ASSERT_LT(pairs[n], values.size());
    EXPECT_NEAR(values[pairs[n]], expected[n], tolerance * std::abs(expected[n]))
        << "pair " << pairs[n];
  }
}

// "name=[a,b,..]" of `count` equal numbers.
inline std::string ListOf(const std::string& name, std::size_t count, double value = 1) {
  return name + "=" + ToText(std::vector<double>(count, value));
}

}  // namespace sextant::rotary_test
