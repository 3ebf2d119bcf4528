// Sines and cosines of geometric wavelengths, added to the embedding, in the three forms that
// released models use.
#include <algorithm>
#include <cmath>

#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Sinusoidal {
  static constexpr SchemeInfo info{
      .name = "sinusoidal",
      .title = "Sinusoidal absolute positions",
      .formula = "row[p, 2i] = sin(p / base^(2i/d)), row[p, 2i+1] = cos(p / base^(2i/d))",
      .source =
          "Vaswani et al. 2017, arXiv 1706.03762, section 3.5; tensor2tensor's "
          "get_timing_signal_1d for the form of its name",
      .known_models =
          "the original Transformer; DistilBERT and CTRL (paper); Marian, Transformer-XL "
          "(concatenated); M2M-100, FSMT, Whisper's encoder (tensor2tensor)",
      .conventions =
          "paper: sine and cosine of a frequency stand side by side, exponents 2i/d\n"
          "concatenated: all sines, then all cosines, the same exponents; a permutation of paper\n"
          "tensor2tensor: all sines, then all cosines, exponents i/(d/2 - 1), so that the last "
          "frequency is exactly 1/base; a permutation of neither\n"
          "odd widths: paper ends on a sine, concatenated has one sine more than cosines (Marian), "
          "tensor2tensor ends on a zero\n"
          "order=cos_first exchanges sines and cosines; scale multiplies every row\n"
          "MLX: form=tensor2tensor with scale = sqrt(2/d), and its cos_first\n"
          "M2M-100: form=tensor2tensor,offset=2,zero_row=1, padding at position -1",
      .beyond =
          "Defined at every position; models trained on short sequences have not seen the "
          "rows of later ones.",
      .pitfalls =
          "The divisor: d/2 and d/2 - 1 give last frequencies of 1.03663e-4 and 1e-4 at d = 512, "
          "and rows that differ by up to .143 at position 100.\n"
          "Another order of channels is harmless where a model is trained with it and fatal where "
          "weights trained with one are run with another.\n"
          "In a table built in bfloat16 rows coincide from position 257 on.",
      .error = "At most 2.4e-10 to position 2^20 and 1e-12 to 4096.",
      .proof =
          "SinusoidalTest: the paper's row of position 2, last frequencies, permutations, odd "
          "widths, the zero row, and the error against long double."};
  enum class Form { kPaper, kConcatenated, kTensor2Tensor };
  enum class Order { kSinFirst, kCosFirst };
  static constexpr Choice<Form> kForms[] = {{"paper", Form::kPaper},
                                            {"concatenated", Form::kConcatenated},
                                            {"tensor2tensor", Form::kTensor2Tensor}};
  static constexpr Choice<Order> kOrders[] = {{"sin_first", Order::kSinFirst},
                                              {"cos_first", Order::kCosFirst}};
  int model_dim = 64;
  double base = 1e4;
  Form form = Form::kPaper;
  Order order = Order::kSinFirst;
  double scale = 1;
  int offset = 0;
  int zero_row = -1;

  void fields(auto& field) {
    field("model_dim", model_dim, 2, 65536, "width of the embedding", "model_dim");
    field("base", base, 1.001, 1e12, "ratio of the longest to the shortest wavelength");
    field("form", form, kForms, "where sines and cosines stand, and which exponents they have");
    field("order", order, kOrders, "what comes first, in the row or in each pair");
    field("scale", scale, 1e-6, 1e6, "factor on every row (MLX: sqrt(2 / model_dim))");
    field("offset", offset, 0, 1 << 20, "added to positions (M2M-100: 2)");
    field("zero_row", zero_row, -1, 1 << 20,
          "the row of zeros, counted with the offset (M2M-100's padding: 1); -1: none");
  }
  Claims claims() const { return {.any_length = true, .decays = true}; }

  void additive(Weights, const Positions& positions, View<double, 2> rows) const {
    for (Index c = 0; c < model_dim; ++c) {
      const Wave wave = WaveOf(c);
      for (Index n = 0; n < positions.count(); ++n) {
        const std::int64_t position = positions.values(0, n);
        const double angle = (double(position) + offset) * wave.frequency;
        const bool zero =
            wave.kind == Kind::kZero || (zero_row >= 0 && position == zero_row - offset);
        const double value = wave.kind == Kind::kSine ? std::sin(angle) : std::cos(angle);
        rows(n, c) = zero ? 0 : scale * value;
      }
    }
  }

  std::vector<Figure> figures(std::int64_t) const {
    Figure inv_freq{"inv_freq", {}};
    const Index count = form == Form::kTensor2Tensor ? model_dim / 2 : (model_dim + 1) / 2;
    for (Index i = 0; i < count; ++i) inv_freq.values.push_back(Frequency(i));
    return {inv_freq};
  }

 private:
  enum class Kind { kSine, kCosine, kZero };
  struct Wave {
    Kind kind;
    double frequency;
  };

  double Frequency(Index i) const {
    const double exponent = form == Form::kTensor2Tensor
                                ? double(i) / double(std::max(model_dim / 2 - 1, 1))
                                : 2.0 * double(i) / model_dim;
    return std::pow(base, -exponent);
  }
  Wave WaveOf(Index column) const {
    const Kind first = order == Order::kSinFirst ? Kind::kSine : Kind::kCosine;
    const Kind second = order == Order::kSinFirst ? Kind::kCosine : Kind::kSine;
    if (form == Form::kPaper) return {column % 2 == 0 ? first : second, Frequency(column / 2)};
    const Index firsts = form == Form::kConcatenated ? (model_dim + 1) / 2 : model_dim / 2;
    if (column < firsts) return {first, Frequency(column)};
    if (column < firsts + model_dim / 2) return {second, Frequency(column - firsts)};
    return {Kind::kZero, 0};
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Sinusoidal>();
}  // namespace sextant
