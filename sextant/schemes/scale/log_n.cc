// Log-n scaling: past the trained length, scores grow with the logarithm of the position.
#include <algorithm>
#include <cmath>

#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct LogN {
  static constexpr SchemeInfo info{
      .name = "log-n",
      .title = "Log-n attention scaling",
      .formula = "q_p . k times max(1, ln(p + 1) / ln(trained_length))",
      .source = "Su 2021, kexue.fm/archives/8823; Qwen's released code (use_logn_attn)",
      .known_models = "Qwen 1",
      .conventions =
          "p + 1 is the number of keys a causal query sees. It multiplies q . k and "
          "vectors, not biases.",
      .beyond =
          "1 up to the trained length, ln(p + 1) / ln(trained_length) past it: 1.09 at twice "
          "2048.",
      .pitfalls =
          "The factor belongs to the query's position, not to the length of the sequence: "
          "one number for all rows is another function.\n"
          "In cached decode steps the position, not the row, counts.\n"
          "Qwen's table of 32767 numbers ends; the formula does not.",
      .error = "A quotient of two logarithms: 3 units in the last place of a double.",
      .proof = "LogNTest: the list of the released code by hand."};
  int trained_length = 2048;

  void fields(auto& field) {
    field("trained_length", trained_length, 2, 1 << 30, "longest sequence trained on", "context");
  }
  Claims claims() const { return {.any_length = true}; }

  void query_scale(Weights, const Positions& at, View<double, 1> scale) const {
    for (Index n = 0; n < at.count(); ++n) {
      const double seen = double(at.values(0, n)) + 1;
      scale(n) = seen > trained_length ? std::log(seen) / std::log(double(trained_length)) : 1;
    }
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::LogN>();
}  // namespace sextant
