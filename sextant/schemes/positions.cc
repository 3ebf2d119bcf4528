// Positions made and read.
#include "sextant/schemes/positions.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;

// row = offset + n for the n-th real token, pad_row for padding.
std::vector<std::int64_t> TableRows(const char* where, std::span<const std::uint8_t> mask,
                                    std::int64_t offset, std::int64_t pad_row,
                                    std::int64_t table_rows) {
  const std::int64_t usable = UsablePositions(table_rows, offset);
  std::vector<std::int64_t> rows = PositionsFromMask(mask, -1);
  for (std::int64_t& row : rows) {
    if (row >= usable) {
      throw Error(where,
                  "token " + std::to_string(row + 1) + " needs row " +
                      std::to_string(row + offset) + " of a table of " +
                      std::to_string(table_rows) + " rows",
                  "a table of " + std::to_string(table_rows) + " rows with offset " +
                      std::to_string(offset) + " serves " + std::to_string(usable) + " tokens");
    }
    row = row < 0 ? pad_row : row + offset;
  }
  return rows;
}

std::int64_t TokensOf(const TextBlock& text) {
  if (text.tokens >= 0 && text.tokens <= kMostTokens) return text.tokens;
  throw Error("M-RoPE positions",
              "a text block has from 0 to 2^30 tokens, got " + std::to_string(text.tokens));
}

std::int64_t TokensOf(const GridBlock& grid) {
  std::int64_t tokens = 1;
  for (const std::int64_t extent : {grid.frames, grid.rows, grid.columns}) {
    if (extent >= 1 && extent <= kMostTokens / tokens) {
      tokens *= extent;
      continue;
    }
    throw Error("M-RoPE positions",
                "a grid has at least one frame, row and column and at most 2^30 tokens, got " +
                    std::to_string(grid.frames) + " x " + std::to_string(grid.rows) + " x " +
                    std::to_string(grid.columns),
                "rows and columns count merged patches: the patch grid divided by the merge size");
  }
  if (grid.frame_step >= 0 && grid.frame_step <= 1e6) return tokens;
  throw Error(
      "M-RoPE positions",
      "frame_step must be a number from 0 to 1e6, got " + ToText(ParameterValue(grid.frame_step)),
      "it is tokens_per_second times the seconds between frames");
}

// Writes the block's positions from `column` on and returns the next free position.
std::int64_t Write(const TextBlock& text, std::int64_t start, Index column,
                   View<std::int64_t, 2> positions) {
  for (Index n = 0; n < text.tokens; ++n) {
    for (Index axis = 0; axis < 3; ++axis) positions(axis, column + n) = start + n;
  }
  return start + text.tokens;
}

std::int64_t Write(const GridBlock& grid, std::int64_t start, Index column,
                   View<std::int64_t, 2> positions) {
  std::int64_t time = 0;
  for (std::int64_t frame = 0; frame < grid.frames; ++frame) {
    time = static_cast<std::int64_t>(std::floor(double(frame) * grid.frame_step));
    for (std::int64_t row = 0; row < grid.rows; ++row) {
      for (std::int64_t c = 0; c < grid.columns; ++c, ++column) {
        positions(0, column) = start + time;
        positions(1, column) = start + row;
        positions(2, column) = start + c;
      }
    }
  }
  return start + std::max({time + 1, grid.rows, grid.columns});
}

}  // namespace

GridCell CellOf(const Positions& positions, Index n, std::int64_t width) {
  if (positions.axes() >= 2) return {positions.values(0, n), positions.values(1, n)};
  const std::int64_t cell = positions.values(0, n);
  const std::int64_t row = cell >= 0 ? cell / width : -((width - 1 - cell) / width);
  return {row, cell - row * width};
}

std::vector<std::uint8_t> MaskFromTokens(std::span<const std::int64_t> tokens,
                                         std::int64_t pad_id) {
  std::vector<std::uint8_t> mask;
  for (std::int64_t token : tokens) mask.push_back(token == pad_id ? 0 : 1);
  return mask;
}

std::vector<std::int64_t> PositionsFromMask(std::span<const std::uint8_t> mask,
                                            std::int64_t pad_position, std::int64_t seen) {
  if (seen < 0) {
    throw Error("positions", "tokens seen before cannot be negative, got " + std::to_string(seen));
  }
  std::vector<std::int64_t> positions;
  for (std::uint8_t valid : mask) {
    if (valid > 1) {
      throw Error("positions",
                  "a mask holds 0 (padding) and 1 (token), got " + std::to_string(valid),
                  "make one from token ids with MaskFromTokens");
    }
    positions.push_back(valid != 0 ? seen++ : pad_position);
  }
  return positions;
}

PackedPositions PositionsFromLengths(std::span<const std::int64_t> starts) {
  const auto fail = [](const std::string& got) {
    throw Error("positions",
                "starts of packed documents must be running sums from 0 that never fall, up to "
                "2^30, " +
                    got,
                "lengths 20, 20 are the starts 0, 20, 40");
  };
  if (starts.empty()) fail("got none");
  if (starts[0] != 0) fail("got " + std::to_string(starts[0]) + " first");
  for (std::size_t d = 1; d < starts.size(); ++d) {
    if (starts[d] >= starts[d - 1] && starts[d] <= kMostTokens) continue;
    fail("got " + std::to_string(starts[d]) + " after " + std::to_string(starts[d - 1]));
  }
  PackedPositions packed;
  for (std::size_t d = 1; d < starts.size(); ++d) {
    for (std::int64_t n = starts[d - 1]; n < starts[d]; ++n) {
      packed.positions.push_back(n - starts[d - 1]);
      packed.sequences.push_back(static_cast<std::int32_t>(d - 1));
    }
  }
  return packed;
}

std::vector<std::int64_t> OptRows(std::span<const std::uint8_t> mask, std::int64_t table_rows) {
  return TableRows("OPT rows", mask, 2, 1, table_rows);
}

std::vector<std::int64_t> RobertaRows(std::span<const std::uint8_t> mask, std::int64_t pad_id,
                                      std::int64_t table_rows) {
  if (pad_id < 0 || pad_id >= kMostTokens) {
    throw Error("RoBERTa rows", "pad_id must be from 0 to 2^30 - 1, got " + std::to_string(pad_id),
                "RoBERTa's is 1");
  }
  return TableRows("RoBERTa rows", mask, pad_id + 1, pad_id, table_rows);
}

std::int64_t UsablePositions(std::int64_t table_rows, std::int64_t offset) {
  if (offset >= 0 && table_rows > offset) return table_rows - offset;
  throw Error("positions",
              "a table of " + std::to_string(table_rows) + " rows with offset " +
                  std::to_string(offset) + " serves no position",
              "a table needs its offset and a row a position: 512 with offset 2 are 514 rows");
}

MropePositions MropePositionsOf(std::span<const MropeBlock> blocks) {
  std::int64_t tokens = 0;
  for (const MropeBlock& block : blocks) {
    tokens += std::visit([](const auto& chosen) { return TokensOf(chosen); }, block);
    if (tokens > kMostTokens) {
      throw Error("M-RoPE positions", "blocks have more than 2^30 tokens together");
    }
  }
  MropePositions made{Array<std::int64_t, 2>({3, Index(tokens)}), 0};
  Index column = 0;
  for (const MropeBlock& block : blocks) {
    std::visit(
        [&](const auto& chosen) {
          made.next = Write(chosen, made.next, column, made.positions);
          column += Index(TokensOf(chosen));
        },
        block);
  }
  return made;
}

}  // namespace sextant
