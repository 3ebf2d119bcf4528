// Per-layer policies: which scheme each layer of a model uses.
#pragma once

#include <string>
#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

// A model whose layer l uses parts[pattern[l mod pattern's length]]: layers without positions
// between rotary ones, local and global bases, a bias all layers share. Layers with the same part
// share its weights of scope kModel. Throws Error for an empty pattern, one that names no part,
// nested policies, and a part that adds rows (they are added once, before the first layer).
SchemePtr MakeLayers(std::vector<SchemePtr> parts, std::vector<std::size_t> pattern);

// The scheme of one layer, and where its weights start within those of the whole.
struct LayerScheme {
  SchemePtr scheme;
  std::size_t part = 0;
  std::size_t first_weight = 0;
};
// The scheme itself for every layer unless it is a per-layer policy.
LayerScheme SchemeOfLayer(const SchemePtr& scheme, Index layer);

// "every layer" of one pattern's length: "layers 0-2", "layer 3", with the period.
std::string LayersOfPart(const Scheme& scheme, std::size_t part);

}  // namespace sextant
