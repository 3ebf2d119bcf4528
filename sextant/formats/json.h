// JSON of unknown origin into values, with the byte where it goes wrong.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sextant {

// The value `text` holds. Refuses, by UnreadableInput starting with `where`: malformed JSON (with
// its byte offset), more than `max_bytes` bytes, nesting deeper than 64, a key given twice, numbers
// that are no finite double or int64, and anything after the value.
nlohmann::ordered_json ReadJson(std::string_view text, std::string_view where,
                                std::size_t max_bytes = 16u << 20);

}  // namespace sextant
