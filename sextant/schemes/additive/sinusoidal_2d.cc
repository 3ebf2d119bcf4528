// Sinusoidal positions of images: half of the channels for the row, half for the column.
#include <cmath>
#include <numbers>
#include <variant>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/positions.h"

namespace sextant {

// Rows, then columns; sine and cosine of a frequency side by side; cells counted from 1.
// Carion et al. 2020, arXiv 2005.12872, appendix A.4 and its released PositionEmbeddingSine.
struct DetrForm {
  enum class Coordinates { kNormalized, kCells };
  static constexpr const char* rule = "detr";
  static constexpr Choice<Coordinates> kCoordinates[] = {{"normalized", Coordinates::kNormalized},
                                                         {"cells", Coordinates::kCells}};
  Coordinates coordinates = Coordinates::kNormalized;
  double scale = 2 * std::numbers::pi;

  void fields(auto& field) {
    field("coordinates", coordinates, kCoordinates,
          "(row + 1) / (height + 1e-6) scale, or row + 1; likewise columns");
    field("scale", scale, 1e-6, 1e6, "the normalized coordinate of the last row and column");
  }
  double Coordinate(std::int64_t cell, int cells) const {
    const double counted = double(cell) + 1;
    if (coordinates == Coordinates::kCells) return counted;
    return counted / (cells + 1e-6) * scale;
  }
};

// Columns, then rows; all sines of an axis, then its cosines; cells counted from 0.
// He et al. 2022, arXiv 2111.06377, and its released get_2d_sincos_pos_embed.
struct MaeForm {
  static constexpr const char* rule = "mae";
  void fields(auto&) {}
  double Coordinate(std::int64_t cell, int) const { return double(cell); }
};

namespace schemes {

struct Sinusoidal2d {
  static constexpr SchemeInfo info{
      .name = "sinusoidal-2d",
      .title = "Sinusoidal absolute positions of a grid",
      .formula =
          "row[cell] = [sin and cos(y / base^(2i/(d/2))) | sin and cos(x / base^(2i/(d/2)))]",
      .source =
          "Carion et al. 2020, arXiv 2005.12872, appendix A.4 (detr); He et al. 2022, arXiv "
          "2111.06377 (mae)",
      .known_models = "DETR, MaskFormer, SAM 2 (detr); MAE, DiT, MoCo v3 (mae)",
      .conventions =
          "detr: rows before columns, [sin cos sin cos ...] within each, cells counted from 1 and "
          "divided by the grid's size times 2 pi\n"
          "mae: columns before rows (its variable emb_h holds columns), [sines | cosines] within "
          "each, cells counted from 0\n"
          "both: exponents 2i/(d/2), so the frequencies are those of a row of half the width\n"
          "positions of two axes are (row, column); a lone axis counts cells row by row over width",
      .beyond =
          "Defined at every cell; rows past height and columns past width go on with the "
          "same formula, which no model has seen.",
      .pitfalls =
          "The first half of the channels is the row in DETR and the column in MAE.\n"
          "DETR's height and width are those of the image without padding, its cells start at 1 "
          "(Deformable DETR takes 1/2 off before dividing, which is not this form).\n"
          "A class token has no cell: MAE gives it a row of zeros.",
      .error = "At most 2.4e-10 to row or column 2^20.",
      .proof = "Sinusoidal2dTest: both forms against derivations of their released code."};
  int model_dim = 64;
  double base = 1e4;
  int width = 16;
  int height = 16;
  std::variant<DetrForm, MaeForm> form;

  void fields(auto& field) {
    field("model_dim", model_dim, 4, 65536, "width of the embedding, a multiple of 4", "model_dim");
    field("base", base, 1.001, 1e12,
          "ratio of the longest to the shortest wavelength, temperature");
    field("width", width, 1, 65536, "columns of the grid");
    field("height", height, 1, 65536, "rows of the grid (read by detr's normalized coordinates)");
    field.rule("form", form, "which half is the row, where sines stand, and how cells count");
  }
  void check() const {
    if (model_dim % 4 == 0) return;
    const int below = model_dim - model_dim % 4;
    throw Error(info.name,
                "model_dim must be a multiple of 4, a sine and a cosine for rows and for columns, "
                "got " +
                    std::to_string(model_dim),
                "did you mean " + std::to_string(below) + " or " + std::to_string(below + 4) + "?");
  }
  Claims claims() const { return {.any_length = true, .decays = true}; }

  void additive(Weights, const Positions& positions, View<double, 2> rows) const {
    const bool mae = std::holds_alternative<MaeForm>(form);
    const Index half = model_dim / 2, waves = model_dim / 4;
    for (Index n = 0; n < positions.count(); ++n) {
      const GridCell cell = CellOf(positions, n, width);
      const double y = Coordinate(cell.row, height), x = Coordinate(cell.column, width);
      for (Index i = 0; i < waves; ++i) {
        const double frequency = std::pow(base, -2.0 * double(i) / double(half));
        const Index sine = mae ? i : 2 * i, cosine = mae ? i + waves : 2 * i + 1;
        for (const Index start : {Index{0}, half}) {
          const double angle = ((start == 0) != mae ? y : x) * frequency;
          rows(n, start + sine) = std::sin(angle);
          rows(n, start + cosine) = std::cos(angle);
        }
      }
    }
  }

 private:
  double Coordinate(std::int64_t cell, int cells) const {
    return std::visit([&](const auto& chosen) { return chosen.Coordinate(cell, cells); }, form);
  }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::Sinusoidal2d>();
}  // namespace sextant
