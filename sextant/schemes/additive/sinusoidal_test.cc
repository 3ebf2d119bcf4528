// Sinusoidal positions: the paper's numbers, and the error against a longer format to 2^20.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

Array<double, 2> Rows(const std::string& spec, const Positions& positions) {
  const SchemePtr scheme = MakeScheme(spec);
  Array<double, 2> rows({positions.count(), scheme->model_dim()});
  scheme->FillAdditive({}, positions, rows);
  return rows;
}

double Dot(View<const double, 1> a, View<const double, 1> b) {
  double sum = 0;
  for (Index c = 0; c < a.extent(0); ++c) sum += a(c) * b(c);
  return sum;
}

TEST(SinusoidalTest, TheRowOfPositionTwo) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=8", PositionList::Range(2, 1));
  const double expected[] = {0.9093, -0.4161, 0.1987, 0.9801, 0.0200, 0.9998, 0.0020, 1.0000};
  for (Index c = 0; c < 8; ++c) EXPECT_NEAR(rows(0, c), expected[c], 5e-5) << c;
}

TEST(SinusoidalTest, WavelengthsAreGeometric) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=64", PositionList::Range(1, 1));
  const auto frequency = [&](Index pair) {
    return std::atan2(rows(0, 2 * pair), rows(0, 2 * pair + 1));
  };
  EXPECT_NEAR(frequency(0), 1, 1e-15);
  EXPECT_NEAR(frequency(8), 0.1, 1e-15);
  EXPECT_NEAR(frequency(16), 0.01, 1e-15);
  EXPECT_NEAR(frequency(31), 1.3335e-4, 5e-9);
  EXPECT_NEAR(2 * std::numbers::pi / frequency(31), 47117, 1);
  // The paper's width: exponents i/256, so the last frequency is not 1e-4 as in tensor2tensor.
  const Array<double, 2> wide = Rows("sinusoidal:model_dim=512", PositionList::Range(1, 1));
  EXPECT_NEAR(std::atan2(wide(0, 510), wide(0, 511)), 1.03663e-4, 5e-10);
}

TEST(SinusoidalTest, ProductsDependOnTheOffsetAlone) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=64", PositionList::Range(0, 60));
  const auto product = [&](Index i, Index j) { return Dot(rows.view()[i], rows.view()[j]); };
  EXPECT_NEAR(product(0, 1), 30.9168316616, 5e-11);
  EXPECT_NEAR(product(17, 18), 30.9168316616, 5e-11);
  EXPECT_NEAR(product(0, 1), product(17, 18), 1e-13);
  for (Index offset = 0; offset < 40; ++offset) {
    double expected = 0;
    for (int k = 0; k < 32; ++k) expected += std::cos(double(offset) * std::pow(1e4, -k / 32.0));
    EXPECT_NEAR(product(0, offset), expected, 1e-12) << offset;
    EXPECT_NEAR(product(19, 19 + offset), expected, 1e-12) << offset;
  }
}

TEST(SinusoidalTest, PairsHaveNormOneAndPositionsDiffer) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=64", PositionList::Range(0, 100));
  double smallest = 1e300;
  for (Index i = 0; i < 100; ++i) {
    for (Index c = 0; c < 64; c += 2) {
      EXPECT_NEAR(std::hypot(rows(i, c), rows(i, c + 1)), 1, 1e-15);
    }
    for (Index j = 0; j < i; ++j) {
      const auto a = rows.view()[i], b = rows.view()[j];
      smallest = std::min(smallest, Dot(a, a) + Dot(b, b) - 2 * Dot(a, b));
    }
  }
  EXPECT_GT(smallest, 0.1);
}

TEST(SinusoidalTest, BaseSetsTheLongestWavelength) {
  const Array<double, 2> rows = Rows("sinusoidal:model_dim=4,base=100", PositionList::Range(3, 1));
  const double expected[] = {std::sin(3.0), std::cos(3.0), std::sin(0.3), std::cos(0.3)};
  for (Index c = 0; c < 4; ++c) EXPECT_NEAR(rows(0, c), expected[c], 1e-15);
}

// Angles are a rounded position times a rounded frequency, so the error grows with the position:
// at most about two roundings of the angle, 2 * 2^20 * 2^-53.
TEST(SinusoidalTest, ErrorToTwoToTheTwenty) {
  double worst = 0, worst_near = 0;
  for (const std::int64_t position :
       {std::int64_t{1}, std::int64_t{4096}, std::int64_t{131071}, std::int64_t{999999},
        std::int64_t{1048575}, std::int64_t{1} << 20}) {
    const Array<double, 2> rows =
        Rows("sinusoidal:model_dim=128", PositionList::Range(position, 1));
    for (int pair = 0; pair < 64; ++pair) {
      const long double angle =
          static_cast<long double>(position) * std::pow(1e4L, -static_cast<long double>(pair) / 64);
      const double error = double(
          std::max(std::abs(static_cast<long double>(rows(0, 2 * pair)) - std::sin(angle)),
                   std::abs(static_cast<long double>(rows(0, 2 * pair + 1)) - std::cos(angle))));
      worst = std::max(worst, error);
      if (position <= 4096) worst_near = std::max(worst_near, error);
    }
  }
  std::printf("sinusoidal: largest error %.2e to position 4096, %.2e to 2^20\n", worst_near, worst);
  EXPECT_LT(worst, 2.4e-10);
  EXPECT_LT(worst_near, 1e-12);
}

TEST(SinusoidalTest, LastFrequencyOfThePaperIsNotThatOfTensor2Tensor) {
  const PositionList one = PositionList::Range(1, 1);
  const Array<double, 2> paper = Rows("sinusoidal:model_dim=512", one);
  const Array<double, 2> concatenated = Rows("sinusoidal:model_dim=512,form=concatenated", one);
  const Array<double, 2> tensor = Rows("sinusoidal:model_dim=512,form=tensor2tensor", one);
  EXPECT_NEAR(std::atan2(paper(0, 510), paper(0, 511)), 1.03663e-4, 5e-10);
  EXPECT_NEAR(std::atan2(concatenated(0, 255), concatenated(0, 511)), 1.03663e-4, 5e-10);
  EXPECT_NEAR(std::atan2(tensor(0, 255), tensor(0, 511)), 1e-4, 1e-15);
}

TEST(SinusoidalTest, DivisorsDifferByUpToASeventhAtPositionHundred) {
  const PositionList hundred = PositionList::Range(100, 1);
  const Array<double, 2> concatenated = Rows("sinusoidal:model_dim=512,form=concatenated", hundred);
  const Array<double, 2> tensor = Rows("sinusoidal:model_dim=512,form=tensor2tensor", hundred);
  double largest = 0;
  for (Index c = 0; c < 512; ++c) {
    largest = std::max(largest, std::abs(concatenated(0, c) - tensor(0, c)));
  }
  EXPECT_NEAR(largest, 0.143, 5e-4);
}

TEST(SinusoidalTest, ConcatenatedIsAPermutationOfThePaperAndTensor2TensorOfNeither) {
  const PositionList at = PositionList::Range(0, 50);
  const Array<double, 2> paper = Rows("sinusoidal:model_dim=64", at);
  const Array<double, 2> concatenated = Rows("sinusoidal:model_dim=64,form=concatenated", at);
  const Array<double, 2> tensor = Rows("sinusoidal:model_dim=64,form=tensor2tensor", at);
  for (Index n = 0; n < 50; ++n) {
    for (Index i = 0; i < 32; ++i) {
      EXPECT_EQ(concatenated(n, i), paper(n, 2 * i));
      EXPECT_EQ(concatenated(n, 32 + i), paper(n, 2 * i + 1));
    }
  }
  // No column of the paper's is tensor2tensor's second sine.
  for (Index c = 0; c < 64; ++c) {
    double difference = 0;
    for (Index n = 0; n < 50; ++n) {
      difference = std::max(difference, std::abs(tensor(n, 1) - paper(n, c)));
    }
    EXPECT_GT(difference, 0.1) << c;
  }
}

TEST(SinusoidalTest, CosinesFirstExchangesSinesAndCosines) {
  for (const std::string form : {"paper", "concatenated", "tensor2tensor"}) {
    const PositionList at = PositionList::Range(0, 9);
    const Array<double, 2> sines = Rows("sinusoidal:model_dim=8,form=" + form, at);
    const Array<double, 2> cosines =
        Rows("sinusoidal:model_dim=8,order=cos_first,form=" + form, at);
    for (Index n = 0; n < 9; ++n) {
      for (Index c = 0; c < 8; ++c) {
        const Index other = form == "paper" ? c ^ 1 : (c + 4) % 8;
        EXPECT_EQ(cosines(n, c), sines(n, other)) << form;
      }
    }
  }
}

// MLX's SinusoidalPositionalEncoding(6, cos_first=True): sigmas from 1 to 1e-4 in three steps,
// cosines then sines, times sqrt(2 / 6).
TEST(SinusoidalTest, TheFormOfMlxIsReachedByScaleAndCosinesFirst) {
  const Array<double, 2> rows =
      Rows("sinusoidal:model_dim=6,form=tensor2tensor,order=cos_first,scale=0.5773502691896258",
           PositionList::Range(7, 1));
  const double sigma[] = {1, 1e-2, 1e-4};
  for (Index i = 0; i < 3; ++i) {
    EXPECT_NEAR(rows(0, i), std::sqrt(2.0 / 6) * std::cos(7 * sigma[i]), 1e-15);
    EXPECT_NEAR(rows(0, 3 + i), std::sqrt(2.0 / 6) * std::sin(7 * sigma[i]), 1e-15);
  }
}

TEST(SinusoidalTest, OddWidthsEndAsEachFormSays) {
  const PositionList two = PositionList::Range(2, 1);
  const auto sine = [](double exponent) { return std::sin(2 * std::pow(1e4, -exponent)); };
  const auto cosine = [](double exponent) { return std::cos(2 * std::pow(1e4, -exponent)); };
  const std::pair<const char*, std::vector<double>> forms[] = {
      {"paper", {sine(0), cosine(0), sine(2.0 / 5), cosine(2.0 / 5), sine(4.0 / 5)}},
      {"concatenated", {sine(0), sine(2.0 / 5), sine(4.0 / 5), cosine(0), cosine(2.0 / 5)}},
      {"tensor2tensor", {sine(0), sine(1), cosine(0), cosine(1), 0}}};
  for (const auto& [form, expected] : forms) {
    const Array<double, 2> rows = Rows("sinusoidal:model_dim=5,form=" + std::string(form), two);
    for (Index c = 0; c < 5; ++c) EXPECT_NEAR(rows(0, c), expected[std::size_t(c)], 1e-15) << form;
  }
  // One frequency: its exponent is 0, not 0 / 0.
  const Array<double, 2> narrow = Rows("sinusoidal:model_dim=2,form=tensor2tensor", two);
  EXPECT_EQ(narrow(0, 0), std::sin(2.0));
  EXPECT_EQ(narrow(0, 1), std::cos(2.0));
}

// M2M-100: position ids are 1 + cumsum, padding has id 1, and row 1 of its table is zero.
TEST(SinusoidalTest, PaddingReadsTheZeroRowAndTheFirstTokenRowTwo) {
  const std::vector<std::int64_t> at = {-1, 0, 1};
  const Array<double, 2> rows =
      Rows("sinusoidal:model_dim=4,form=tensor2tensor,offset=2,zero_row=1", PositionList(at));
  const double expected[3][4] = {{0, 0, 0, 0},
                                 {std::sin(2.0), std::sin(2e-4), std::cos(2.0), std::cos(2e-4)},
                                 {std::sin(3.0), std::sin(3e-4), std::cos(3.0), std::cos(3e-4)}};
  for (Index n = 0; n < 3; ++n) {
    for (Index c = 0; c < 4; ++c) EXPECT_NEAR(rows(n, c), expected[n][c], 1e-15);
  }
  // Without a zero row position -1 is a position like any other.
  EXPECT_EQ(Rows("sinusoidal:model_dim=2", PositionList(at))(0, 0), std::sin(-1.0));
}

TEST(SinusoidalTest, FiguresListTheFrequenciesOfTheForm) {
  const auto last = [](const std::string& spec) {
    const std::vector<Figure> figures = MakeScheme(spec)->Figures(8);
    EXPECT_EQ(figures.at(0).name, "inv_freq");
    return figures.at(0).values;
  };
  EXPECT_EQ(last("sinusoidal:model_dim=512").size(), 256u);
  EXPECT_NEAR(last("sinusoidal:model_dim=512").back(), 1.03663e-4, 5e-10);
  EXPECT_NEAR(last("sinusoidal:model_dim=512,form=tensor2tensor").back(), 1e-4, 1e-18);
  EXPECT_EQ(last("sinusoidal:model_dim=5").size(), 3u);
  EXPECT_EQ(last("sinusoidal:model_dim=5,form=tensor2tensor").size(), 2u);
}

TEST(SinusoidalTest, SettingsOutOfRangeAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"sinusoidal:model_dim=1",
       "sinusoidal: model_dim must be a whole number from 2 to 65536, got 1"},
      {"sinusoidal:base=1", "sinusoidal: base must be a number from 1.001 to 1000000000000, got 1"},
      {"sinusoidal:form=fairseq",
       "sinusoidal: form must be one of paper, concatenated, tensor2tensor, got \"fairseq\""},
      {"sinusoidal:order=cos",
       "sinusoidal: order must be one of sin_first, cos_first, got \"cos\""},
      {"sinusoidal:scale=0", "sinusoidal: scale must be a number from 1e-06 to 1000000, got 0"},
      {"sinusoidal:offset=-1",
       "sinusoidal: offset must be a whole number from 0 to 1048576, got -1"},
      {"sinusoidal:zero_row=-2",
       "sinusoidal: zero_row must be a whole number from -1 to 1048576, got -2"}};
  for (const auto& [spec, message] : cases) {
    try {
      MakeScheme(spec);
      ADD_FAILURE() << spec << " was accepted";
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(message)) << error.what();
    }
  }
}

}  // namespace
}  // namespace sextant
