// Nearest neighbours after adding, and the directions positions take.
#include "lab/embedding_space.h"

#include <nlohmann/json.hpp>

#include "sextant/probe/nearest_neighbour.h"
#include "sextant/probe/spectrum.h"

namespace sextant::lab {
namespace {

View<const double, 2> ViewOf(const torch::Tensor& table) {
  return {table.data_ptr<double>(), {table.size(0), table.size(1)}};
}

}  // namespace

nlohmann::ordered_json DescribeEmbeddingSpace(Gpt& model) {
  const std::optional<EmbeddingTables> tables = model.AdditiveTables();
  if (!tables) return nullptr;
  const auto tokens = ViewOf(tables->tokens), positions = ViewOf(tables->positions);
  const NearestNeighbour nearest =
      NearestAfterAdding(tokens, positions, tokens.extent(0), Nearness::kCosine);
  const Spectrum spectrum = SpectrumOf(positions);
  return {{"nearest_is_itself", nearest.share},
          {"positions_90", spectrum.holding_90},
          {"token_variance_within", ShareWithin(spectrum, spectrum.holding_90, tokens)}};
}

}  // namespace sextant::lab
