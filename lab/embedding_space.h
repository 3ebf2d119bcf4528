// Where a model's positions lie among its token embeddings.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lab/gpt.h"

namespace sextant::lab {

// For a scheme that adds rows, measured on the rows of positions 0 .. context-1 and the scaled
// token embeddings: {nearest_is_itself, positions_90, token_variance_within}: the share of token
// and position pairs whose sum is nearest (cosine) to the token itself, how many directions hold 90
// % of the rows' variance, and the share of the tokens' variance in those directions. Null for
// others.
nlohmann::ordered_json DescribeEmbeddingSpace(Gpt& model);

}  // namespace sextant::lab
