// What results.json says of a scheme itself, whatever was trained: its probe and its table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sextant/schemes/registry.h"

namespace sextant::lab {

// {spec, title, formula, source, hooks, claims, probe, table} of a scheme named by its short text,
// as docs/results.md has it. The probe measures every scheme at its own usual size; the table is
// that of `scheme`, for the first positions or distances of `context`. `probe` or `table` is null
// where a scheme has none.
nlohmann::ordered_json DescribeScheme(const std::string& text, const Scheme& scheme,
                                      std::int64_t context, const Registry& registry);

}  // namespace sextant::lab
