// Everything a training run can be told, declared once: JSON, flags and help follow.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sextant/core/parameter.h"
#include "sextant/schemes/scheme.h"

namespace sextant::lab {

enum class TokenKind { kPieces, kBytes };

// Settings of the model, the training and the evaluation; those of a scheme are its own.
struct Settings {
  static constexpr Choice<TokenKind> kTokenKinds[] = {{"pieces", TokenKind::kPieces},
                                                      {"bytes", TokenKind::kBytes}};
  // the model
  int layers = 2;
  int width = 96;
  int heads = 4;
  int context = 128;
  double embed_scale = 0;
  // tokens
  TokenKind tokens = TokenKind::kPieces;
  int pieces = 512;
  // training
  int steps = 400;
  int batch = 8;
  double learning_rate = 2e-3;
  int warmup = 40;
  double final_rate = 0.1;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double clip = 1.0;
  // evaluation
  int evaluate_every = 50;
  int curve_tokens = 8192;
  int final_tokens = 16384;
  int longest = 8;
  // samples
  std::string prompt;
  int sample_tokens = 120;
  double temperature = 0.8;
  // running
  int checkpoint_every = 50;
  int threads = 1;

  void fields(auto& field) {
    field("layers", layers, 1, 256, "transformer layers");
    field("width", width, 2, 65536, "width of the embedding; heads divides it");
    field("heads", heads, 1, 1024, "attention heads");
    field("context", context, 2, 1 << 20, "tokens of a training window");
    field("embed_scale", embed_scale, 0, 1e6,
          "factor on token embeddings before positions are added; 0: the square root of the width");
    field("tokens", tokens, kTokenKinds,
          "SentencePiece BPE trained on the training text, or bytes");
    field("pieces", pieces, 300, 32768, "vocabulary of the BPE tokens");
    field("steps", steps, 1, 1 << 30, "training steps");
    field("batch", batch, 1, 65536, "windows a step");
    field("learning_rate", learning_rate, 1e-9, 10, "highest learning rate (AdamW)");
    field("warmup", warmup, 0, 1 << 30, "steps of linear warm-up, then a cosine");
    field("final_rate", final_rate, 0, 1, "learning rate at the end, as a part of the highest");
    field("weight_decay", weight_decay, 0, 10, "on matrices; never on a scheme's weights");
    field("beta1", beta1, 0, 0.999999, "AdamW's first moment");
    field("beta2", beta2, 0, 0.999999, "AdamW's second moment");
    field("clip", clip, 0, 1e9, "largest norm of the gradient; 0: no limit");
    field("evaluate_every", evaluate_every, 1, 1 << 30, "steps between points of the loss curve");
    field("curve_tokens", curve_tokens, 1, 1 << 30, "held-out tokens of a point of the curve");
    field("final_tokens", final_tokens, 1, 1 << 30, "held-out tokens of each final protocol");
    field("longest", longest, 1, 64, "longest evaluation, in training contexts (a power of two)");
    field.text("prompt", prompt,
               "start of each sample story; empty: a held-out story's first words");
    field("sample_tokens", sample_tokens, 1, 1 << 20, "tokens of a sample story");
    field("temperature", temperature, 0, 100, "of sampling; 0: the likeliest token");
    field("checkpoint_every", checkpoint_every, 1, 1 << 30, "steps between checkpoints");
    field("threads", threads, 1, 256, "threads of one training run");
  }

  // Throws Error where settings do not go together.
  void check() const;

  // The dimensions a scheme's fields follow.
  ModelShape model_shape() const;
};

nlohmann::ordered_json ToJson(const Settings& settings);
// Throws Error naming the setting. Settings absent keep their default.
Settings SettingsFromJson(const nlohmann::ordered_json& json);
Settings MakeSettings(const ParameterValues& given, Settings start = {});

}  // namespace sextant::lab
