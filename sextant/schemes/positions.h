// Positions made: from padding masks, packed lengths, table rules and grids of images.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

struct GridCell {
  std::int64_t row, column;
};

// The cell of position n: axes 0 and 1 are row and column; a lone axis counts cells row by row over
// `width` columns.
GridCell CellOf(const Positions& positions, Index n, std::int64_t width);

// 1 where a token is no padding.
std::vector<std::uint8_t> MaskFromTokens(std::span<const std::int64_t> tokens, std::int64_t pad_id);

// Positions of one row of a batch whose padding has mask 0: seen, seen + 1, ... for real tokens
// wherever padding lies, `pad_position` for padding (any value will do where padding is masked).
//   mask 0 0 0 1 1 1 1, pad_position 1  ->  1 1 1 0 1 2 3
// `seen` counts the real tokens before this mask: when decoding, all tokens ever seen, also those
// whose keys were dropped from a cache. Throws Error where a mask holds anything but 0 and 1, or
// seen is negative.
std::vector<std::int64_t> PositionsFromMask(std::span<const std::uint8_t> mask,
                                            std::int64_t pad_position, std::int64_t seen = 0);

// Documents packed into one row: positions start anew at each, and a token sees its own document
// where AttentionMask's sequences hold `sequences`.
struct PackedPositions {
  std::vector<std::int64_t> positions;
  std::vector<std::int32_t> sequences;  // 0, 1, ... by document
};
// `starts` are the running sums of lengths as attention kernels take them (cu_seqlens): 0, then the
// end of each document. Throws Error unless they start at 0, never fall, and end by 2^30.
PackedPositions PositionsFromLengths(std::span<const std::int64_t> starts);

// Rows of a learned table under a model's own rule; use `learned` with offset 0 and as many
// positions as the table has rows, or its offset and PositionsFromMask where padding is masked.
// Throw Error where a token needs a row past the table.
//   OPT, BART family   row = n + 2 for the n-th real token from 0, padding on row 1
//   RoBERTa family     row = pad_id + 1 + n, padding on row pad_id (XLM-R, CamemBERT, ESM, MPNet)
std::vector<std::int64_t> OptRows(std::span<const std::uint8_t> mask, std::int64_t table_rows);
std::vector<std::int64_t> RobertaRows(std::span<const std::uint8_t> mask, std::int64_t pad_id,
                                      std::int64_t table_rows);
// How many positions a table serves: rows - offset (514 with 2: 512). Throws Error where none.
std::int64_t UsablePositions(std::int64_t table_rows, std::int64_t offset);

// A stretch of a sequence for M-RoPE. Rows and columns count tokens after merging patches, that is
// the patch grid divided by the spatial merge size. An image has one frame.
struct TextBlock {
  std::int64_t tokens = 0;
};
struct GridBlock {
  std::int64_t rows = 0, columns = 0;
  std::int64_t frames = 1;
  // Positions of time from frame to frame: 1 in Qwen2-VL, tokens_per_second * seconds per frame in
  // Qwen2.5-VL. Frame f stands at floor(f * frame_step). (Releases of transformers differ: some cut
  // the seconds to a whole number first.)
  double frame_step = 1;
};
using MropeBlock = std::variant<TextBlock, GridBlock>;

struct MropePositions {
  Array<std::int64_t, 2> positions;  // [time row column, tokens]
  std::int64_t next = 0;             // of the text token that follows, on all axes
  std::int64_t delta() const { return next - positions.extent(1); }  // mrope_position_deltas
};
// Text has t = h = w. A grid starts one past the largest position so far; its tokens lie frame by
// frame, row by row, and what follows starts one past its largest position on any axis:
// start + max(rows, columns) for an image, not start + rows * columns.
// Throws Error on empty grids, negative counts and more than 2^30 tokens.
// Wang et al. 2024, arXiv 2409.12191, section 2.1.
MropePositions MropePositionsOf(std::span<const MropeBlock> blocks);

}  // namespace sextant
