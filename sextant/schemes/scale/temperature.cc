// Attention temperature: queries far along are sharpened in steps of a logarithm.
#include <algorithm>
#include <cmath>

#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct Temperature {
  static constexpr SchemeInfo info{
      .name = "temperature",
      .title = "Attention temperature by position",
      .formula =
          "q_p . k times 1 + beta ln(1 + floor((p + 1) / floor_scale)), or floor(p / "
          "floor_scale)",
      .source =
          "Llama 4's released code, after Nakanishi 2025, arXiv 2501.19399; Ministral 3's "
          "released code",
      .known_models =
          "Llama 4 on its layers without RoPE (8192, 0.1); Ministral 3 on "
          "all layers",
      .conventions =
          "form llama4 counts positions from 1, ministral from 0: they differ at the last position "
          "of each step alone. llama.cpp has the same choice as f_attn_temp_offset.\n"
          "Llama 4 calls the settings floor_scale and attn_scale; Ministral "
          "original_max_position_embeddings and llama_4_scaling_beta.\n"
          "It multiplies q . k and vectors, not biases.",
      .beyond = "1 in the first step, 1 + beta ln 2 = 1.069 in the second; grows without end.",
      .pitfalls =
          "Llama 4 uses it only on layers without RoPE; on the others it must be left out.\n"
          "The position is that of the query in its sequence, also in cached decode steps.\n"
          "Without the floor it is close enough to pass short tests and different everywhere.",
      .error = "The step is found in whole numbers; one logarithm of a double.",
      .proof = "TemperatureTest: both forms at the edges of steps, by hand."};
  enum class Form { kLlama4, kMinistral };
  static constexpr Choice<Form> kForms[] = {{"llama4", Form::kLlama4},
                                            {"ministral", Form::kMinistral}};
  Form form = Form::kLlama4;
  int floor_scale = 8192;
  double beta = 0.1;

  void fields(auto& field) {
    field("form", form, kForms, "whether positions are counted from 1 (llama4) or 0 (ministral)");
    field("floor_scale", floor_scale, 1, 1 << 30, "positions of a step");
    field("beta", beta, 0, 100, "factor on the logarithm");
  }
  Claims claims() const { return {.any_length = true}; }

  void query_scale(Weights, const Positions& at, View<double, 1> scale) const {
    const std::int64_t from = form == Form::kLlama4 ? 1 : 0;
    for (Index n = 0; n < at.count(); ++n) {
      const std::int64_t step = std::max<std::int64_t>(at.values(0, n) + from, 0) / floor_scale;
      scale(n) = 1 + beta * std::log1p(double(step));
    }
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Temperature>();
}  // namespace sextant
